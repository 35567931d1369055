// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/value_demands.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph/body.h"
#include "ir/nest/term_graph.h"

namespace egret::ir {
namespace {

// Larger constants are not scanned.
constexpr std::int64_t kMostElements = 1 << 20;

// The interval of a constant's values.
struct Span {
  double low = 0, high = 0;
};

std::optional<Span> span_of(const Tensor& data) {
  if (data.elements() == 0 || data.elements() > kMostElements || data.data().data() == nullptr)
    return std::nullopt;
  Span span{data.f64_at(0), data.f64_at(0)};
  for (std::int64_t i = 0; i < data.elements(); ++i) {
    const double value = data.f64_at(i);
    if (!std::isfinite(value)) return std::nullopt;
    span = {std::min(span.low, value), std::max(span.high, value)};
  }
  return span;
}

// The demand on an operand or a term. `sure`: the element is evaluated on every path, so the demand
// also applies to reals.
struct Need {
  ValueDemand values{};
  bool reached = false;
  bool sure = false;

  void add(const ValueDemand& more, bool surely) {
    values.meet(more);
    reached = true;
    sure = sure || surely;
  }
};

double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::kF16: return 65504;
    case DType::kF64: return std::numeric_limits<double>::max();
    default: return static_cast<double>(std::numeric_limits<float>::max());
  }
}

ValueDemand at_least(double low) { return {.low = low}; }

// The demand on x, given the demand d on x + c for all c of the span.
ValueDemand without_summand(const ValueDemand& d, const Span& c) {
  return {.low = d.low - c.low, .high = d.high - c.high};
}

// The demand on x, given the demand d on x * c. A span that contains 0 gives no bound.
ValueDemand without_factor(const ValueDemand& d, const Span& c) {
  ValueDemand result{.zero = d.zero};
  if (c.low <= 0 && c.high >= 0) return result;
  const bool turned = c.high < 0;
  const double most = std::max(std::abs(c.low), std::abs(c.high));
  const double least = std::min(std::abs(c.low), std::abs(c.high));
  result.low = d.low / (d.low > 0 ? least : most);
  result.high = d.high / (d.high < 0 ? least : most);
  if (turned) result = {-result.high, -result.low, result.zero};
  return result;
}

// Propagates the demand on an element of the output backward to the operands' elements. Terms are
// stored operands first, so one descending pass reaches every user before its operands.
class ElementDemands {
 public:
  using Known = std::function<std::optional<Span>(std::size_t)>;  // an operand's values

  // `largest`: the largest finite value of the output's element type.
  ElementDemands(const TermGraph& graph, std::span<const TensorType> types, double largest,
                 const Known& known)
      : graph_(graph),
        types_(types),
        largest_(largest),
        known_(known),
        needs_(graph.terms.size()),
        operands_(types.size()) {
    for (const Term& term : graph_.terms) {
      const bool below =
          std::ranges::any_of(term.kids, [&](TermId kid) { return from_data_[index(kid)]; });
      from_data_.push_back(below || term.op == ExprOp::kRead);
    }
  }

  std::vector<Need> run(const Need& output) {
    needs_[index(graph_.root)] = output;
    needs_[index(graph_.root)].reached = true;
    for (TermId id = graph_.root; id >= 0; --id) {
      const Need need = needs_[index(id)];
      if (need.reached) visit(graph_[id], need);
    }
    return operands_;
  }

 private:
  static std::size_t index(TermId id) { return static_cast<std::size_t>(id); }

  void ask(TermId id, const ValueDemand& values, bool sure) {
    // A demand on a real counts only on sure paths.
    const bool counts = sure || !graph_[id].is_real();
    needs_[index(id)].add(counts ? values : ValueDemand{}, sure);
  }

  std::optional<Span> constant(TermId id) const {
    const Term& term = graph_[id];
    switch (term.op) {
      case ExprOp::kConst: {
        const double value = term.is_real() ? term.real : static_cast<double>(term.integer);
        return std::isfinite(value) ? std::optional<Span>({value, value}) : std::nullopt;
      }
      case ExprOp::kRead: return known_(static_cast<std::size_t>(term.integer));
      case ExprOp::kCast:
        return graph_[term.kids[0]].op == ExprOp::kCast ? std::nullopt : constant(term.kids[0]);
      default: return std::nullopt;
    }
  }

