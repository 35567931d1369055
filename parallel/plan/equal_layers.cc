// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/equal_layers.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include "base/check.h"
#include "base/random.h"
#include "ir/graph/constant_nodes.h"

namespace egret::parallel {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::NodeKind;

constexpr int kSteps = 8;  // most refinement steps
constexpr std::size_t kMostKinds = 128;
constexpr std::size_t kFewestAlike = 2;  // seams; layers before them are found by comparing
constexpr std::size_t kFewestLayers = 3;
constexpr int kMostTries = 64;  // candidates for the input of a first layer

// Constants that each layer owns; only their type must agree between layers.
bool is_weight(const Node& node) {
  return node.kind == NodeKind::kConstant && ir::is_float(node.type.dtype) &&
         node.type.elements() > 1;
}

struct Layer {
  std::vector<NodeId> nodes;        // operators and weights, the seam last
  std::vector<std::uint64_t> text;  // equal for equal programs

  bool has(NodeId id) const { return std::ranges::find(nodes, id) != nodes.end(); }
};

class LayerFinder {
 public:
  explicit LayerFinder(const Graph& graph)
      : graph_(graph), readers_(graph.size()), constant_(ir::constant_nodes(graph)) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      const Node& node = graph.node(NodeId(i));
      for (const NodeId input : node.inputs) readers_[input.index()].push_back(NodeId(i));
      own_.push_back(own_text(node));
    }
    is_output_.resize(graph.size(), false);
    for (const auto& output : graph.outputs()) is_output_[output.node.index()] = true;
    find_reads();
  }

  // Colour refinement (Weisfeiler-Leman): a node's colour combines its own text with its inputs'
  // colours of the step before. Values of one colour are candidates for seams. A finer colouring
  // separates values inside a layer from seams, while a coarser one keeps layers together that
  // differ farther above. Each step is therefore tried. Equal colours are only a hint: layer()
  // compares the programs exactly.
  std::optional<EqualLayers> run() const {
    std::vector<std::uint64_t> colour(own_);
    std::size_t kinds = 0;
    std::vector<Layer> best;
    std::vector<NodeId> seams;
    for (int step = 0; step <= kSteps; ++step) {
      const std::vector<std::vector<NodeId>> groups = alike(colour);
      if (step > 0 && groups.size() == kinds) break;  // stable
      kinds = groups.size();
      for (const std::vector<NodeId>& values : std::span(groups).first(std::min(kinds, kMostKinds)))
        take_if_more(values, best, seams);
      colour = one_step_further(colour);
    }
    if (best.size() < kFewestLayers) return std::nullopt;
    EqualLayers result{std::move(seams), {}};
    for (Layer& layer : best) result.nodes.push_back(std::move(layer.nodes));
    return result;
  }

 private:
  static std::uint64_t own_text(const Node& node) {
    std::string text = ir::to_string(node.type);
    if (node.kind == NodeKind::kInput) text += "input " + node.name;
    if (node.kind == NodeKind::kConstant && !is_weight(node))
      text += node.data.content_hash().to_hex();
    if (node.kind == NodeKind::kOperator) text += node.op->name() + to_string(node.attrs);
    return base::hash_string(text);
  }

  // After step k, a colour describes the program above a value to depth k.
  std::vector<std::uint64_t> one_step_further(std::span<const std::uint64_t> colour) const {
    std::vector<std::uint64_t> next(own_);
    for (std::size_t i = 0; i < next.size(); ++i) {
      for (const NodeId input : graph_.node(NodeId(i)).inputs)
        next[i] = base::hash_combine(next[i], colour[input.index()]);
    }
    return next;
  }

  // Groups operators' values by colour, in order; the largest groups first.
  std::vector<std::vector<NodeId>> alike(std::span<const std::uint64_t> colour) const {
    std::map<std::uint64_t, std::vector<NodeId>> groups;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (graph_.node(NodeId(i)).kind == NodeKind::kOperator)
        groups[colour[i]].push_back(NodeId(i));
    }
    std::vector<std::vector<NodeId>> kinds;
    for (auto& [unused, members] : groups) {
      if (members.size() >= kFewestAlike) kinds.push_back(std::move(members));
    }
    std::ranges::stable_sort(kinds, std::greater(), &std::vector<NodeId>::size);
    return kinds;
  }

  // Of a value that is computed from constants: the nodes that read it, or what is computed from
  // it, and are not constant. Several layers may share it, such as a mask.
  void find_reads() {
    reads_.resize(graph_.size());
    for (std::size_t i = graph_.size(); i-- > 0;) {
      if (!constant_[i]) continue;
      for (const NodeId reader : readers_[i]) {
        const bool passes_on = constant_[reader.index()];
        const Range of_reader{reader.index(), reader.index()};
        const Range& other = passes_on ? reads_[reader.index()] : of_reader;
        reads_[i].first = std::min(reads_[i].first, other.first);
        reads_[i].last = std::max(reads_[i].last, other.last);
      }
    }
  }

  // Which values from `first` to `last` depend on the first.
  std::vector<bool> depend_on(NodeId first, NodeId last) const {
    std::vector<bool> depends{true};
    for (std::size_t i = first.index() + 1; i <= last.index(); ++i) {
      depends.push_back(std::ranges::any_of(graph_.node(NodeId(i)).inputs, [&](NodeId input) {
        return input >= first && depends[input.index() - first.index()];
      }));
    }
    return depends;
  }

  // The program of `last` over `first` as one layer; nullopt where others read a value inside.
  // Nodes are numbered in the order of a depth-first walk from `last`. The text lists own texts and
  // the numbers of inputs in that order, so that equal programs have equal texts; a layer's own
  // weights count by type only.
  std::optional<Layer> layer(NodeId first, NodeId last) const {
    Layer layer;
    std::map<NodeId, std::uint64_t> numbers{{first, 0}};
    std::vector<NodeId> leaves;
    std::vector<NodeId> stack{last};
    const std::vector<bool> depends = depend_on(first, last);
    const auto is_inner = [&](NodeId id) {
      if (graph_.node(id).kind != NodeKind::kOperator) return false;
      const Range& reads = reads_[id.index()];
      if (constant_[id.index()]) return reads.first > first.index() && reads.last <= last.index();
      return id > first && depends[id.index() - first.index()];
    };
    if (!is_inner(last)) return std::nullopt;
    while (!stack.empty()) {  // operators after what they read
      const NodeId at = stack.back();
      const bool known = numbers.contains(at);
      bool ready = true;
      for (const NodeId input : graph_.node(at).inputs) {
        if (known || numbers.contains(input)) continue;
        if (is_inner(input)) {
          stack.push_back(input);
          ready = false;
        } else {
          numbers.emplace(input, numbers.size());
          leaves.push_back(input);
        }
      }
      if (!ready) continue;
      stack.pop_back();
      if (known) continue;
      numbers.emplace(at, numbers.size());
      layer.nodes.push_back(at);
      layer.text.push_back(own_[at.index()]);
      for (const NodeId input : graph_.node(at).inputs) layer.text.push_back(numbers.at(input));
    }
    const auto stays_inside = [&](NodeId id) {
      return !is_output_[id.index()] &&
             std::ranges::all_of(readers_[id.index()],
                                 [&](NodeId reader) { return numbers.contains(reader); });
    };
    for (const NodeId id : layer.nodes) {
      if (id != last && !stays_inside(id)) return std::nullopt;
    }
    // A leaf is named by its identity, so two layers agree only if they read the same outside
    // values. A layer's own weights are the exception.
    for (const NodeId id : leaves) {
      const bool own = is_weight(graph_.node(id)) && stays_inside(id);
      const bool constant = graph_.node(id).kind == NodeKind::kConstant;
      layer.text.push_back(constant ? own_[id.index()] : id.index());
      if (own) layer.nodes.insert(layer.nodes.begin(), id);
      if (!own && is_weight(graph_.node(id))) layer.text.push_back(id.index());
    }
    return layer;
  }

  // Whether only the layer after it reads the value.
  bool is_seam(NodeId value, const Layer& after) const {
    return !is_output_[value.index()] &&
           std::ranges::all_of(readers_[value.index()],
                               [&](NodeId reader) { return after.has(reader); });
  }

  // Keeps the longest run of equal layers between these values, if it covers more of the program. A
  // layer continues the run if its program equals that of the layer before and only it reads the
  // seam between them.
  void take_if_more(std::span<const NodeId> values, std::vector<Layer>& best,
                    std::vector<NodeId>& seams) const {
    std::vector<Layer> run;
    std::vector<NodeId> between;
    const auto size = [](std::span<const Layer> layers) {
      return layers.empty() ? 0 : layers.size() * layers.front().nodes.size();
    };
    const auto finish = [&] {
      if (run.size() >= kFewestLayers && size(run) > size(best)) {
        best = run;
        seams = between;
      }
      run.clear();
    };
    for (std::size_t i = 1; i < values.size(); ++i) {
      std::optional<Layer> next = layer(values[i - 1], values[i]);
      const bool goes_on =
          next && !run.empty() && next->text == run.back().text && is_seam(values[i - 1], *next);
      if (!goes_on) {
        finish();
        between = {values[i - 1]};
      }
      if (!next) continue;
      between.push_back(values[i]);
      run.push_back(*std::move(next));
      if (run.size() == 1) add_first(run, between);
    }
    finish();
  }

  // The first layers of a run may have other colours because of what they read (an input, for
  // example): extends the run backward by comparing programs.
  void add_first(std::vector<Layer>& run, std::vector<NodeId>& between) const {
    while (is_seam(between.front(), run.front())) {
      const NodeId last = between.front();
      std::optional<Layer> found;
      int tries = 0;
      for (std::size_t i = last.index(); i-- > 0 && tries < kMostTries && !found;) {
        const Node& node = graph_.node(NodeId(i));
        if (constant_[i] || node.type != graph_.node(last).type) continue;
        ++tries;
        found = layer(NodeId(i), last);
        if (found && found->text != run.front().text) found.reset();
        if (found) between.insert(between.begin(), NodeId(i));
      }
      if (!found) return;
      run.insert(run.begin(), *std::move(found));
    }
  }

  struct Range {
    std::size_t first = std::numeric_limits<std::size_t>::max();
    std::size_t last = 0;
  };

  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<Range> reads_;        // by node; of constant ones
  std::vector<std::uint64_t> own_;  // what a node is, without what it reads
  std::vector<bool> constant_;
  std::vector<bool> is_output_;
};

