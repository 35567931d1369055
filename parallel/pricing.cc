// SPDX-License-Identifier: Apache-2.0
#include "parallel/pricing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace egret::parallel {
namespace {

using Kind = PlacedEGraph::Kind;

constexpr double kForbidden = std::numeric_limits<double>::infinity();

}  // namespace

Pricing::Pricing(const PlacedEGraph& placed, const Machine& machine,
                 std::span<const Carried> carried, std::span<const std::string> outputs)
    : placed_(placed),
      machine_(machine),
      carried_(carried),
      model_(cost::make_model("roofline", machine.rates)),
      view_(egraph::make_view(placed.egraph(), placed.roots())) {
  for (Index node = 0; node < view_.node_count(); ++node) costs_.push_back(price(node));
  find_keeps(outputs);
}

bool Pricing::is_leaf(Index node) const {
  if (placed_.meaning(view_.node_op[node]).kind != Kind::kPlace) return false;
  const PlacedEGraph::Placed& value = value_of(node);
  return placed_.leaf_of(value.value).valid() && !value.placement.has_partial();
}

LeafRole Pricing::role_of(Index leaf) const {
  const rules::TensorEGraph& tensors = placed_.tensors();
  const egraph::OpId op = tensors.egraph().op(placed_.leaf_of(value_of(leaf).value));
  const std::string& name = tensors.language().leaf_name(op);
  if (tensors.language().is_constant(op))
    return name.empty() ? LeafRole::kConstant : LeafRole::kWeight;
  const auto found = std::ranges::find(carried_, name, &Carried::input);
  return found == carried_.end() ? LeafRole::kInput : found->role;
}

void Pricing::find_keeps(std::span<const std::string> outputs) {
  const rules::TensorEGraph& tensors = placed_.tensors();
  std::map<std::string, std::map<Placement, Index>> leaves;
  for (Index node = 0; node < view_.node_count(); ++node) {
    if (!is_leaf(node)) continue;
    const egraph::OpId op = tensors.egraph().op(placed_.leaf_of(value_of(node).value));
    leaves[tensors.language().leaf_name(op)][value_of(node).placement] = node;
  }
  for (const Carried& one : carried_) {
    const auto root = std::ranges::find(outputs, one.output) - outputs.begin();
    const Index kept = view_.roots[static_cast<std::size_t>(root)];
    const auto& own = leaves[one.input];
    keeps_.emplace_back();
    for (Index node = view_.class_begin[kept]; node < view_.class_begin[kept + 1]; ++node) {
      const Index next = view_.children_of(node).front();
      const auto leaf = own.find(placed_.placed(view_.class_id[next]).placement);
      keeps_.back().push_back({node, leaf == own.end() ? extract::kNoNode : leaf->second});
    }
  }
}

double Pricing::weight_bytes(Index node) const {
  const Kind kind = placed_.meaning(view_.node_op[node]).kind;
  if (kind == Kind::kValue || kind == Kind::kKeep) return 0;
  const PlacedEGraph::Placed& value = value_of(node);
  const bool carried = is_leaf(node) && role_of(node) != LeafRole::kInput;
  const bool constant = placed_.tensors().is_constant(value.value);
  return carried || constant ? static_cast<double>(value.type.bytes()) : 0;
}

double Pricing::price(Index node) const {
  const PlacedEGraph::Meaning& meaning = placed_.meaning(view_.node_op[node]);
  switch (meaning.kind) {
    case Kind::kValue:
    case Kind::kKeep: return 0;
    case Kind::kPlace: return is_leaf(node) ? 0 : kForbidden;
    case Kind::kOperator: return price_of_operator(node, meaning);
    case Kind::kCollective: {
      const PlacedEGraph::Placed& to = value_of(node);
      if (placed_.tensors().is_constant(to.value)) return 0;
      const auto& from = placed_.placed(view_.class_id[view_.children_of(node).front()]);
      return machine_.seconds(meaning.collective, static_cast<double>(from.type.bytes()),
                              static_cast<double>(to.type.bytes()));
    }
  }
  return kForbidden;
}

double Pricing::price_of_operator(Index node, const PlacedEGraph::Meaning& meaning) const {
  const auto children = view_.children_of(node);
  std::vector<ir::TensorType> types;
  const auto constant = std::make_unique<bool[]>(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    const auto& child = placed_.placed(view_.class_id[children[i]]);
    types.push_back(child.type);
    constant[i] = placed_.tensors().is_constant(child.value);
  }
  const auto seconds = model_->cost({.op = &placed_.tensors().language().op(meaning.sequential),
                                     .attrs = &meaning.part_attrs,
                                     .inputs = types,
                                     .constant = {constant.get(), children.size()},
                                     .output = &value_of(node).type});
  return seconds.ok() ? seconds->seconds : kForbidden;
}

