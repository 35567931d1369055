// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/derivation.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>

#include "rules/tensors/compile.h"
#include "rules/tensors/saturate.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::rules {

using egraph::ClassId;
using ir::Graph;
using ir::NodeId;

namespace {

constexpr std::uint64_t kAttempts = 20'000;
constexpr std::size_t kPool = 30;  // instances from which the most telling are taken

// Appends a node and gives its id; inputs that are one number become constants, so that rules that
// ask for such a number see it.
NodeId append(Graph& graph, ir::Node node, std::optional<double> splat, bool weight) {
  if (node.kind == ir::NodeKind::kInput && (splat || weight)) {
    node.kind = ir::NodeKind::kConstant;
    base::Random random(graph.size());
    node.data =
        splat ? ir::Tensor::filled(node.type, *splat) : ir::Tensor::random(node.type, random);
  }
  return graph.append(std::move(node));
}

// Copies `from` behind what is in `to`; `at` gives the places of inputs that are there already.
void copy_into(Graph& to, const Graph& from, std::map<std::string, NodeId>& at,
               const std::map<std::string, std::optional<double>>& splats,
               const std::set<std::string>& weights) {
  std::vector<NodeId> place;
  for (std::size_t i = 0; i < from.size(); ++i) {
    ir::Node node = from.node(NodeId(i));
    if (node.kind == ir::NodeKind::kInput) {
      const std::string name = node.name;
      const auto found = at.find(name);
      if (found == at.end()) {
        const bool weight = weights.contains(name);
        at.emplace(name, append(to, std::move(node), splats.at(name), weight));
      }
      place.push_back(at.at(name));
      continue;
    }
    for (NodeId& input : node.inputs) input = place[input.index()];
    place.push_back(to.append(std::move(node)));
  }
  for (const Graph::Output& output : from.outputs())
    to.add_output(output.name + std::to_string(to.outputs().size()), place[output.node.index()]);
}

egraph::Limits limits_of(const DerivationOptions& options) {
  egraph::Limits limits;
  limits.iterations = options.iterations;
  limits.nodes = options.nodes;
  limits.bytes = std::uint64_t{2} << 30;
  return limits;
}

// Equality saturation with the rules on the e-graph of the sides, within limits. A rule counts as
// derived if the sides end in one class. A limit can therefore miss a derivation and never invents
// one.
void run(const RuleSet& set, TensorEGraph& tensors, const DerivationOptions& options,
         const std::function<bool()>& is_done = {}) {
  SaturateOptions saturation;
  saturation.is_done = is_done;
  saturation.limits = limits_of(options);
  saturation.match_limit = options.matches;
  saturation.multi_pattern_iterations = options.multi_pattern_iterations;
  saturate(tensors, compile(set, tensors, Integers::kWithoutBounds), saturation);
}

// The classes of the second half's outputs, added after saturation: nodes that are there already
// are found, others are new and equal to nothing.
std::vector<ClassId> added(TensorEGraph& tensors, const Graph& graph, std::size_t half) {
  std::vector<ClassId> place(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(NodeId(i));
    std::vector<ClassId> children;
    for (const NodeId input : node.inputs) children.push_back(place[input.index()]);
    egraph::OpId op;
    switch (node.kind) {
      case ir::NodeKind::kInput: op = tensors.language().input(node.name, node.type); break;
      case ir::NodeKind::kConstant: op = tensors.language().constant(node.data, node.name); break;
      case ir::NodeKind::kOperator:
        op = tensors.language().operation(*node.op, node.attrs, children.size());
        break;
    }
    const auto made = tensors.egraph().add(op, children);
    if (!made.ok()) return {};
    place[i] = *made;
  }
  std::vector<ClassId> classes;
  for (std::size_t i = half; i < graph.outputs().size(); ++i)
    classes.push_back(tensors.egraph().find(place[graph.outputs()[i].node.index()]));
  return classes;
}

Graph first_half(const Graph& sides) {
  Graph left;
  for (const ir::Node& node : sides.nodes()) left.append(node);
  for (std::size_t i = 0; i < sides.outputs().size() / 2; ++i)
    left.add_output(sides.outputs()[i].name, sides.outputs()[i].node);
  return ir::without_dead_nodes(left);
}

// Sizes of 1 hide what a rule needs; so do sizes that are all alike. Small is telling.
std::pair<int, int> blandness(const Instance& instance) {
  int ones = 0;
  std::set<std::int64_t> sizes;
  for (const auto& [slot, type] : instance.choice.variables) {
    for (const ir::Index& dim : type.dims) {
      ones += dim.constant() == 1 ? 1 : 0;
      sizes.insert(dim.constant());
    }
  }
  return {ones, -static_cast<int>(sizes.size())};
}

// Pairs of integer attributes that are equal; one that is 0 is a pair with itself.
using Coincidences = std::set<std::pair<std::size_t, std::size_t>>;
Coincidences coincidences(const Instance& instance) {
  std::vector<std::pair<std::size_t, std::int64_t>> numbers;
  Coincidences found;
  for (std::size_t slot = 0; slot < instance.attributes.size(); ++slot) {
    const auto& attribute = instance.attributes[slot];
    const auto* number = attribute ? std::get_if<std::int64_t>(&*attribute) : nullptr;
    if (number == nullptr) continue;
    if (*number == 0) found.emplace(slot, slot);
    for (const auto& [other, value] : numbers) {
      if (value == *number) found.emplace(other, slot);
    }
    numbers.emplace_back(slot, *number);
  }
  return found;
}

// One after the other, so that as few coincidences as can be are common to all: where attributes
// happen to be equal a rule follows from one that asks that they are.
std::vector<Instance> with_few_common(std::vector<Instance> pool, std::size_t wanted) {
  std::vector<Instance> chosen;
  std::optional<Coincidences> common;
  // Greedy: each turn takes the instance that leaves the fewest coincidences common to all.
  while (chosen.size() < wanted && !pool.empty()) {
    std::vector<Coincidences> left;
    for (const Instance& instance : pool) {
      Coincidences own = coincidences(instance);
      if (common) std::erase_if(own, [&](const auto& pair) { return !common->contains(pair); });
      left.push_back(std::move(own));
    }
    const auto best = std::ranges::min_element(left, {}, &Coincidences::size);
    common = *best;
    const auto at = pool.begin() + (best - left.begin());
    chosen.push_back(std::move(*at));
    pool.erase(at);
  }
  return chosen;
}

std::vector<Instance> telling_instances(const Rule& goal, const DerivationOptions& options,
                                        KnownOperators& known) {
  Instantiator instantiator(goal, known);
  const base::Random random(options.seed);
  std::vector<Instance> pool;
  std::set<std::string> seen;
  for (std::uint64_t i = 0; i < kAttempts && pool.size() < kPool; ++i) {
    auto instance = instantiator.attempt(random.split(i));
    if (instance && seen.insert(instance->text).second) pool.push_back(*std::move(instance));
  }
  std::ranges::stable_sort(pool, {}, blandness);
  return with_few_common(std::move(pool), static_cast<std::size_t>(options.instances));
}

// The variables that the heuristics of a rule want to be weights.
std::set<std::string> wanted_weights(const Rule& rule) {
  std::set<std::string> weights;
  const auto note = [&](const auto& self, const Expr& expr) -> void {
    if (expr.kind == Expr::Kind::kAnd) {
      for (const Expr& part : expr.arguments) self(self, part);
    } else if (expr.kind == Expr::Kind::kCall && expr.function->name == "constant" &&
               expr.arguments[0].kind == Expr::Kind::kTensor) {
      weights.insert(rule.tensors[static_cast<std::size_t>(expr.arguments[0].slot)]);
    }
  };
  for (const Expr& heuristic : rule.heuristics) note(note, heuristic);
  return weights;
}

}  // namespace

