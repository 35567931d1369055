// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/shape_values.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "ir/core/symbolic_scope.h"
#include "ir/graph/onnx_binding.h"
#include "ir/graph/operator.h"

namespace egret::frontends {
namespace {

using ir::ExprNode;
using ir::ExprOp;
using ir::Index;
using Elements = std::optional<std::vector<Index>>;

constexpr std::int64_t kMostElements = 64;

bool holds_integers(ir::DType dtype) {
  return dtype == ir::DType::kI64 || dtype == ir::DType::kI32 || dtype == ir::DType::kBool;
}

// One element of a definition, with numbers for its variables and sizes for the elements it reads.
// A value of nullopt: not a size, or it depends on which sizes are given.
class ElementOfSizes {
 public:
  using Read =
      std::function<std::optional<Index>(std::size_t input, const std::vector<std::int64_t>& at)>;
  explicit ElementOfSizes(Read read) : read_(std::move(read)) {}

  void bind(Index variable, std::int64_t value) { variables_[variable.node()] = value; }

  std::optional<Index> scalar(const ExprNode& n) {
    switch (n.op) {
      case ExprOp::kConst:
        if (std::abs(n.real) > 0x1p53 || n.real != std::trunc(n.real)) return std::nullopt;
        return Index(static_cast<std::int64_t>(n.real));
      case ExprOp::kRead: return read(n);
      case ExprOp::kAdd: return both(n, [](Index a, Index b) { return a + b; });
      case ExprOp::kSub: return both(n, [](Index a, Index b) { return a - b; });
      case ExprOp::kMul: return both(n, [](Index a, Index b) { return a * b; });
      case ExprOp::kMin: return both(n, [](Index a, Index b) { return ir::min(a, b); });
      case ExprOp::kMax: return both(n, [](Index a, Index b) { return ir::max(a, b); });
      case ExprOp::kDiv: return quotient(n);
      case ExprOp::kNeg: {
        const auto a = scalar(*n.kids[0]);
        return a ? std::optional(Index(0) - *a) : std::nullopt;
      }
      case ExprOp::kSelect: {
        const auto condition = guard(*n.kids[0]);
        return condition ? scalar(*n.kids[*condition ? 1 : 2]) : std::nullopt;
      }
      case ExprOp::kScalarOf: return index(*n.kids[0]);
      case ExprOp::kCast: return holds_integers(n.dtype) ? scalar(*n.kids[0]) : std::nullopt;
      case ExprOp::kReduce: return reduction(n);
      default: return std::nullopt;
    }
  }

 private:
  template <typename Combine>
  std::optional<Index> both(const ExprNode& n, Combine combine) {
    const auto a = scalar(*n.kids[0]);
    const auto b = scalar(*n.kids[1]);
    return a && b ? std::optional(combine(*a, *b)) : std::nullopt;
  }

  // Truncated; as Euclidean division where neither operand is negative.
  std::optional<Index> quotient(const ExprNode& n) {
    const auto a = scalar(*n.kids[0]);
    const auto b = scalar(*n.kids[1]);
    const auto holds = [](ir::Guard one) { return ir::decided(one).value_or(false); };
    if (!a || !b || !holds(*a >= 0) || !holds(*b >= 1)) return std::nullopt;
    return ir::div(*a, *b);
  }

  std::optional<Index> read(const ExprNode& n) {
    std::vector<std::int64_t> at;
    for (const ExprNode* kid : n.kids) {
      const auto one = index(*kid);
      if (!one || !one->is_constant()) return std::nullopt;
      at.push_back(one->constant());
    }
    return read_(static_cast<std::size_t>(n.integer), at);
  }

  // var, extent, guard, body; written out.
  std::optional<Index> reduction(const ExprNode& n) {
    const auto extent = index(*n.kids[1]);
    if (!extent || !extent->is_constant() || extent->constant() > kMostElements)
      return std::nullopt;
    std::optional<Index> all;
    if (n.reduction == ir::Reduction::kSum) all = Index(0);
    if (n.reduction == ir::Reduction::kProd) all = Index(1);
    for (std::int64_t i = 0; i < extent->constant(); ++i) {
      variables_[n.kids[0]] = i;
      const auto counts = guard(*n.kids[2]);
      if (!counts) return std::nullopt;
      if (!*counts) continue;
      const auto one = scalar(*n.kids[3]);
      if (!one) return std::nullopt;
      all = all ? joined(n.reduction, *all, *one) : *one;
    }
    return all;
  }

  static Index joined(ir::Reduction reduction, Index a, Index b) {
    switch (reduction) {
      case ir::Reduction::kSum: return a + b;
      case ir::Reduction::kProd: return a * b;
      case ir::Reduction::kMax: return ir::max(a, b);
      case ir::Reduction::kMin: return ir::min(a, b);
    }
    return a;
  }

