// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/pricing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "extract/extractors/windows.h"

namespace egret::parallel {
namespace {

using Kind = PlacedEGraph::Kind;

constexpr double kForbidden = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostRows = 24;
constexpr double kRuns = 1000;  // runs that share the cost of one exchange
// Prices of memory in seconds, from negligible to prohibitive.
constexpr std::array kPrices{0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2};
// Of the time for a plan: for a start that keeps to the rows.
constexpr double kStartShare = 0.4;
constexpr double kWindowsShare = 0.5;  // of what the start leaves: for improving it
constexpr double kTolerance = 1e-9;    // of the cost

}  // namespace

// Each input that passes moves one block per hop around the ring.
double seconds_to_pass(const RingProgram& ring, const Cluster& machine) {
  double seconds = 0;
  for (std::size_t i = 0; i < ring.inputs.size(); ++i) {
    if (ring.inputs[i].passes)
      seconds += machine.seconds_to_pass(ring.axis, static_cast<double>(ring.blocks[i].bytes()));
  }
  return seconds;
}

Pricing::Pricing(const PlacedEGraph& placed, const Cluster& machine,
                 std::span<const Carried> carried, std::span<const std::string> outputs)
    : placed_(placed),
      machine_(machine),
      carried_(carried),
      model_(cost::make_model("roofline", machine.rates)),
      view_(egraph::make_view(placed.egraph(), placed.roots())),
      schedule_(placed.tensors()),
      fusion_(placed, view_, machine) {
  for (Index node = 0; node < view_.node_count(); ++node) costs_.push_back(price(node));
  find_keeps(outputs);
}

void Pricing::count(std::span<const double> times) {
  for (Index node = 0; node < view_.node_count(); ++node) costs_[node] *= times[node];
  counts_.assign(times.begin(), times.end());
}

// An exchange is hidden by the computing that does not depend on it, and no longer than it takes.
// All of them share this computing, which the simulation of the plan knows.
void Pricing::hide_exchanges(const Search& search, std::vector<double>& costs) const {
  if (search.hidden <= 0 && !search.free_exchanges) return;
  for (Index node = 0; node < view_.node_count(); ++node) {
    const PlacedEGraph::Meaning& meaning = placed_.meaning(view_.node_op[node]);
    if (meaning.kind != Kind::kCollective || meaning.collective.from.is_copy()) continue;
    const egraph::ClassId value = value_of(node).value;
    if (placed_.tensors().is_constant(value)) continue;
    const double times = counts_.empty() ? 1 : counts_[node];
    const double hidden = search.hidden * times * independent_[value.index()];
    costs[node] = search.free_exchanges ? 0 : std::max(0.0, costs[node] - hidden);
  }
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
  const auto found = std::ranges::find_if(
      carried_, [&](const Carried& one) { return one.input == name || one.again == name; });
  return found == carried_.end() ? LeafRole::kInput : found->role;
}

// For each carried value: the nodes that keep its next value in some placement, and the leaves that
// read it in the same placement at the next run.
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
    keeps_.emplace_back();
    for (Index node = view_.class_begin[kept]; node < view_.class_begin[kept + 1]; ++node) {
      const Index next = view_.children_of(node).front();
      const Placement& placement = placed_.placed(view_.class_id[next]).placement;
      Keep keep{node, {}};
      for (const std::string& name : {one.input, one.again}) {
        if (name.empty()) continue;
        const auto leaf = leaves[name].find(placement);
        if (leaf != leaves[name].end()) keep.leaves.push_back(leaf->second);
      }
      keeps_.back().push_back(std::move(keep));
    }
  }
}

// The seconds of one node, independent of the choice of others: this makes the cheapest plan an
// extraction problem. Collectives on constants run once and are shared by kRuns runs.
double Pricing::price(Index node) const {
  const PlacedEGraph::Meaning& meaning = placed_.meaning(view_.node_op[node]);
  switch (meaning.kind) {
    case Kind::kValue:
    case Kind::kKeep:
    case Kind::kSame: return 0;
    case Kind::kPlace: return is_leaf(node) ? 0 : kForbidden;
    case Kind::kOperator: return price_of_operator(node, meaning);
    case Kind::kRing: return price_of_ring(*meaning.program);
    case Kind::kCollective: {
      const PlacedEGraph::Placed& to = value_of(node);
      const auto& from = placed_.placed(view_.class_id[view_.children_of(node).front()]);
      const double once =
          machine_.seconds(meaning.collective, static_cast<double>(from.type.bytes()),
                           static_cast<double>(to.type.bytes()));
      if (placed_.tensors().is_constant(to.value)) return once / kRuns;
      return once + fusion_.seconds_of_interruption(node);
    }
  }
  return kForbidden;
}

