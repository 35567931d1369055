// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/application.h"

#include <algorithm>
#include <bit>

#include "ir/nest/work.h"

namespace egret::rules::generator {
namespace {

constexpr std::string_view kExtra = "extra";

using Constants = unsigned;  // a set of the rule's inputs, as bits

double price_of(const ir::Node& node, const ir::Graph& graph) {
  std::vector<ir::TensorType> types;
  for (const ir::NodeId input : node.inputs) types.push_back(graph.node(input).type);
  const auto work = ir::work_of(*node.op, node.attrs, types);
  constexpr double kMoves = 1;
  constexpr double kComputes = 2;
  constexpr double kContracts = 8;
  constexpr double kElement = 1e-6;  // decides among sides of as many operators
  if (!work.ok()) return kComputes;
  const auto elements = static_cast<double>(node.type.elements());
  if (work->flops == 0) return kMoves + 0.1 * kElement * elements;
  const bool contracts = node.inputs.size() > 1 && work->flops >= 2 * elements;
  return (contracts ? kContracts : kComputes) + kElement * work->flops;
}

// Of what is computed at run time when these inputs, numbered by `names`, are weights.
double price(const ir::Graph& side, const std::vector<std::string>& names, Constants constants) {
  std::vector<bool> constant(side.size(), false);
  double sum = 0;
  for (std::size_t i = 0; i < side.size(); ++i) {
    const ir::Node& node = side.node(ir::NodeId(i));
    if (node.kind == ir::NodeKind::kInput) {
      const auto input = std::ranges::find(names, node.name) - names.begin();
      constant[i] = (constants >> input & 1U) != 0;
      continue;
    }
    constant[i] = std::ranges::all_of(
        node.inputs, [&](ir::NodeId operand) { return constant[operand.index()]; });
    if (!constant[i] && node.kind == ir::NodeKind::kOperator) sum += price_of(node, side);
  }
  return sum;
}

// Of several those with the fewest sizes of 1, and of these the largest: small ones hide what an
// operator does.
std::vector<Instance> large_instances(const Rule& rule, KnownOperators& known) {
  constexpr std::uint64_t kAttempts = 3000;
  constexpr int kDrawn = 40;
  constexpr std::size_t kTaken = 8;
  Instantiator instantiator(rule, known);
  const base::Random random(11);
  std::vector<std::pair<std::pair<int, std::int64_t>, Instance>> drawn;
  for (std::uint64_t i = 0; i < kAttempts && drawn.size() < kDrawn; ++i) {
    auto instance = instantiator.attempt(random.split(i));
    if (!instance) continue;
    int ones = 0;
    std::int64_t elements = 0;
    for (const auto& [slot, type] : instance->choice.variables) {
      ones += static_cast<int>(std::ranges::count(type.shape(), 1));
      elements += type.elements();
    }
    drawn.emplace_back(std::pair(ones, -elements), *std::move(instance));
  }
  std::ranges::stable_sort(drawn, std::ranges::greater(),
                           [](const auto& one) { return one.first; });
  std::vector<Instance> taken;
  for (auto& one : drawn) {
    if (taken.size() < kTaken) taken.push_back(std::move(one.second));
  }
  return taken;
}

Expr is_constant(int slot) {
  Expr expr{.kind = Expr::Kind::kCall, .function = find_function("constant")};
  expr.arguments.push_back({.kind = Expr::Kind::kTensor, .slot = slot});
  return expr;
}
// All of the parts, or any of them.
Expr joined(Expr::Kind kind, std::vector<Expr> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  Expr expr{.kind = kind};
  expr.arguments = std::move(parts);
  return expr;
}

// How the right side compares with the left one, over all instances, when these inputs are weights.
struct Comparison {
  bool gains = false;  // somewhere
  bool loses = false;  // somewhere
};
Comparison compare(const std::vector<Instance>& instances, const std::vector<std::string>& names,
                   Constants weights) {
  Comparison result;
  for (const Instance& instance : instances) {
    const double left = price(instance.left, names, weights);
    const double right = price(instance.right, names, weights);
    result.gains = result.gains || right < left;
    result.loses = result.loses || right > left;
  }
  return result;
}

// The least sets of inputs such that the right side costs less when they are weights, and nowhere
// more. Where there is none, the empty one if both sides cost the same.
std::vector<Constants> worthy_sets(const std::vector<Instance>& instances,
                                   const std::vector<std::string>& names) {
  std::vector<Constants> sets;
  for (Constants set = 0; set < (1U << names.size()); ++set) sets.push_back(set);
  std::ranges::stable_sort(sets, {}, [](Constants set) { return std::popcount(set); });
  std::vector<Constants> least;
  for (const Constants set : sets) {
    const bool contains_one =
        std::ranges::any_of(least, [&](Constants other) { return (set & other) == other; });
    if (contains_one) continue;
    const Comparison comparison = compare(instances, names, set);
    if (comparison.gains && !comparison.loses) least.push_back(set);
  }
  const bool computes = std::ranges::any_of(
      instances, [&](const Instance& instance) { return price(instance.left, names, 0) > 0; });
  const bool is_move = computes && !compare(instances, names, 0).loses;
  if (least.empty() && is_move) least.push_back(0);
  return least;
}

}  // namespace

Rule with_worth(Rule rule, KnownOperators& known) {
  const std::vector<Instance> instances = large_instances(rule, known);
  constexpr std::size_t kMostInputs = 8;
  std::vector<std::string> names;
  if (!instances.empty()) {
    const ir::Graph& left = instances.front().left;
    for (const ir::NodeId input : left.inputs()) names.push_back(left.node(input).name);
  }
  std::vector<Constants> sets;
  if (!instances.empty() && names.size() <= kMostInputs) sets = worthy_sets(instances, names);
  if (sets.empty()) {
    rule.tags.emplace_back(kExtra);
    return rule;
  }
  Expr at_run_time{.kind = Expr::Kind::kCall, .function = find_function("not")};
  at_run_time.arguments.push_back(is_constant(rule.sources.front().tensor));
  rule.heuristics.push_back(std::move(at_run_time));
  if (sets.front() == 0) return rule;
  std::vector<Expr> ways;
  for (const Constants set : sets) {
    std::vector<Expr> together;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      const auto slot = std::ranges::find(rule.tensors, names[i]) - rule.tensors.begin();
      together.push_back(is_constant(static_cast<int>(slot)));
    }
    ways.push_back(joined(Expr::Kind::kAnd, std::move(together)));
  }
  rule.heuristics.push_back(joined(Expr::Kind::kOr, std::move(ways)));
  return rule;
}

}  // namespace egret::rules::generator
