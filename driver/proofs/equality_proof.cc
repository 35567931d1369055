// SPDX-License-Identifier: Apache-2.0
#include "driver/proofs/equality_proof.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/stop.h"
#include "base/timer.h"
#include "driver/measure/model_comparison.h"
#include "driver/measure/near_values.h"
#include "driver/measure/output_errors.h"
#include "driver/proofs/folded_constants.h"
#include "driver/proofs/same_operators.h"
#include "ir/evaluate/input_draws.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/graph_text.h"
#include "ir/ops/opaque.h"
#include "rules/tensors/saturated_graph.h"

namespace egret::driver {
namespace {

using ir::NodeId;

constexpr double kNear = 1e-5;  // relative to a value's largest element: constants are in f32
// Between a constant and its term in real arithmetic: a few roundings to f32, of 6e-8 each.
constexpr double kFolded = 1e-6;
constexpr std::size_t kMostCandidates = 3;  // of the first graph, for a value of the second
constexpr base::ProgressColumn kProven{"proven", "proven", base::ProgressColumn::Unit::kCount,
                                       "values of the second model that are proven"};

base::Result<ir::Graph> as_operators(const ir::Graph& graph) {
  const auto sealed = [](const auto& named) { return named.second.sealed; };
  if (ir::has_undefined(graph) || std::ranges::any_of(graph.bodies, sealed))
    return base::unsupported("a proof needs operators that Egret defines, in real arithmetic");
  return ir::without_dead_nodes(ir::expand_bodies(graph));
}

// The values of all operators and inputs, by node.
base::Result<std::vector<ir::Tensor>> values_of(const ir::Graph& graph,
                                                std::span<const ir::Tensor> inputs) {
  ir::Graph all;
  for (const ir::Node& node : graph.nodes()) all.append(node);
  for (std::size_t i = 0; i < graph.size(); ++i) all.add_output("v" + std::to_string(i), NodeId(i));
  return ir::interpret(all, inputs, {.should_stop = base::stop_requested});
}

// The term of a node in terms of proven pairs, appended to a graph.
class Terms {
 public:
  // Pairs by node, of one of the graphs.
  using Pairs = std::map<NodeId, std::size_t>;

  explicit Terms(std::int64_t most_operators) : most_(most_operators) {}

  // Null: it has too many operators. The node itself is taken apart even if it is in a pair.
  std::optional<NodeId> add(const ir::Graph& graph, NodeId root, const Pairs& pairs) {
    std::map<NodeId, NodeId> placed;
    std::set<NodeId> needed{root};
    std::vector<NodeId> stack{root};
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (id != root && pairs.contains(id)) continue;
      for (const NodeId operand : graph.node(id).inputs) {
        if (needed.insert(operand).second) stack.push_back(operand);
      }
      if (static_cast<std::int64_t>(needed.size()) > 4 * most_) return std::nullopt;
    }
    for (const NodeId id : needed) {  // ascending, so operands come first
      const auto pair = pairs.find(id);
      if (pair != pairs.end() && id != root) {
        placed[id] = leaf(pair->second, graph.node(id).type);
        continue;
      }
      ir::Node node = graph.node(id);
      if (node.kind == ir::NodeKind::kOperator && ++operators_ > most_) return std::nullopt;
      for (NodeId& operand : node.inputs) operand = placed.at(operand);
      if (node.kind == ir::NodeKind::kOperator) node.name.clear();
      placed[id] = graph_.append(std::move(node));
    }
    return placed.at(root);
  }

  ir::Graph take(NodeId a, NodeId b) {
    graph_.add_output("a", a);
    graph_.add_output("b", b);
    return std::move(graph_);
  }

 private:
  NodeId leaf(std::size_t pair, const ir::TensorType& type) {
    const auto [place, is_new] = leaves_.try_emplace(pair);
    if (is_new) {
      place->second = graph_.append(
          {.kind = ir::NodeKind::kInput, .type = type, .name = "p" + std::to_string(pair)});
    }
    return place->second;
  }