RuleSet without_heuristics(RuleSet set) {
  for (Rule& rule : set.rules) rule.heuristics.clear();
  return set;
}

Graph joined_sides(const Instance& instance, const std::set<std::string>& weights) {
  std::map<std::string, std::optional<double>> splats;
  for (const Graph* side : {&instance.left, &instance.right}) {
    for (const NodeId input : side->inputs()) splats[side->node(input).name];
  }
  for (std::size_t i = 0; i < instance.left.inputs().size(); ++i)
    splats[instance.left.node(instance.left.inputs()[i]).name] = instance.splats[i];
  Graph sides;
  std::map<std::string, NodeId> inputs;
  copy_into(sides, instance.left, inputs, splats, weights);
  copy_into(sides, instance.right, inputs, splats, weights);
  return sides;
}

bool derives(const RuleSet& set, const Graph& sides, const DerivationOptions& options) {
  const std::size_t half = sides.outputs().size() / 2;
  const bool both = options.mode == DerivationMode::kBothSides;
  auto tensors = TensorEGraph::from_graph(both ? sides : first_half(sides));
  if (!tensors.ok()) return false;
  if (both) {
    const auto are_equal = [&] {
      const std::vector<ClassId> roots = (*tensors)->roots();
      const auto middle = roots.begin() + static_cast<std::ptrdiff_t>(half);
      return std::equal(roots.begin(), middle, middle, roots.end());
    };
    run(set, **tensors, options, are_equal);
    return are_equal();
  }
  run(set, **tensors, options);
  const std::vector<ClassId> right = added(**tensors, sides, half);
  return (*tensors)->roots() == right;
}

std::vector<bool> derived_pairs(const RuleSet& set, const Graph& pairs,
                                const DerivationOptions& options) {
  std::vector<bool> derived(pairs.outputs().size() / 2, false);
  auto tensors = TensorEGraph::from_graph(pairs);
  if (!tensors.ok()) return derived;
  run(set, **tensors, options);
  const std::vector<ClassId> roots = (*tensors)->roots();
  for (std::size_t i = 0; i < derived.size(); ++i) derived[i] = roots[2 * i] == roots[2 * i + 1];
  return derived;
}

DerivationGoal derivation_goal(const Rule& rule, const DerivationOptions& options,
                               KnownOperators& known) {
  const std::set<std::string> weights =
      options.mode == DerivationMode::kOptimizer ? wanted_weights(rule) : std::set<std::string>();
  DerivationGoal goal;
  for (const Instance& instance : telling_instances(rule, options, known))
    goal.instances.push_back({joined_sides(instance, weights), instance.text});
  return goal;
}

namespace {

// Lines, each indented, as one: "?a: f32[2,3], ?n = 1".
std::string on_one_line(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.empty()) text += (text.empty() ? "" : ", ") + std::string(line);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return text;
}

}  // namespace

Derivation derive(const RuleSet& set, const Rule& goal, const DerivationOptions& options,
                  KnownOperators& known) {
  Derivation result;
  for (const auto& [sides, text] : derivation_goal(goal, options, known).instances) {
    ++result.instances;
    if (derives(set, sides, options)) continue;
    result.reason = "the sides stay apart at " + on_one_line(text);
    return result;
  }
  result.derived = result.instances > 0;
  if (!result.derived) result.reason = "no instance was found";
  return result;
}

}  // namespace egret::rules