// The sum over the operators, because a device runs them one after the other.
double Pricing::price_of_graph(const ir::Graph& graph) const {
  double seconds = 0;
  for (const ir::Node& node : graph.nodes()) {
    if (node.kind != ir::NodeKind::kOperator) continue;
    std::vector<ir::TensorType> types;
    const auto constant = std::make_unique<bool[]>(node.inputs.size());
    for (const ir::NodeId input : node.inputs) types.push_back(graph.node(input).type);
    const auto cost = model_->cost({.op = node.op,
                                    .attrs = &node.attrs,
                                    .inputs = types,
                                    .constant = {constant.get(), node.inputs.size()},
                                    .output = &node.type});
    seconds += cost.ok() ? cost->seconds : kForbidden;
  }
  return seconds;
}

// Steps copy the blocks that they cut out of stationary inputs, and those that they put into the
// result: read and write.
double Pricing::price_of_ring(const RingProgram& ring) const {
  const auto steps = static_cast<double>(ring.steps);
  const auto copied = [&](double bytes) {
    return machine_.rates.seconds_per_kernel + 2 * bytes / machine_.rates.bytes_per_second;
  };
  double seconds = steps * price_of_graph(ring.step);
  seconds += ring.result.is_split() ? copied(static_cast<double>(ring.type.bytes()))
                                    : price_of_graph(ring.finish);
  for (std::size_t i = 0; i < ring.inputs.size(); ++i) {
    const bool cut = !ring.inputs[i].passes && ring.inputs[i].step.is_split();
    if (cut) seconds += steps * copied(static_cast<double>(ring.blocks[i].bytes()));
  }
  return seconds + seconds_to_pass(ring, machine_);
}