  // Each rule gives the operands demands that together suffice for the demand on the result. They
  // need not be necessary.
  void visit(const Term& term, const Need& need) {
    const ValueDemand& d = need.values;
    switch (term.op) {
      case ExprOp::kRead: {
        operands_[static_cast<std::size_t>(term.integer)].add(d, need.sure);
        for (std::size_t axis = 0; axis < term.kids.size(); ++axis)
          index_in(term.kids[axis], types_[static_cast<std::size_t>(term.integer)].dims[axis]);
        return ask_all(term, need.sure);
      }
      case ExprOp::kNeg: return ask(term.kids[0], {-d.high, -d.low, d.zero}, need.sure);
      case ExprOp::kAdd: return sum(term.kids[0], term.kids[1], d, need.sure);
      case ExprOp::kSub: return difference(term.kids[0], term.kids[1], d, need.sure);
      case ExprOp::kMul: return product(term.kids[0], term.kids[1], d, need.sure);
      case ExprOp::kDiv: return quotient(term, d, need.sure);
      case ExprOp::kCast: {
        // Truncation maps nonzero reals to 0, so the demand does not pass through it.
        const bool same = !graph_[term.kids[0]].is_real() || is_float(term.cast);
        return ask(term.kids[0], same ? d : ValueDemand{}, need.sure);
      }
      case ExprOp::kCall: return call(term, need.sure);
      case ExprOp::kSelect: {
        const bool sure = need.sure && !from_data_[index(term.kids[0])];
        ask(term.kids[0], {}, need.sure);
        ask(term.kids[1], d, sure);
        return ask(term.kids[2], d, sure);
      }
      case ExprOp::kReduce: return reduction(term, d, need.sure);
      default: return ask_all(term, need.sure);
    }
  }

  void ask_all(const Term& term, bool sure) {
    for (const TermId kid : term.kids) ask(kid, {}, sure);
  }

  // An integer element that is the index along an axis is within it. One that the index is computed
  // from, such as the length of a sequence that is read from its end, is from 1 to the axis' size.
  void index_in(TermId index_term, const Index& size) {
    if (!size.is_constant() || size.constant() < 1) return;
    const auto axis = static_cast<double>(size.constant());
    if (graph_[index_term].op == ExprOp::kIndexOf)
      return ask(graph_[index_term].kids[0], {.low = 0, .high = axis - 1}, false);
    std::vector<TermId> open{index_term};
    while (!open.empty()) {
      const Term& term = graph_[open.back()];
      open.pop_back();
      if (term.op == ExprOp::kIndexOf) ask(term.kids[0], {.low = 1, .high = axis}, false);
      if (term.op == ExprOp::kIndexAdd) open.insert(open.end(), term.kids.begin(), term.kids.end());
    }
  }

  // A product with a constant near the largest value, as masks are made, must be finite.
  ValueDemand finite_times(const Span& c) const {
    constexpr double kNear = 16;
    const double most = std::max(std::abs(c.low), std::abs(c.high));
    if (most < largest_ / kNear) return {};
    return {.low = -largest_ / most, .high = largest_ / most};
  }

  void sum(TermId a, TermId b, const ValueDemand& d, bool sure) {
    if (const auto c = constant(a)) return ask(a, {}, sure), ask(b, without_summand(d, *c), sure);
    if (const auto c = constant(b)) return ask(b, {}, sure), ask(a, without_summand(d, *c), sure);
    const ValueDemand both = of_summands(d);
    ask(a, both, sure);
    ask(b, both, sure);
  }

  // A sufficient demand on each summand of a sum of any length: its sign.
  static ValueDemand of_summands(const ValueDemand& d) {
    ValueDemand each;
    // Nonnegative summands have a sum above any bound <= 0. A positive lower bound cannot be
    // divided among summands of unknown number.
    if (std::isfinite(d.low) && d.low <= 0) each.low = 0;
    if (std::isfinite(d.high) && d.high >= 0) each.high = 0;
    return each.low < each.high ? each : ValueDemand{};
  }