// The program without a range: readers of `last` read `first` instead.
Graph without(const Graph& graph, NodeId first, NodeId last) {
  Graph result;
  for (Node node : graph.nodes()) {
    for (NodeId& input : node.inputs) input = input == last ? first : input;
    result.append(std::move(node));
  }
  for (const auto& output : graph.outputs())
    result.add_output(output.name, output.node == last ? first : output.node);
  return result;
}

// Appends the marker between two layers.
NodeId append_mark(Graph& graph, NodeId value) {
  Node mark;
  mark.kind = NodeKind::kOperator;
  mark.op = &seam_mark();
  mark.type = graph.node(value).type;
  mark.inputs = {value};
  return graph.append(std::move(mark));
}

}  // namespace

const ir::Operator& seam_mark() { return ir::get_operator("identity"); }

std::optional<EqualLayers> equal_layers(const Graph& graph) { return LayerFinder(graph).run(); }

// Removes the layers between the second one and the last ones that are kept. The weights of the
// second layer then stand for those of all removed ones. Layer i lies between the seams i and i +
// 1.
std::optional<FewerLayers> with_fewer_layers(const Graph& graph, std::int64_t layers) {
  EGRET_CHECK(layers >= 2, "a first layer and one that stands for others");
  const std::optional<EqualLayers> equal = equal_layers(graph);
  const auto kept = static_cast<std::size_t>(layers);
  if (!equal || equal->nodes.size() <= kept) return std::nullopt;
  const std::size_t repeats = equal->nodes.size() - kept + 1;
  const std::vector<NodeId>& seams = equal->seams;
  FewerLayers fewer;
  fewer.layers = static_cast<std::int64_t>(equal->nodes.size());
  fewer.repeats = static_cast<std::int64_t>(repeats);
  const Graph shorter = without(graph, seams[2], seams[1 + repeats]);
  std::vector<std::vector<NodeId>> stands_for(graph.size());
  for (const NodeId id : ir::live_nodes(shorter)) stands_for[id.index()] = {id};
  for (std::size_t i = 0; i < equal->nodes[1].size(); ++i) {
    std::vector<NodeId>& all = stands_for[equal->nodes[1][i].index()];
    for (std::size_t other = 2; other < 1 + repeats; ++other) all.push_back(equal->nodes[other][i]);
  }
  const base::Random random(1);
  std::vector<NodeId> place;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    Node node = shorter.node(NodeId(i));
    if (is_weight(node) && !stands_for[i].empty()) {
      base::Random own = random.split(i);
      // Random data gives the weight a hash of its own, by which it is found again after rewriting.
      // The real weights of all layers take its place in the plan.
      node.data = ir::Tensor::random(node.type, own);
      if (!fewer.weights.emplace(node.data.content_hash(), stands_for[i]).second)
        return std::nullopt;
    }
    for (NodeId& input : node.inputs) input = place[input.index()];
    place.push_back(fewer.graph.append(std::move(node)));
    if (NodeId(i) == seams[1]) fewer.first = place[i] = append_mark(fewer.graph, place[i]);
    if (NodeId(i) == seams[2]) fewer.second = place[i] = append_mark(fewer.graph, place[i]);
  }
  fewer.before = place[seams[0].index()];
  for (const auto& output : shorter.outputs())
    fewer.graph.add_output(output.name, place[output.node.index()]);
  return fewer;
}

}  // namespace egret::parallel
