// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/application.h"

#include <algorithm>
#include <bit>

#include "ir/work.h"

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
  if (!work.ok()) return kComputes;
  if (work->flops == 0) return kMoves;
  const auto elements = static_cast<double>(node.type.elements());
  return node.inputs.size() > 1 && work->flops >= 2 * elements ? kContracts : kComputes;
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

// Of several, the one with the most elements: small ones hide what an operator does.
std::optional<Instance> large_instance(const Rule& rule, KnownSignatures& known) {
  constexpr std::uint64_t kAttempts = 3000;
  constexpr int kWanted = 20;
  Instantiator instantiator(rule, known);
  const base::Random random(11);
  std::optional<Instance> largest;
  std::int64_t most = -1;
  int found = 0;
  for (std::uint64_t i = 0; i < kAttempts && found < kWanted; ++i) {
    auto instance = instantiator.attempt(random.split(i));
    if (!instance) continue;
    ++found;
    std::int64_t elements = 0;
    for (const auto& [slot, type] : instance->choice.variables) elements += type.elements();
    if (elements <= most) continue;
    most = elements;
    largest = std::move(instance);
  }
  return largest;
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

// The least sets of inputs such that the right side costs no more when they are weights.
std::vector<Constants> worthy_sets(const Instance& instance,
                                   const std::vector<std::string>& names) {
  std::vector<Constants> sets;
  for (Constants set = 0; set < (1U << names.size()); ++set) sets.push_back(set);
  std::ranges::stable_sort(sets, {}, [](Constants set) { return std::popcount(set); });
  std::vector<Constants> least;
  for (const Constants set : sets) {
    const bool contains_one =
        std::ranges::any_of(least, [&](Constants other) { return (set & other) == other; });
    if (contains_one) continue;
    const double left = price(instance.left, names, set);
    if (left > 0 && price(instance.right, names, set) <= left) least.push_back(set);
  }
  return least;
}

}  // namespace

Rule with_worth(Rule rule, KnownSignatures& known) {
  const std::optional<Instance> instance = large_instance(rule, known);
  constexpr std::size_t kMostInputs = 8;
  std::vector<std::string> names;
  if (instance) {
    for (const ir::NodeId input : instance->left.inputs())
      names.push_back(instance->left.node(input).name);
  }
  std::vector<Constants> sets;
  if (instance && names.size() <= kMostInputs) sets = worthy_sets(*instance, names);
  if (sets.empty()) {
    rule.tags.emplace_back(kExtra);
    return rule;
  }
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