  void difference(TermId a, TermId b, const ValueDemand& d, bool sure) {
    ValueDemand of_a;
    ValueDemand of_b;
    if (const auto c = constant(b)) {
      of_a = without_summand(d, {-c->high, -c->low});
    } else if (const auto from = constant(a)) {
      of_b = without_summand({-d.high, -d.low}, {-from->high, -from->low});
    }
    ask(a, of_a, sure);
    ask(b, of_b, sure);
  }

  void product(TermId a, TermId b, const ValueDemand& d, bool sure) {
    ValueDemand of_a{.zero = d.zero};
    ValueDemand of_b{.zero = d.zero};
    if (const auto c = constant(a)) {
      of_b = without_factor(d, *c);
      of_b.meet(finite_times(*c));
    }
    if (const auto c = constant(b)) {
      of_a = without_factor(d, *c);
      of_a.meet(finite_times(*c));
    }
    ask(a, of_a, sure);
    ask(b, of_b, sure);
  }

  void quotient(const Term& term, const ValueDemand& d, bool sure) {
    const auto c = constant(term.kids[1]);
    const bool scales = c && term.is_real() && c->low * c->high > 0;
    ask(term.kids[0], scales ? without_factor(d, {1 / c->high, 1 / c->low}) : ValueDemand{}, sure);
    ask(term.kids[1], {.zero = term.is_real()}, sure);
  }

  // Arguments should lie in the function's domain, otherwise random inputs give NaN.
  void call(const Term& term, bool sure) {
    const FunctionFacts& function = facts(term.function);
    if (term.function == Function::kPow) {
      const auto exponent = constant(term.kids[1]);
      // A base must be nonnegative, except with an integer exponent.
      const bool whole =
          exponent && exponent->low == exponent->high && std::trunc(exponent->low) == exponent->low;
      ask(term.kids[0], whole ? ValueDemand{} : at_least(0), sure);
      return ask(term.kids[1], {}, sure);
    }
    ask_all(term, sure);
    ask(term.kids[0], {.low = function.domain_low, .high = function.domain_high}, sure);
  }

  void reduction(const Term& term, const ValueDemand& d, bool sure) {
    ask_all(term, false);
    const std::size_t last = term.kids.size() - 1;  // the body; a guard before it
    const bool always = sure && !from_data_[index(term.kids[last - 1])];
    const bool picks = term.reduction == Reduction::kMax || term.reduction == Reduction::kMin;
    const bool adds = term.reduction == Reduction::kSum;
    ask(term.kids[last], picks ? d : adds ? of_summands(d) : ValueDemand{.zero = d.zero}, always);
  }

  const TermGraph& graph_;
  std::span<const TensorType> types_;  // of the operands
  double largest_;
  const Known& known_;
  std::vector<Need> needs_;      // by term
  std::vector<Need> operands_;   // the result
  std::vector<bool> from_data_;  // by term: an element of an operand is in it
};

// A forward pass finds the nodes that inputs can be traced to; a backward pass collects the
// demands.
class GraphDemands {
 public:
  explicit GraphDemands(const Graph& graph) : graph_(graph), near_(graph.size(), false) {}

