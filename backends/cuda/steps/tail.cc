// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/tail.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backends/cuda/api/abi.h"
#include "backends/cuda/steps/epilogue.h"

namespace egret::backends::cuda {
namespace {

using ir::ExprOp;
using ir::Function;
using ir::LoopNest;
using ir::NestNode;
using Operand = Tail::Operand;
using Kind = Tail::Operand::Kind;

constexpr std::int64_t kFirstNumberId = 3000;

std::optional<int> mode_of(const NestNode& node) {
  switch (node.op) {
    case ExprOp::kAdd: return kDnnAdd;
    case ExprOp::kSub: return kDnnSubtract;
    case ExprOp::kMul: return kDnnMultiply;
    case ExprOp::kDiv: return kDnnDivide;
    case ExprOp::kMax: return kDnnMax;
    case ExprOp::kMin: return kDnnMin;
    case ExprOp::kNeg: return kDnnNegate;
    case ExprOp::kCall: break;
    default: return std::nullopt;
  }
  switch (node.function) {
    case Function::kExp: return kDnnExponential;
    case Function::kLog: return kDnnLogarithm;
    case Function::kSqrt: return kDnnSquareRoot;
    case Function::kErf: return kDnnErf;
    case Function::kTanh: return kDnnTanh;
    default: return std::nullopt;
  }
}

bool commutes(int mode) {
  return mode == kDnnAdd || mode == kDnnMultiply || mode == kDnnMax || mode == kDnnMin;
}

// Translates the expression around the sum into cuDNN's pointwise operations, operands first;
// shared nodes once. The last operation must be the root.
class Reader {
 public:
  Reader(const LoopNest& nest, std::span<const ir::Tensor* const> constants)
      : nest_(nest), constants_(constants) {}

  std::optional<Tail> run() {
    const auto root = operand(nest_.root);
    if (!root || root->kind != Kind::kResult || root->index + 1 != tail_.operations.size() ||
        tail_.sum < 0)
      return std::nullopt;
    return tail_;
  }

 private:
  // A node as an operand, translated once however often it is used.
  std::optional<Operand> operand(int id) {
    id = unrounded(nest_, id);
    const auto [known, is_new] = operands_.try_emplace(id);
    if (is_new) {
      const auto made = read(id);
      operands_[id] = made;
      return made;
    }
    return known->second;
  }

  // Numbers, reads, the sum and pointwise operations are operands; nullopt for anything else, and
  // for a second sum.
  std::optional<Operand> read(int id) {
    const NestNode& node = nest_.node(id);
    if (!node.is_real()) return std::nullopt;
    if (const auto number = constant_of(nest_, constants_, id))
      return Operand{.kind = Kind::kNumber, .number = *number};
    if (node.op == ExprOp::kRead) {
      if (!node.checked.empty()) return std::nullopt;
      tail_.read.push_back(&node);
      return Operand{.kind = Kind::kInput, .index = tail_.read.size() - 1};
    }
    if (node.op == ExprOp::kReduce) {
      if (node.reduction != ir::Reduction::kSum || tail_.sum >= 0) return std::nullopt;
      tail_.sum = id;
      return Operand{.kind = Kind::kSum};
    }
    const auto mode = mode_of(node);
    if (!mode) return std::nullopt;
    const auto a = operand(node.kids[0]);
    if (!a) return std::nullopt;
    if (node.kids.size() == 1) return result(*mode, *a, std::nullopt);
    const auto b = operand(node.kids[1]);
    if (!b) return std::nullopt;
    return combined(*mode, *a, *b);
  }

  // cuDNN's first operand must be a tensor: c - x becomes -x + c, and c / x becomes (1 / x) * c.
  std::optional<Operand> combined(int mode, const Operand& a, const Operand& b) {
    if (a.kind != Kind::kNumber) return result(mode, a, b);
    if (b.kind == Kind::kNumber) return std::nullopt;
    if (commutes(mode)) return result(mode, b, a);
    const auto turned = result(mode == kDnnDivide ? kDnnReciprocal : kDnnNegate, b, std::nullopt);
    if (!turned || (mode == kDnnDivide && a.number == 1)) return turned;
    return result(mode == kDnnDivide ? kDnnMultiply : kDnnAdd, *turned, a);
  }

  std::optional<Operand> result(int mode, const Operand& a, std::optional<Operand> b) {
    if (tail_.operations.size() == kMostTail) return std::nullopt;
    tail_.operations.push_back({mode, a, b});
    return Operand{.kind = Kind::kResult, .index = tail_.operations.size() - 1};
  }

  const LoopNest& nest_;
  std::span<const ir::Tensor* const> constants_;
  Tail tail_;
  std::map<int, std::optional<Operand>> operands_;  // by node
};

}  // namespace

std::optional<Tail> find_tail(const LoopNest& nest, std::span<const ir::Tensor* const> constants) {
  return Reader(nest, constants).run();
}

void describe(std::span<const Tail::Operation> tail, const TailTensors& tensors,
              DnnOperations& operations, DnnArguments& arguments) {
  std::vector<DnnBackend> results;
  const auto tensor = [&](const Operand& operand) -> DnnBackend {
    switch (operand.kind) {
      case Kind::kSum: return tensors.sum;
      case Kind::kResult: return results[operand.index];
      case Kind::kInput: return tensors.input(operand.index);
      case Kind::kNumber: break;
    }
    const std::int64_t id = kFirstNumberId + static_cast<std::int64_t>(arguments.scalars.size());
    arguments.scalars.push_back({id, static_cast<float>(operand.number)});
    const std::vector<std::int64_t> ones(tensors.rank, 1);
    return operations.tensor({.id = id,
                              .sizes = ones,
                              .strides = ones,
                              .is_by_value = true,
                              .alignment = sizeof(float)});
  };
  for (const Tail::Operation& operation : tail) {
    DnnBackend a = tensor(operation.a);
    DnnBackend b = operation.b ? tensor(*operation.b) : nullptr;
    const bool last = results.size() + 1 == tail.size();
    results.push_back(last ? tensors.output : tensors.between());
    operations.pointwise(operation.mode, a, b, results.back(), ir::DType::kF32);
  }
}

}  // namespace egret::backends::cuda
