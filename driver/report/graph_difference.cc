// SPDX-License-Identifier: Apache-2.0
#include "driver/report/graph_difference.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace egret::driver {
namespace {

using State = GraphDifference::State;

// A number for each different text.
class Numbers {
 public:
  std::size_t of(const std::string& text) {
    return numbers_.try_emplace(text, numbers_.size()).first->second;
  }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
};

// Names that exactly one live node has.
std::unordered_map<std::string, ir::NodeId> unique_names(const ir::Graph& graph,
                                                         const std::vector<ir::NodeId>& live) {
  std::unordered_map<std::string, ir::NodeId> names;
  std::unordered_map<std::string, int> uses;
  for (const ir::NodeId id : live) {
    const std::string& name = graph.node(id).name;
    if (name.empty()) continue;
    names[name] = id;
    ++uses[name];
  }
  for (const auto& [name, count] : uses) {
    if (count > 1) names.erase(name);
  }
  return names;
}

struct Side {
  explicit Side(const ir::Graph& of)
      : graph(of), live(ir::live_nodes(of)), names(unique_names(of, live)) {
    value.resize(of.size());
    definition.resize(of.size());
    operation.resize(of.size());
    for (std::size_t i = 0; i < of.outputs().size(); ++i)
      outputs.try_emplace(of.outputs()[i].node, i);
    weight.resize(of.size());
    for (std::size_t i = 0; i < of.size(); ++i) {
      const ir::Node& node = of.node(ir::NodeId(i));
      weight[i] =
          node.kind != ir::NodeKind::kInput &&
          std::ranges::all_of(node.inputs, [&](ir::NodeId one) { return weight[one.index()]; });
    }
  }
  // Whether it is an operator that a drawing may show.
  bool counts(ir::NodeId id) const {
    return graph.node(id).kind == ir::NodeKind::kOperator && !weight[id.index()];
  }
  const ir::Graph& graph;
  std::vector<ir::NodeId> live;
  std::unordered_map<std::string, ir::NodeId> names;
  // By node: its value, as corresponding values have it; the operator on the values of its
  // operands; the operator alone.
  std::vector<std::size_t> value;
  std::vector<std::size_t> definition;
  std::vector<std::size_t> operation;
  std::vector<bool> weight;
  std::map<ir::NodeId, std::size_t> outputs;  // the first that a node is
};

// Two constants of one name may differ: rules compute weights.
bool differ(const ir::Node& a, const ir::Node& b) {
  if (a.kind != ir::NodeKind::kConstant || b.kind != ir::NodeKind::kConstant) return false;
  return a.type != b.type || a.data.content_hash() != b.data.content_hash();
}

class Comparison {
 public:
  Comparison(const ir::Graph& before, const ir::Graph& after, const RuleMarks& made_by)
      : before_(before), after_(after), made_by_(made_by) {}

  GraphDifference run() {
    number(before_, after_);
    number(after_, before_);
    GraphDifference result{.before = states(before_, after_),
                           .after = states(after_, before_),
                           .weights_before = before_.weight,
                           .weights_after = after_.weight};
    result.regions = regions(result);
    return result;
  }

 private:
  void number(Side& side, const Side& other) {
    for (const ir::NodeId id : side.live) {
      const ir::Node& node = side.graph.node(id);
      const ir::Node* twin = twin_of(side, other, id);
      std::string text;
      if (side.weight[id.index()]) {
        text = twin != nullptr && differ(node, *twin) ? "weight " + std::to_string(differing_++)
                                                      : "weight " + ir::to_string(node.type);
        side.value[id.index()] = side.definition[id.index()] = numbers_.of(text);
        continue;
      }
      if (node.kind == ir::NodeKind::kOperator) {
        const std::string op = node.op->name() + to_string(node.attrs);
        side.operation[id.index()] = numbers_.of("op " + op);
        text = "of " + op;
        for (const ir::NodeId input : node.inputs)
          text += " " + std::to_string(side.value[input.index()]);
      } else {
        text = "in " + node.name;
      }
      side.definition[id.index()] = numbers_.of(text);
      const auto output = side.outputs.find(id);
      side.value[id.index()] = output != side.outputs.end()
                                   ? numbers_.of("output " + std::to_string(output->second))
                               : twin != nullptr ? numbers_.of("= " + node.name)
                                                 : side.definition[id.index()];
    }
  }