  std::int64_t most_;
  std::int64_t operators_ = 0;
  ir::Graph graph_;
  std::map<std::size_t, NodeId> leaves_;
};

ir::Graph one_output(const ir::Graph& both, std::size_t which) {
  ir::Graph one;
  for (const ir::Node& node : both.nodes()) one.append(node);
  one.add_output("y", both.outputs()[which].node);
  return ir::without_dead_nodes(one);
}

class Prover {
 public:
  Prover(const ir::Graph& a, const ir::Graph& b, const rules::AdmittedRules& rules,
         const ProofOptions& options)
      : a_(a), b_(b), rules_(rules), options_(options) {}

  base::Result<EqualityProof> run() {
    base::Random random(options_.seed);
    const std::vector<ir::Tensor> inputs = ir::random_inputs(a_, random);
    EGRET_ASSIGN_OR_RETURN(values_a_, values_of(a_, inputs));
    EGRET_ASSIGN_OR_RETURN(values_b_, values_of(b_, inputs));
    for (std::size_t i = 0; i < a_.inputs().size(); ++i) pair_up(a_.inputs()[i], b_.inputs()[i]);
    std::map<NearKey, std::vector<NodeId>> known;
    for (std::size_t i = 0; i < a_.size(); ++i) known[near_key(values_a_[i])].push_back(NodeId(i));
    const base::Progress progress(options_.progress, "prove");
    for (std::size_t i = 0; i < b_.size(); ++i) {
      const NodeId id(i);
      if (b_.node(id).kind != ir::NodeKind::kOperator) continue;
      ++proof_.values;
      EGRET_RETURN_IF_ERROR(prove(id, candidates(known, id)));
      if (progress.due()) progress.report({{kProven, proof_.same + proof_.by_rules}});
    }
    for (std::size_t k = 0; k < a_.outputs().size(); ++k)
      EGRET_RETURN_IF_ERROR(prove_output(a_.outputs()[k].node, b_.outputs()[k]));
    if (proof_.output.empty()) proof_.verdict = EqualityProof::Verdict::kProven;
    if (proof_.verdict == EqualityProof::Verdict::kProven) forget_open();
    return std::move(proof_);
  }

 private:
  void pair_up(NodeId in_a, NodeId in_b) {
    const std::size_t pair = pairs_++;
    pairs_a_.try_emplace(in_a, pair);
    pairs_b_.try_emplace(in_b, pairs_a_.at(in_a));
  }

  std::vector<NodeId> candidates(const std::map<NearKey, std::vector<NodeId>>& known,
                                 NodeId id) const {
    const ir::Tensor& value = values_b_[id.index()];
    std::vector<NodeId> found;
    for (const int shift : {0, -1, 1}) {
      const auto group = known.find(near_key(value, shift));
      if (group == known.end()) continue;
      for (const NodeId one : group->second) {
        if (found.size() < kMostCandidates && are_near(values_a_[one.index()], value, kNear))
          found.push_back(one);
      }
    }
    return found;
  }

  bool is_over() {
    if (base::stop_requested() || watch_.seconds() > options_.seconds) proof_.out_of_time = true;
    return proof_.out_of_time;
  }

  // Whether the two are equal, by the same operators or by rules.
  base::Result<bool> are_equal(NodeId in_a, NodeId in_b, bool& by_rules) {
    Terms terms(options_.pair_operators);
    const auto term_a = terms.add(a_, in_a, pairs_a_);
    const auto term_b = term_a ? terms.add(b_, in_b, pairs_b_) : std::nullopt;
    if (!term_b) return false;
    const ir::Graph both = terms.take(*term_a, *term_b);
    EGRET_ASSIGN_OR_RETURN(const auto tensors, rules::TensorEGraph::from_graph(both));
    by_rules = false;
    if (tensors->roots()[0] == tensors->roots()[1]) return true;
    if (is_over()) return false;
    by_rules = true;
    rules::SaturateOptions how;
    how.limits.nodes = static_cast<std::uint64_t>(options_.pair_nodes);
    how.limits.seconds = options_.pair_seconds;
    EGRET_ASSIGN_OR_RETURN(const rules::SaturatedGraph saturated,
                           rules::saturate(both, rules_, how, options_.threads));
    const auto joined = [&] {
      const std::vector<egraph::ClassId> roots = saturated.tensors->roots();
      return roots[0] == roots[1];
    };
    if (joined()) return true;
    EGRET_ASSIGN_OR_RETURN(const std::int64_t folded,
                           merge_folded_constants(*saturated.tensors, kFolded));
    if (joined()) {
      proof_.folded += folded;
      return true;
    }
    if (open_.size() == 0) open_ = both;
    return false;
  }