// Each device computes its part: the model prices the operator on the types of the parts. Operators
// on constants run once, before the first run.
double Pricing::price_of_operator(Index node, const PlacedEGraph::Meaning& meaning) const {
  if (placed_.tensors().is_constant(value_of(node).value)) return 0;
  if (const auto fused = fusion_.seconds_if_fused(node)) return *fused;
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

// Forbids, with infinite costs, all that the strategy excludes: placements of leaves and kept
// values, and slicing of copies.
std::vector<double> Pricing::costs_of(const Search& search) const {
  std::vector<double> costs = costs_;
  hide_exchanges(search, costs);
  const auto allowed = [&](LeafRole role, const PlacedEGraph::Placed& value) {
    if (search.copied_inputs && role == LeafRole::kInput && !value.placement.is_copy())
      return false;
    return search.strategy->allows(role, placed_.tensors().type(value.value), value.placement,
                                   placed_.mesh());
  };
  for (Index node = 0; node < view_.node_count(); ++node) {
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
  for (const Index node : search.without) costs[node] = kForbidden;
  return costs;
}

// Couples leaf <= keep: an input is read in the placement in which it is kept. Where only one
// placement is possible, costs enforce it. The row leaf - keep <= 0 excludes a leaf whose placement
// is not kept.
std::vector<extract::SideRow> Pricing::rows_of_carried(std::span<const double> costs) const {
  std::vector<extract::SideRow> rows;
  for (const std::vector<Keep>& ways : keeps_) {
    const auto possible = std::ranges::count_if(
        ways, [&](const Keep& one) { return std::isfinite(costs[one.keep]); });
    if (possible < 2) continue;
    for (const Keep& one : ways) {
      for (const Index leaf : one.leaves) {
        if (!std::isfinite(costs[leaf])) continue;
        rows.emplace_back();
        rows.back().add(leaf, 1);
        rows.back().add(one.keep, -1);
      }
    }
  }
  return rows;
}

// The memory of a class's nodes over the levels of their lifetime, in units of the limit. Partial
// results are consumed at once.
void Pricing::add_held(Index c, double unit, std::span<extract::SideRow> by_level) const {
  const PlacedEGraph::Placed& held = placed_.placed(view_.class_id[c]);
  const bool constant = placed_.tensors().is_constant(held.value);
  Schedule::Lifetime life = schedule_.of(held.value);
  if (held.placement.has_partial()) life.to = life.from;
  for (Index node = view_.class_begin[c]; node < view_.class_begin[c + 1]; ++node) {
    int from = life.from;
    int to = life.to;
    double bytes = static_cast<double>(held.type.bytes());
    if (constant || is_leaf(node)) {
      from = 0;
      to = schedule_.levels() - 1;
    }
    if (is_leaf(node)) {  // what is carried is counted where it is kept
      const LeafRole role = role_of(node);
      if (role == LeafRole::kParameter || role == LeafRole::kState) continue;
    } else if (constant && placed_.meaning(view_.node_op[node]).kind != Kind::kPlace) {
      // It replaces its operands, which are freed.
      for (const Index child : view_.children_of(node))
        bytes -= static_cast<double>(placed_.placed(view_.class_id[child]).type.bytes());
    } else if (placed_.meaning(view_.node_op[node]).kind == Kind::kSame) {
      const Index first = view_.children_of(node).front();
      from = schedule_.of(placed_.placed(view_.class_id[first]).value).to + 1;
    }
    const PlacedEGraph::Meaning& meaning = placed_.meaning(view_.node_op[node]);
    const double scratch = meaning.kind == Kind::kRing ? meaning.program->scratch_bytes() : 0;
    for (int level = from; level <= to; ++level) {
      by_level[static_cast<std::size_t>(level)].add(
          node, (std::max(bytes, 0.0) + (level == from ? scratch : 0)) / unit);
    }
  }
}

// A carried value is held all the time, except while its next value is counted.
void Pricing::add_kept(double unit, std::span<extract::SideRow> by_level) const {
  for (const std::vector<Keep>& ways : keeps_) {
    for (const Keep& one : ways) {
      const auto& next = placed_.placed(view_.class_id[view_.children_of(one.keep).front()]);
      const Schedule::Lifetime life = schedule_.of(next.value);
      const double share = static_cast<double>(next.type.bytes()) / unit;
      for (int level = 0; level < schedule_.levels(); ++level) {
        const bool counted = level >= life.from && level <= life.to;
        if (!counted) by_level[static_cast<std::size_t>(level)].add(one.keep, share);
      }
    }
  }
}

// One linear constraint per level of the schedule would be many: only the kMostRows levels at which
// the sequential program holds most are kept. The bound is thus a relaxation, and the planner
// checks the written program.
std::vector<extract::SideRow> Pricing::rows_of_memory(double memory) const {
  std::vector<extract::SideRow> by_level(static_cast<std::size_t>(schedule_.levels()));
  std::vector<double> waiting(by_level.size(), 0);  // in the sequential program
  for (Index c = 0; c < view_.class_count(); ++c) {
    const Kind kind = placed_.meaning(view_.node_op[view_.class_begin[c]]).kind;
    if (kind == Kind::kValue || kind == Kind::kKeep) continue;
    add_held(c, memory, by_level);
    const PlacedEGraph::Placed& held = placed_.placed(view_.class_id[c]);
    const Schedule::Lifetime life = schedule_.of(held.value);
    for (int level = life.from; held.placement.is_copy() && level <= life.to; ++level)
      waiting[static_cast<std::size_t>(level)] += static_cast<double>(held.type.bytes());
  }
  add_kept(memory, by_level);
  std::vector<std::size_t> order(by_level.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return waiting[i]; });
  order.resize(std::min(order.size(), kMostRows));
  std::vector<extract::SideRow> rows;
  for (const std::size_t level : order) {
    // Weights are shares of the limit, so each row's limit is 1.
    by_level[level].most = 1;
    rows.push_back(std::move(by_level[level]));
  }
  return rows;
}

// Inputs, weights and what follows from them, and carried values as they are kept.
std::vector<extract::SideRow> Pricing::row_of_held(double memory) const {
  extract::SideRow row;
  row.most = 1;
  for (Index c = 0; c < view_.class_count(); ++c) {
    const Kind kind = placed_.meaning(view_.node_op[view_.class_begin[c]]).kind;
    if (kind == Kind::kValue || kind == Kind::kKeep) continue;
    const PlacedEGraph::Placed& held = placed_.placed(view_.class_id[c]);
    const bool constant = placed_.tensors().is_constant(held.value);
    for (Index node = view_.class_begin[c]; node < view_.class_begin[c + 1]; ++node) {
      const bool leaf = is_leaf(node);
      if (!leaf && !constant) continue;
      double bytes = static_cast<double>(held.type.bytes());
      const bool kept = leaf && role_of(node) != LeafRole::kInput && !constant;
      if (kept) continue;  // counted below
      const bool placed = placed_.meaning(view_.node_op[node]).kind == Kind::kPlace;
      for (const Index child : placed ? std::span<const Index>() : view_.children_of(node))
        bytes -= static_cast<double>(placed_.placed(view_.class_id[child]).type.bytes());
      row.add(node, std::max(bytes, 0.0) / memory);
    }
  }
  for (const std::vector<Keep>& ways : keeps_) {
    for (const Keep& one : ways) {
      const auto& next = placed_.placed(view_.class_id[view_.children_of(one.keep).front()]);
      row.add(one.keep, static_cast<double>(next.type.bytes()) / memory);
    }
  }
  return {std::move(row)};
}

// Adds `price` seconds for the limit's worth of memory, spread evenly over the rows. A row's
// weights are shares of the limit, so a plan that fills every level pays the full price.
std::vector<double> Pricing::priced(std::vector<double> costs,
                                    std::span<const extract::SideRow> memory, double price) const {
  for (const extract::SideRow& row : memory) {
    for (std::size_t i = 0; i < row.nodes.size(); ++i)
      costs[row.nodes[i]] += price * row.weights[i] / static_cast<double>(memory.size());
  }
  return costs;
}

// Fixes each carried value's placement to the one that the relaxed problem reads, then solves the
// rest. It is a heuristic for a start: the relaxed problem need not read a value in one placement
// only. Its bound holds for the problem at these costs all the same. Each of the two problems gets
// half of the time.
base::Result<Pricing::Start> Pricing::with_fixed_keeps(const Search& search,
                                                       std::vector<double> costs,
                                                       const base::Deadline& deadline) const {
  extract::Options options = search.options;
  options.time_limit_s = deadline.remaining() / 2;
  std::vector<double> loose = costs;  // readers pay for keeping
  for (const std::vector<Keep>& ways : keeps_) {
    for (const Keep& one : ways) {
      for (const Index leaf : one.leaves) loose[leaf] += costs[one.keep];
    }
  }
  EGRET_ASSIGN_OR_RETURN(const extract::Solution free,
                         search.extractor->extract({view_, loose}, options));
  const auto is_chosen = [&](Index node) { return free.choice[view_.node_class[node]] == node; };
  for (const std::vector<Keep>& ways : keeps_) {
    auto kept = std::ranges::find_if(ways, [&](const Keep& one) {
      return std::isfinite(costs[one.keep]) && std::ranges::any_of(one.leaves, is_chosen);
    });
    if (kept == ways.end())
      kept = std::ranges::find_if(ways, [&](const Keep& one) { return is_chosen(one.keep); });
    for (const Keep& one : ways) {
      if (kept != ways.end() && &one == &*kept) continue;
      costs[one.keep] = kForbidden;
      for (const Index leaf : one.leaves) costs[leaf] = kForbidden;
    }
  }
  options.time_limit_s = deadline.remaining();
  EGRET_ASSIGN_OR_RETURN(extract::Solution fixed,
                         search.extractor->extract({view_, costs}, options));
  return Start{std::move(fixed), free.bound};
}

// Finds a feasible start at rising prices of memory (Lagrange multipliers; Everett, Operations
// Research 11, 1963). The integer program improves on it under the rows. A price moves the cost of
// memory into the objective, so an extractor without rows can solve the problem. A higher price
// trades more time for memory, so the first plan that satisfies the rows is taken.
//
// One time limit holds for all of these problems together, since they lead to one plan. The starts
// get a share of it, and so do windows of the best start (extract/extractors/windows.h): the
// integer program of a deep network seldom improves on a start by itself. What they leave goes to
// the integer program, which also proves a bound. Where a start costs what the relaxed problem must
// cost, it is the best, and no integer program is needed.
base::Result<extract::Solution> Pricing::cheapest(const Search& search,
                                                  const extract::Solution* known) const {
  const auto deadline = base::Deadline::after(search.options.time_limit_s);
  const std::vector<double> costs = costs_of(search);
  const extract::Problem problem{view_, costs};
  std::vector<extract::SideRow> memory;
  if (search.memory > 0)
    memory = search.held_only ? row_of_held(search.memory) : rows_of_memory(search.memory);
  std::vector<extract::SideRow> rows = rows_of_carried(costs);
  std::ranges::copy(memory, std::back_inserter(rows));
  if (rows.empty()) {
    EGRET_ASSIGN_OR_RETURN(extract::Solution best,
                           search.extractor->extract(problem, search.options));
    EGRET_RETURN_IF_ERROR(extract::check_solution(problem, best));
    return best;
  }
  // A start that violates the rows would be a wrong bound.
  if (known != nullptr && !extract::keeps_to(rows, *known, view_)) known = nullptr;
  std::optional<extract::Solution> first;
  double bound = 0;
  const auto starts = base::Deadline::after(kStartShare * deadline.remaining());
  std::size_t left = memory.empty() ? 1 : kPrices.size();
  for (const double price : kPrices) {
    const auto own = base::Deadline::after(starts.remaining() / static_cast<double>(left--));
    auto found = with_fixed_keeps(search, priced(costs, memory, price), own);
    if (!found.ok()) break;
    if (price == 0) bound = found->bound;
    extract::Solution solution = extract::solution_of(problem, std::move(found->solution.choice));
    if (extract::keeps_to(rows, solution, view_)) first = std::move(solution);
    if (first || memory.empty()) break;
  }
  if (first && (known == nullptr || first->dag_cost < known->dag_cost)) known = &*first;
  const auto is_closed = [&](const extract::Solution& one) {
    return one.quality == extract::Quality::kOptimal || one.dag_cost <= bound * (1 + kTolerance);
  };
  extract::Options options = search.options;
  std::optional<extract::Solution> better;
  if (known != nullptr) {
    better = *known;
    better->bound = std::min(bound, better->dag_cost);
    better->quality = extract::Quality::kFeasible;
    options.time_limit_s = kWindowsShare * deadline.remaining();
    if (!is_closed(*better))
      better = extract::improve_in_windows(problem, rows, options, *std::move(better));
  }
  if (!better || !is_closed(*better)) {
    options.time_limit_s = deadline.remaining();
    EGRET_ASSIGN_OR_RETURN(
        better, extract::extract_within(problem, rows, options, better ? &*better : nullptr));
    better->bound = std::max(better->bound, std::min(bound, better->dag_cost));
  } else {
    better->bound = better->dag_cost;
    better->quality = extract::Quality::kOptimal;
  }
  EGRET_RETURN_IF_ERROR(extract::check_solution(problem, *better));
  return *std::move(better);
}

// The highest price makes memory dominate the time: close to the least memory, not proven least.
base::Result<extract::Solution> Pricing::leanest(const Search& search) const {
  const std::vector<double> costs = costs_of(search);
  EGRET_ASSIGN_OR_RETURN(
      Start found,
      with_fixed_keeps(search, priced(costs, rows_of_memory(search.memory), kPrices.back()),
                       base::Deadline::after(search.options.time_limit_s)));
  return extract::solution_of({view_, costs}, std::move(found.solution.choice));
}

double Pricing::seconds_of(const extract::Solution& solution) const {
  double seconds = 0;
  for (const extract::NodeIndex node : solution.choice)
    seconds += node == extract::kNoNode ? 0 : costs_[node];
  return seconds;
}

double Pricing::seconds_sending(const extract::Solution& solution) const {
  double seconds = 0;
  for (const extract::NodeIndex node : solution.choice) {
    if (node == extract::kNoNode) continue;
    const PlacedEGraph::Meaning& meaning = placed_.meaning(view_.node_op[node]);
    if (meaning.kind == Kind::kCollective) seconds += costs_[node];
    if (meaning.kind == Kind::kRing) seconds += seconds_to_pass(*meaning.program, machine_);
  }
  return seconds;
}

bool Pricing::divides_inputs(const extract::Solution& solution) const {
  return std::ranges::any_of(solution.choice, [&](const extract::NodeIndex node) {
    return node != extract::kNoNode && is_leaf(node) && role_of(node) == LeafRole::kInput &&
           !value_of(node).placement.is_copy();
  });
}

std::vector<Pricing::NamedLeaf> Pricing::named_leaves(const extract::Solution& solution) const {
  const rules::TensorEGraph& tensors = placed_.tensors();
  std::vector<NamedLeaf> leaves;
  for (const extract::NodeIndex node : solution.choice) {
    if (node == extract::kNoNode || !is_leaf(node)) continue;
    const PlacedEGraph::Placed& value = value_of(node);
    const egraph::OpId op = tensors.egraph().op(placed_.leaf_of(value.value));
    const std::string& name = tensors.language().leaf_name(op);
    if (name.empty()) continue;
    leaves.push_back(
        {name, node, value.placement, static_cast<double>(tensors.type(value.value).bytes())});
  }
  std::ranges::stable_sort(leaves, std::greater(), &NamedLeaf::bytes);
  return leaves;
}

}  // namespace egret::parallel