  // The node of the other graph with this name, where both names are unique.
  static const ir::Node* twin_of(const Side& side, const Side& other, ir::NodeId id) {
    const std::string& name = side.graph.node(id).name;
    const auto found = other.names.find(name);
    return side.names.contains(name) && found != other.names.end()
               ? &other.graph.node(found->second)
               : nullptr;
  }

  // A node that a rule made has no counterpart.
  bool is_made(const Side& side, ir::NodeId id) const {
    return &side == &after_ && made_by_.contains(id);
  }

  std::vector<State> states(const Side& side, const Side& other) const {
    std::map<std::pair<std::size_t, std::size_t>, int> same;
    std::map<std::pair<std::size_t, std::size_t>, int> rewired;
    for (const ir::NodeId id : other.live) {
      if (!other.counts(id) || is_made(other, id)) continue;
      ++same[{other.value[id.index()], other.definition[id.index()]}];
      ++rewired[{other.value[id.index()], other.operation[id.index()]}];
    }
    std::vector<State> states(side.graph.size(), State::kSame);
    for (const ir::NodeId id : side.live) {
      if (!side.counts(id)) continue;
      const std::size_t i = id.index();
      states[i] = State::kChanged;
      if (is_made(side, id)) continue;
      if (auto found = same.find({side.value[i], side.definition[i]});
          found != same.end() && found->second-- > 0) {
        states[i] = State::kSame;
      } else if (rewired.contains({side.value[i], side.operation[i]})) {
        states[i] = State::kRewired;
      }
    }
    return states;
  }

  // Union-find over the changed nodes of both graphs: those of the result come after the others.
  std::vector<GraphDifference::Region> regions(const GraphDifference& states) {
    const std::size_t offset = before_.graph.size();
    std::vector<std::size_t> parent(offset + after_.graph.size());
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    const auto root = [&](std::size_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    const auto join = [&](std::size_t a, std::size_t b) {
      a = root(a);
      b = root(b);
      parent[std::max(a, b)] = std::min(a, b);
    };
    // A value of both graphs is a border between regions.
    const auto values_of = [](const Side& side) {
      std::unordered_set<std::size_t> values;
      for (const ir::NodeId id : side.live) values.insert(side.value[id.index()]);
      return values;
    };
    const std::unordered_set<std::size_t> of_before = values_of(before_);
    const std::unordered_set<std::size_t> of_after = values_of(after_);
    std::unordered_map<std::size_t, std::size_t> maker;  // by value
    const auto visit = [&](const Side& side, const std::vector<State>& state, std::size_t first) {
      for (const ir::NodeId id : side.live) {
        if (state[id.index()] == State::kSame) continue;
        const std::size_t own = first + id.index();
        const auto [found, is_new] = maker.try_emplace(side.value[id.index()], own);
        if (!is_new) join(own, found->second);
        for (const ir::NodeId input : side.graph.node(id).inputs) {
          const std::size_t value = side.value[input.index()];
          const bool is_border = of_before.contains(value) && of_after.contains(value);
          if (state[input.index()] != State::kSame && !is_border) join(own, first + input.index());
        }
      }
    };
    visit(before_, states.before, 0);
    visit(after_, states.after, offset);
    std::map<std::size_t, GraphDifference::Region> by_root;
    const auto collect = [&](const Side& side, const std::vector<State>& state, std::size_t first,
                             std::vector<ir::NodeId> GraphDifference::Region::*nodes) {
      for (const ir::NodeId id : side.live) {
        if (state[id.index()] != State::kSame)
          (by_root[root(first + id.index())].*nodes).push_back(id);
      }
    };
    collect(before_, states.before, 0, &GraphDifference::Region::before);
    collect(after_, states.after, offset, &GraphDifference::Region::after);
    std::vector<GraphDifference::Region> all;
    for (auto& [first, region] : by_root) all.push_back(std::move(region));
    return all;
  }

  Side before_;
  Side after_;
  const RuleMarks& made_by_;
  Numbers numbers_;
  std::size_t differing_ = 0;
};

}  // namespace

GraphDifference difference_of(const ir::Graph& before, const ir::Graph& after,
                              const RuleMarks& made_by) {
  return Comparison(before, after, made_by).run();
}

}  // namespace egret::driver