  base::Status prove(NodeId id, const std::vector<NodeId>& candidates) {
    for (const NodeId one : candidates) {
      bool by_rules = false;
      EGRET_ASSIGN_OR_RETURN(const bool equal, are_equal(one, id, by_rules));
      if (!equal) continue;
      pair_up(one, id);
      ++(by_rules ? proof_.by_rules : proof_.same);
      open_ = ir::Graph();
      return base::ok();
    }
    if (open_.size() > 0) note_open(id);
    return base::ok();
  }

  base::Status prove_output(NodeId in_a, const ir::Graph::Output& output) {
    const ir::Tensor& expected = values_a_[in_a.index()];
    const ir::Tensor& got = values_b_[output.node.index()];
    const auto pair_a = pairs_a_.find(in_a);
    const auto pair_b = pairs_b_.find(output.node);
    if (pair_a != pairs_a_.end() && pair_b != pairs_b_.end() && pair_a->second == pair_b->second)
      return base::ok();
    bool by_rules = false;
    EGRET_ASSIGN_OR_RETURN(const bool equal, are_equal(in_a, output.node, by_rules));
    if (equal) return base::ok();
    proof_.difference = std::max(proof_.difference, spread(expected, got));
    const bool differs = !are_near(expected, got, kNear);
    if (!proof_.output.empty() && !differs) return base::ok();
    const bool first = proof_.verdict != EqualityProof::Verdict::kDifferent;
    proof_.output = output.name;
    if (!differs) return base::ok();
    proof_.verdict = EqualityProof::Verdict::kDifferent;
    if (first) note_difference(in_a, output.node);
    return base::ok();
  }

  bool differ(NodeId in_a, NodeId in_b) const {
    return !(a_.node(in_a).type == b_.node(in_b).type) ||
           !are_near(values_a_[in_a.index()], values_b_[in_b.index()], kNear);
  }

  // The smallest terms that differ: follows operands that differ while the operators are the same.
  // Operands that agree are cut off, proven or not.
  void note_difference(NodeId in_a, NodeId in_b) {
    const auto operand = [&]() -> std::optional<std::size_t> {
      const ir::Node& x = a_.node(in_a);
      const ir::Node& y = b_.node(in_b);
      if (x.kind != ir::NodeKind::kOperator || y.kind != x.kind || x.op != y.op ||
          !(x.attrs == y.attrs) || x.inputs.size() != y.inputs.size())
        return std::nullopt;
      for (std::size_t i = 0; i < x.inputs.size(); ++i) {
        if (differ(x.inputs[i], y.inputs[i])) return i;
      }
      return std::nullopt;
    };
    while (const auto next = operand()) {
      in_a = a_.node(in_a).inputs[*next];
      in_b = b_.node(in_b).inputs[*next];
    }
    Terms::Pairs cut_a = pairs_a_;
    Terms::Pairs cut_b = pairs_b_;
    const auto& of_a = a_.node(in_a).inputs;
    const auto& of_b = b_.node(in_b).inputs;
    for (std::size_t i = 0; i < std::min(of_a.size(), of_b.size()); ++i) {
      if (cut_a.contains(of_a[i]) || cut_b.contains(of_b[i]) || differ(of_a[i], of_b[i])) continue;
      cut_a.emplace(of_a[i], pairs_);
      cut_b.emplace(of_b[i], pairs_++);
    }
    forget_open();
    proof_.open_value = b_.node(in_b).name;
    Terms terms(options_.pair_operators);
    const auto term_a = terms.add(a_, in_a, cut_a);
    const auto term_b = term_a ? terms.add(b_, in_b, cut_b) : std::nullopt;
    if (!term_b) return;  // too large to print
    const ir::Graph both = terms.take(*term_a, *term_b);
    proof_.term_a = ir::to_text(one_output(both, 0));
    proof_.term_b = ir::to_text(one_output(both, 1));
  }

