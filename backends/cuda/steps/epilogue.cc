// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/epilogue.h"

#include <cmath>
#include <utility>

namespace egret::backends::cuda {
namespace {

using ir::ExprOp;
using ir::LoopNest;
using ir::NestNode;

// Reads an expression from the outside in: relu, then additions of tensors, then scales, around one
// sum.
class Peeler {
 public:
  Peeler(const LoopNest& nest, std::span<const ir::Tensor* const> constants)
      : nest_(nest), constants_(constants) {}

  std::optional<Epilogue> run() {
    // Peels relu, then additions, then scales off the root; the sum must remain.
    int at = unrounded(nest_, nest_.root);
    at = under_relu(at);
    while (nest_.node(at).op == ExprOp::kAdd) {
      at = under_addition(nest_.node(at));
      if (at < 0) return std::nullopt;
    }
    while (nest_.node(at).op == ExprOp::kMul || nest_.node(at).op == ExprOp::kDiv) {
      at = under_scale(nest_.node(at));
      if (at < 0) return std::nullopt;
    }
    const NestNode& sum = nest_.node(at);
    if (sum.op != ExprOp::kReduce || sum.reduction != ir::Reduction::kSum || !sum.is_real())
      return std::nullopt;
    found_.sum = at;
    return found_;
  }

 private:
  std::optional<double> constant(const NestNode& of, std::size_t kid) const {
    return constant_of(nest_, constants_, unrounded(nest_, of.kids[kid]));
  }

  // The value inside max(x, 0) or min(max(x, 0), most); otherwise the node itself.
  int under_relu(int id) {
    const auto outer = bounded(id, ExprOp::kMin);
    const auto inner = bounded(outer ? outer->first : id, ExprOp::kMax);
    if (inner && inner->second == 0 && (!outer || outer->second >= 0)) {
      found_.relu = true;
      if (outer) found_.most = outer->second;
      return inner->first;
    }
    return id;
  }

  // The value and the constant of a maximum or minimum with a constant.
  std::optional<std::pair<int, double>> bounded(int id, ExprOp op) const {
    const NestNode& node = nest_.node(id);
    if (node.op != op) return std::nullopt;
    for (std::size_t i = 0; i < 2; ++i) {
      if (const auto bound = constant(node, i))
        return std::pair(unrounded(nest_, node.kids[1 - i]), *bound);
    }
    return std::nullopt;
  }

  // Takes one addend that is read from an input, and returns the other operand; -1 if neither is
  // read.
  int under_addition(const NestNode& node) {
    for (std::size_t i = 0; i < 2; ++i) {
      const NestNode& read = nest_.node(unrounded(nest_, node.kids[i]));
      if (read.op != ExprOp::kRead || !read.checked.empty()) continue;
      found_.added.push_back(&read);
      return unrounded(nest_, node.kids[1 - i]);
    }
    return -1;
  }

  // Takes one constant factor or divisor, and returns the other operand; -1 if none is constant.
  int under_scale(const NestNode& node) {
    const bool divides = node.op == ExprOp::kDiv;
    for (std::size_t i = divides ? 1 : 0; i < 2; ++i) {
      const auto factor = constant(node, i);
      if (!factor || (divides && *factor == 0)) continue;
      found_.scale = divides ? found_.scale / *factor : found_.scale * *factor;
      return unrounded(nest_, node.kids[1 - i]);
    }
    return -1;
  }

  const LoopNest& nest_;
  std::span<const ir::Tensor* const> constants_;
  Epilogue found_;
};

}  // namespace

// The node below casts from real to real. Libraries round the result alone, so roundings inside are
// ignored.
int unrounded(const LoopNest& nest, int id) {
  while (nest.node(id).op == ExprOp::kCast && nest.node(id).is_real() &&
         nest.node(nest.node(id).kids[0]).is_real())
    id = nest.node(id).kids[0];
  return id;
}

// The value of a number, or of an input of one element whose data are known.
std::optional<double> constant_of(const LoopNest& nest,
                                  std::span<const ir::Tensor* const> constants, int id) {
  const NestNode& node = nest.node(id);
  if (node.op == ExprOp::kConst && node.is_real()) return node.real;
  const auto input = static_cast<std::size_t>(node.input);
  if (node.op != ExprOp::kRead || input >= constants.size() || constants[input] == nullptr ||
      constants[input]->elements() != 1)
    return std::nullopt;
  return constants[input]->f64_at(0);
}

std::optional<Epilogue> find_epilogue(const LoopNest& nest,
                                      std::span<const ir::Tensor* const> constants) {
  return Peeler(nest, constants).run();
}

}  // namespace egret::backends::cuda