  std::vector<Need> run() {
    for (const NodeId id : live_nodes(graph_)) find_near(id);
    std::vector<Need> needs(graph_.size());
    for (const auto& output : graph_.outputs()) needs[output.node.index()].sure = true;
    const std::vector<NodeId> live = live_nodes(graph_);
    for (auto id = live.rbegin(); id != live.rend(); ++id) {
      const Node& node = graph_.node(*id);
      if (node.kind != NodeKind::kOperator) continue;
      const std::vector<Need> asked = of_operands(*id, needs[id->index()]);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        if (asked[i].reached) needs[node.inputs[i].index()].add(asked[i].values, asked[i].sure);
      }
    }
    std::vector<Need> result;
    for (const NodeId id : graph_.inputs()) result.push_back(needs[id.index()]);
    return result;
  }

 private:
  bool reads_near(const Node& node) const {
    return std::ranges::any_of(node.inputs, [&](NodeId input) { return near_[input.index()]; });
  }

  // A node is near if it is an input, or passes a demand on to something near.
  void find_near(NodeId id) {
    const Node& node = graph_.node(id);
    near_[id.index()] = node.kind == NodeKind::kInput;
    if (node.kind != NodeKind::kOperator || node.op->is_composite() || !reads_near(node)) return;
    // Sends a typical demand (nonnegative and nonzero) through the node, and looks for an operand
    // that is asked for something.
    const Need probe{.values = {.low = 0, .zero = false}, .reached = true, .sure = true};
    const std::vector<Need> asked = of_operands(id, probe);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const ValueDemand& d = asked[i].values;
      const bool bounded = !d.zero || std::isfinite(d.low) || std::isfinite(d.high);
      if (bounded && near_[node.inputs[i].index()]) near_[id.index()] = true;
    }
  }

  // For operators that read nothing near, only `sure` matters: no expression is built.
  std::vector<Need> of_operands(NodeId id, const Need& output) {
    const Node& node = graph_.node(id);
    std::vector<Need> all(node.inputs.size(), Need{.reached = true, .sure = output.sure});
    if (!reads_near(node)) return all;
    std::vector<TensorType> types;
    for (const NodeId input : node.inputs) types.push_back(graph_.node(input).type);
    if (node.op->is_composite()) {
      const auto body = body_graph(*node.op, node.attrs, types);
      if (!body.ok()) return all;
      std::vector<Need> asked = GraphDemands(*body).run();
      for (Need& need : asked) need.sure = need.sure && output.sure;
      return asked.size() == all.size() ? asked : all;
    }
    const TermGraph* terms = terms_of(id, types);
    if (terms == nullptr) return all;
    const ElementDemands::Known known = [&](std::size_t i) { return values_of(node.inputs[i]); };
    return ElementDemands(*terms, types, largest_finite(node.type.dtype), known).run(output);
  }

  const TermGraph* terms_of(NodeId id, std::span<const TensorType> types) {
    const auto [found, fresh] = terms_.try_emplace(id.index());
    if (!fresh) return found->second ? &*found->second : nullptr;
    const Node& node = graph_.node(id);
    std::vector<DType> dtypes;
    for (const TensorType& type : types) dtypes.push_back(type.dtype);
    const auto denotation = denote(*node.op, node.attrs, types);
    if (!denotation.ok()) return nullptr;
    auto graph = term_graph(*denotation, dtypes);
    if (!graph.ok()) return nullptr;
    found->second = *std::move(graph);
    return &*found->second;
  }

  // Of a constant, or of elements that are moved from one or filled in.
  std::optional<Span> values_of(NodeId id) {
    // Follows operators of one operand that only move elements. Each step goes to an earlier node.
    while (graph_.node(id).kind == NodeKind::kOperator) {
      const Node& node = graph_.node(id);
      if (near_[id.index()] || node.op->is_composite() || node.inputs.size() > 1)
        return std::nullopt;
      std::vector<TensorType> types;
      for (const NodeId input : node.inputs) types.push_back(graph_.node(input).type);
      const TermGraph* terms = terms_of(id, types);
      if (terms == nullptr) return std::nullopt;
      const Term& root = (*terms)[terms->root];
      if (root.op == ExprOp::kConst) {
        const double value = root.is_real() ? root.real : static_cast<double>(root.integer);
        return Span{value, value};
      }
      if (root.op != ExprOp::kRead) return std::nullopt;
      id = node.inputs.front();
    }
    const Node& node = graph_.node(id);
    return node.kind == NodeKind::kConstant ? span_of(node.data) : std::nullopt;
  }

  const Graph& graph_;
  std::vector<bool> near_;  // by node
  std::map<std::size_t, std::optional<TermGraph>> terms_;
};

}  // namespace

void ValueDemand::meet(const ValueDemand& other) {
  low = std::max(low, other.low);
  high = std::min(high, other.high);
  zero = zero && other.zero;
}

std::vector<ValueDemand> demands_of_inputs(const Graph& graph) {
  std::vector<ValueDemand> demands;
  for (const Need& need : GraphDemands(graph).run()) demands.push_back(need.values);
  return demands;
}

}  // namespace egret::ir
