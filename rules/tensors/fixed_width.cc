// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/fixed_width.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "rules/tensors/graph_sink.h"

namespace egret::rules {
namespace {

using base::Result;
using ir::ExprOp;

bool is_number(ir::DType type) { return ir::is_integer(type); }  // not bool

// The ways in which an operator computes with integers, besides moving them.
struct Ways {
  bool wraps = false;     // sums and products
  bool compares = false;  // extrema, comparisons, elements as indices
  bool other = false;

  Ways& operator|=(const Ways& more) {
    wraps |= more.wraps;
    compares |= more.compares;
    other |= more.other;
    return *this;
  }
  bool agree() const { return !other && !(wraps && compares); }
};

Ways way_of(const ir::ExprNode& node) {
  switch (node.op) {
    case ExprOp::kAdd:
    case ExprOp::kSub:
    case ExprOp::kMul:
    case ExprOp::kNeg: return {.wraps = true};
    case ExprOp::kMin:
    case ExprOp::kMax:
    case ExprOp::kScalarLt:
    case ExprOp::kScalarLe:
    case ExprOp::kScalarEq:
    case ExprOp::kIndexOf: return {.compares = true};
    case ExprOp::kReduce:
      return node.reduction == ir::Reduction::kSum || node.reduction == ir::Reduction::kProd
                 ? Ways{.wraps = true}
                 : Ways{.compares = true};
    case ExprOp::kDiv:
    case ExprOp::kCall:
    case ExprOp::kCast: return {.other = true};
    default: return {};
  }
}

Ways ways_of(const ir::Graph& graph, const ir::Node& node) {
  std::vector<ir::TensorType> types;
  for (const ir::NodeId input : node.inputs) types.push_back(graph.node(input).type);
  const bool concerned =
      is_number(node.type.dtype) ||
      std::ranges::any_of(types, is_number, [](const ir::TensorType& type) { return type.dtype; });
  if (!concerned) return {};
  const auto denotation = ir::denote(*node.op, node.attrs, types);
  if (!denotation.ok()) return {.other = true};
  Ways ways;
  std::vector<const ir::ExprNode*> open{denotation->pool->node_of(denotation->value)};
  std::vector<bool> seen(denotation->pool->size() + 1, false);
  while (!open.empty()) {
    const ir::ExprNode* at = open.back();
    open.pop_back();
    if (at->pool == denotation->pool.get()) {
      if (seen[at->id]) continue;
      seen[at->id] = true;
    }
    ways |= way_of(*at);
    open.insert(open.end(), at->kids.begin(), at->kids.end());
  }
  return ways;
}

// Builds both sides of a match as one graph.
class Sides {
 public:
  Sides(const Rule& rule, std::span<const MatchedTerm> matched, Environment environment)
      : rule_(rule), environment_(std::move(environment)) {
    for (const MatchedTerm& each : matched) attrs_[each.term] = each.attrs;
    for (std::size_t slot = 0; slot < rule.tensors.size(); ++slot) {
      Environment::Tensor& tensor = environment_.tensors[slot];
      if (tensor.facts == nullptr) continue;
      const auto handle = sink_.input(tensor.facts->type, rule.tensors[slot], tensor.facts->splat,
                                      tensor.facts->sign);
      tensor = {&sink_.facts(handle), handle};
    }
  }

  Result<ir::Graph> graph() && {
    for (const Binding& source : rule_.sources) {
      EGRET_ASSIGN_OR_RETURN(const auto built, source_term(source.term));
      add_output(built);
    }
    for (const Rule::Let& let : rule_.lets)
      EGRET_RETURN_IF_ERROR(build_let(rule_, let, environment_, sink_));
    for (const Binding& target : rule_.targets) {
      EGRET_ASSIGN_OR_RETURN(const auto built, build_term(rule_, target.term, environment_, sink_));
      add_output(built);
    }
    return std::move(sink_.graph());
  }

 private:
  Result<TermSink::Handle> source_term(const Term& term) {
    if (term.kind == Term::Kind::kTensor)
      return environment_.tensors[static_cast<std::size_t>(term.slot)].identity;
    std::vector<TermSink::Handle> arguments;
    for (const Term& argument : term.arguments) {
      EGRET_ASSIGN_OR_RETURN(arguments.emplace_back(), source_term(argument));
    }
    static const ir::Attrs kNone;
    const auto attrs = attrs_.find(&term);
    return sink_.apply(*term.op, attrs == attrs_.end() ? kNone : *attrs->second, arguments);
  }

  void add_output(TermSink::Handle of) {
    sink_.graph().add_output("out" + std::to_string(outputs_++), ir::NodeId(of));
  }

  const Rule& rule_;
  Environment environment_;
  std::map<const Term*, const ir::Attrs*> attrs_;
  GraphSink sink_;
  int outputs_ = 0;
};

}  // namespace

bool holds_of_fixed_width(const Rule& rule, std::span<const MatchedTerm> matched,
                          const Environment& environment) {
  const bool concerned =
      std::ranges::any_of(environment.tensors, [](const Environment::Tensor& tensor) {
        return tensor.facts != nullptr && is_number(tensor.facts->type.dtype);
      });
  if (!concerned) return true;
  auto sides = Sides(rule, matched, environment).graph();
  if (!sides.ok()) return false;
  const auto primitive = ir::expand_composites(*sides);
  if (!primitive.ok()) return false;
  Ways ways;
  for (std::size_t i = 0; i < primitive->size(); ++i) {
    const ir::Node& node = primitive->node(ir::NodeId(i));
    if (node.kind == ir::NodeKind::kOperator) ways |= ways_of(*primitive, node);
  }
  return ways.agree();
}

}  // namespace egret::rules