  std::optional<Index> index(const ExprNode& n) {
    const auto pair = [&](auto combine) -> std::optional<Index> {
      const auto a = index(*n.kids[0]);
      const auto b = index(*n.kids[1]);
      return a && b ? std::optional(combine(*a, *b)) : std::nullopt;
    };
    switch (n.op) {
      case ExprOp::kIndexConst: return Index(n.integer);
      case ExprOp::kSymbol: return Index(&n);
      case ExprOp::kVar: {
        const auto found = variables_.find(&n);
        return found != variables_.end() ? std::optional(Index(found->second)) : std::nullopt;
      }
      case ExprOp::kIndexAdd: return pair([](Index a, Index b) { return a + b; });
      case ExprOp::kIndexMul: return pair([](Index a, Index b) { return a * b; });
      case ExprOp::kIndexDiv: return pair([](Index a, Index b) { return ir::div(a, b); });
      case ExprOp::kIndexMod: return pair([](Index a, Index b) { return ir::mod(a, b); });
      case ExprOp::kIndexMin: return pair([](Index a, Index b) { return ir::min(a, b); });
      case ExprOp::kIndexMax: return pair([](Index a, Index b) { return ir::max(a, b); });
      case ExprOp::kIndexOf: return scalar(*n.kids[0]);
      default: return std::nullopt;
    }
  }

  std::optional<bool> guard(const ExprNode& n) {
    const auto compared = [&](auto value_of, auto compare) -> std::optional<bool> {
      const auto a = value_of(*n.kids[0]);
      const auto b = value_of(*n.kids[1]);
      return a && b ? ir::decided(compare(*a, *b)) : std::nullopt;
    };
    const auto of_index = [&](const ExprNode& kid) { return index(kid); };
    const auto of_scalar = [&](const ExprNode& kid) { return scalar(kid); };
    const auto less_equal = [](Index a, Index b) { return a <= b; };
    const auto equal = [](Index a, Index b) { return a == b; };
    switch (n.op) {
      case ExprOp::kGuardConst: return n.integer != 0;
      case ExprOp::kIndexLe: return compared(of_index, less_equal);
      case ExprOp::kIndexEq: return compared(of_index, equal);
      case ExprOp::kScalarLt: return compared(of_scalar, [](Index a, Index b) { return a < b; });
      case ExprOp::kScalarLe: return compared(of_scalar, less_equal);
      case ExprOp::kScalarEq: return compared(of_scalar, equal);
      case ExprOp::kNot: {
        const auto inner = guard(*n.kids[0]);
        return inner ? std::optional(!*inner) : std::nullopt;
      }
      case ExprOp::kAnd:
      case ExprOp::kOr: {
        const bool decisive = n.op == ExprOp::kOr;  // one such operand decides
        const auto a = guard(*n.kids[0]);
        if (a && *a == decisive) return decisive;
        const auto b = guard(*n.kids[1]);
        if (b && *b == decisive) return decisive;
        return a && b ? std::optional(!decisive) : std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  Read read_;
  std::map<const ExprNode*, std::int64_t> variables_;
};

}  // namespace

void ShapeValues::extend() {
  for (; looked_at_ < graph_.size(); ++looked_at_) {
    const ir::Node& node = graph_.node(ir::NodeId(looked_at_));
    if (node.kind != ir::NodeKind::kOperator || node.op->is_composite()) continue;
    if (!holds_integers(node.type.dtype) || !node.type.is_concrete()) continue;
    if (node.type.elements() > kMostElements) continue;
    try {
      if (Elements made = computed(node)) values_.emplace(ir::NodeId(looked_at_), *std::move(made));
    } catch (const ir::IndexError&) {  // an element exceeds 64 bits whatever the sizes are
    }
  }
}

Elements ShapeValues::elements(ir::NodeId id) {
  if (const auto found = values_.find(id); found != values_.end()) return found->second;
  const ir::TensorType& type = graph_.node(id).type;
  if (!holds_integers(type.dtype) || !type.is_concrete() || type.elements() > kMostElements)
    return std::nullopt;
  const auto constant = constants_.value(id);
  if (!constant) return std::nullopt;
  std::vector<Index> numbers;
  for (std::int64_t i = 0; i < constant->elements(); ++i) {
    const std::int64_t number = constant->i64_at(i);  // "to the end" is the largest integer
    numbers.emplace_back(
        std::clamp(number, -ir::OnnxNode::kIntegerLimit, ir::OnnxNode::kIntegerLimit));
  }
  return numbers;
}

Elements ShapeValues::computed(const ir::Node& node) {
  std::vector<ir::TensorType> types;
  for (const ir::NodeId input : node.inputs) types.push_back(graph_.node(input).type);
  const auto denotation = ir::denote(*node.op, node.attrs, types);
  if (!denotation.ok()) return std::nullopt;
  std::vector<std::optional<Elements>> inputs(node.inputs.size());
  const auto read = [&](std::size_t input,
                        const std::vector<std::int64_t>& at) -> std::optional<Index> {
    if (!inputs[input]) inputs[input] = elements(node.inputs[input]);
    if (!*inputs[input]) return std::nullopt;
    const ir::Shape shape = types[input].shape();
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      if (at[axis] < 0 || at[axis] >= shape[axis]) return std::nullopt;
      place = place * shape[axis] + at[axis];
    }
    return (**inputs[input])[static_cast<std::size_t>(place)];
  };
  const ir::Shape shape = node.type.shape();
  std::vector<Index> result;
  for (std::int64_t linear = 0; linear < node.type.elements(); ++linear) {
    ElementOfSizes element(read);
    std::int64_t rest = linear;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
      element.bind(denotation->vars[axis], rest % shape[axis]);
    const auto value =
        denotation->value.is_constant()
            ? std::optional(Index(static_cast<std::int64_t>(denotation->value.constant())))
            : element.scalar(*denotation->value.node());
    if (!value || !meter_.is_short(*value)) return std::nullopt;
    if (!ir::evaluate(*value, ir::SymbolicScope::current()->examples())) return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

}  // namespace egret::frontends