  // The first one stays, which no earlier one explains.
  void note_open(NodeId id) {
    if (proof_.term_b.empty()) {
      proof_.open_value = b_.node(id).name;
      proof_.term_a = ir::to_text(one_output(open_, 0));
      proof_.term_b = ir::to_text(one_output(open_, 1));
    }
    open_ = ir::Graph();
  }
  void forget_open() {
    proof_.open_value.clear();
    proof_.term_a.clear();
    proof_.term_b.clear();
  }

  const ir::Graph& a_;
  const ir::Graph& b_;
  const rules::AdmittedRules& rules_;
  const ProofOptions& options_;
  base::Stopwatch watch_;
  std::vector<ir::Tensor> values_a_;
  std::vector<ir::Tensor> values_b_;
  Terms::Pairs pairs_a_;
  Terms::Pairs pairs_b_;
  std::size_t pairs_ = 0;
  ir::Graph open_;  // of the last pair that rules did not prove
  EqualityProof proof_;
};

// Without the inputs that nothing reads, if the other graph has none of their name. Tools leave
// some over, and drop others.
ir::Graph without_lone_inputs(const ir::Graph& graph, const ir::Graph& other,
                              std::vector<std::string>& lone) {
  const ir::Graph live = ir::without_dead_nodes(graph);
  const std::vector<int> uses = ir::use_counts(live);
  std::set<std::string> needed;
  for (const NodeId id : other.inputs()) needed.insert(other.node(id).name);
  for (const NodeId id : live.inputs()) {
    if (uses[id.index()] > 0) needed.insert(live.node(id).name);
  }
  ir::Graph result;
  result.copy_header(live);
  std::vector<NodeId> map(live.size());
  for (std::size_t i = 0; i < live.size(); ++i) {
    ir::Node node = live.node(NodeId(i));
    if (node.kind == ir::NodeKind::kInput && !needed.contains(node.name)) {
      lone.push_back(node.name);
      continue;
    }
    for (NodeId& input : node.inputs) input = map[input.index()];
    map[i] = result.append(std::move(node));
  }
  for (const auto& output : live.outputs())
    result.add_output(output.name, map[output.node.index()]);
  return result;
}

// The proof that needs no run of the models, which may be too large for one.
std::optional<EqualityProof> same_operators(const ir::Graph& a, const ir::Graph& b,
                                            const SameOperators& same) {
  if (!same.outputs_agree(a, b)) return std::nullopt;
  EqualityProof proof;
  proof.verdict = EqualityProof::Verdict::kProven;
  proof.values = static_cast<std::int64_t>(b.operator_count());
  proof.same = proof.values;
  return proof;
}

}  // namespace

base::Result<EqualityProof> prove_equal(const ir::Graph& given_a, const ir::Graph& given_b,
                                        const rules::AdmittedRules& rules,
                                        const ProofOptions& options) {
  std::vector<std::string> lone;
  const ir::Graph a = without_lone_inputs(given_a, given_b, lone);
  const ir::Graph b = without_lone_inputs(given_b, given_a, lone);
  EGRET_RETURN_IF_ERROR(same_interface(a, b));
  const auto prove = [&]() -> base::Result<EqualityProof> {
    EGRET_ASSIGN_OR_RETURN(const ir::Graph first, as_operators(a));
    EGRET_ASSIGN_OR_RETURN(const ir::Graph second, as_operators(b));
    const SameOperators same = SameOperators::of(first, second);
    if (const auto proof = same_operators(first, second, same)) return *proof;
    EGRET_ASSIGN_OR_RETURN(const ir::Graph bodies_a, ir::expand_composites(first));
    EGRET_ASSIGN_OR_RETURN(const ir::Graph bodies_b, ir::expand_composites(second));
    if (const auto proof =
            same_operators(bodies_a, bodies_b, SameOperators::of(bodies_a, bodies_b)))
      return *proof;
    // A value that one model computes twice would be in a pair once, and its other node in none.
    return Prover(with_one_node_each(first, same.a), with_one_node_each(second, same.b), rules,
                  options)
        .run();
  };
  EGRET_ASSIGN_OR_RETURN(EqualityProof proof, prove());
  proof.unused_inputs = std::move(lone);
  return proof;
}

}  // namespace egret::driver