std::vector<double> Pricing::costs_of(const Search& search) const {
  std::vector<double> costs = costs_;
  const auto allowed = [&](LeafRole role, const PlacedEGraph::Placed& value) {
    if (search.copied_inputs && role == LeafRole::kInput && !value.placement.is_copy())
      return false;
    return search.strategy->allows(role, placed_.tensors().type(value.value), value.placement,
                                   placed_.mesh());
  };
  for (Index node = 0; node < view_.node_count(); ++node) {
    if (search.price_of_byte > 0) costs[node] += search.price_of_byte * weight_bytes(node);
    if (is_leaf(node) && !allowed(role_of(node), value_of(node))) costs[node] = kForbidden;
    const PlacedEGraph::Meaning& meaning = placed_.meaning(view_.node_op[node]);
    const bool slices = meaning.kind == Kind::kCollective && meaning.collective.from.is_copy();
    if (slices && !search.strategy->may_slice) costs[node] = kForbidden;
  }
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    for (const Keep& one : keeps_[i]) {
      const Index next = view_.children_of(one.keep).front();
      if (!allowed(carried_[i].role, placed_.placed(view_.class_id[next])))
        costs[one.keep] = kForbidden;
    }
  }
  return costs;
}

// An input is read as it is kept. Where it can be kept in one way only, costs say so.
std::vector<extract::SideRow> Pricing::rows_of(std::span<const double> costs) const {
  std::vector<extract::SideRow> rows;
  for (const std::vector<Keep>& ways : keeps_) {
    const auto possible = std::ranges::count_if(
        ways, [&](const Keep& one) { return std::isfinite(costs[one.keep]); });
    if (possible < 2) continue;
    for (const Keep& one : ways) {
      if (one.leaf == extract::kNoNode || !std::isfinite(costs[one.leaf])) continue;
      rows.emplace_back();
      rows.back().add(one.leaf, 1);
      rows.back().add(one.keep, -1);
    }
  }
  return rows;
}

// What is carried is kept as the cheapest program without the rows reads it, and the rest follows.
base::Result<extract::Solution> Pricing::first_answer(const Search& search,
                                                      std::vector<double> costs) const {
  EGRET_ASSIGN_OR_RETURN(const extract::Solution free,
                         search.extractor->extract({view_, costs}, search.options));
  const auto is_chosen = [&](Index node) { return free.choice[view_.node_class[node]] == node; };
  for (const std::vector<Keep>& ways : keeps_) {
    auto kept = std::ranges::find_if(ways, [&](const Keep& one) {
      return one.leaf != extract::kNoNode && is_chosen(one.leaf) && std::isfinite(costs[one.keep]);
    });
    if (kept == ways.end())
      kept = std::ranges::find_if(ways, [&](const Keep& one) { return is_chosen(one.keep); });
    for (const Keep& one : ways) {
      if (&one == &*kept) continue;
      costs[one.keep] = kForbidden;
      if (one.leaf != extract::kNoNode) costs[one.leaf] = kForbidden;
    }
  }
  return search.extractor->extract({view_, costs}, search.options);
}

base::Result<extract::Solution> Pricing::cheapest(const Search& search,
                                                  const extract::Solution* known) const {
  const std::vector<double> costs = costs_of(search);
  const extract::Problem problem{view_, costs};
  const std::vector<extract::SideRow> rows = rows_of(costs);
  if (rows.empty()) {
    EGRET_ASSIGN_OR_RETURN(extract::Solution solution,
                           search.extractor->extract(problem, search.options));
    EGRET_RETURN_IF_ERROR(extract::check_solution(problem, solution));
    return solution;
  }
  const auto first = first_answer(search, costs);
  if (first.ok() && (known == nullptr || first->dag_cost < known->dag_cost)) known = &*first;
  EGRET_ASSIGN_OR_RETURN(extract::Solution solution,
                         extract::extract_within(problem, rows, search.options, known));
  EGRET_RETURN_IF_ERROR(extract::check_solution(problem, solution));
  return solution;
}

double Pricing::seconds_of(const extract::Solution& solution) const {
  double seconds = 0;
  for (const extract::NodeIndex node : solution.choice)
    seconds += node == extract::kNoNode ? 0 : costs_[node];
  return seconds;
}

}  // namespace egret::parallel
