// SPDX-License-Identifier: Apache-2.0
#include "driver/report/graph_difference.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

namespace egret::driver {
namespace {

using State = GraphDifference::State;

constexpr std::int64_t kSmallBytes = 1024;

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
  }
  const ir::Graph& graph;
  std::vector<ir::NodeId> live;
  std::unordered_map<std::string, ir::NodeId> names;
  // By node: its value, as corresponding values have it; the operator on the values of its
  // operands; the operator alone.
  std::vector<std::size_t> value;
  std::vector<std::size_t> definition;
  std::vector<std::size_t> operation;
};

bool is_operator(const ir::Node& node) { return node.kind == ir::NodeKind::kOperator; }

// Two constants of one name may differ: rules compute weights.
bool is_same_leaf(const ir::Node& a, const ir::Node& b) {
  if (a.kind != ir::NodeKind::kConstant || b.kind != ir::NodeKind::kConstant) return true;
  return a.type == b.type && a.data.content_hash() == b.data.content_hash();
}

class Comparison {
 public:
  Comparison(const ir::Graph& before, const ir::Graph& after) : before_(before), after_(after) {}

  GraphDifference run() {
    number(before_, after_);
    number(after_, before_);
    GraphDifference result{.before = states(before_, after_), .after = states(after_, before_)};
    result.regions = regions(result);
    return result;
  }

 private:
  void number(Side& side, const Side& other) {
    for (const ir::NodeId id : side.live) {
      const ir::Node& node = side.graph.node(id);
      std::string text;
      if (is_operator(node)) {
        const std::string op = node.op->name() + to_string(node.attrs);
        side.operation[id.index()] = numbers_.of("op " + op);
        text = "of " + op;
        for (const ir::NodeId input : node.inputs)
          text += " " + std::to_string(side.value[input.index()]);
      } else if (node.kind == ir::NodeKind::kInput) {
        text = "in " + node.name;
      } else {
        // Small ones may be equal by value, large ones only by name.
        text = node.data.bytes() <= kSmallBytes ? "small " + node.data.content_hash().to_hex()
                                                : "large " + std::to_string(constants_++);
      }
      side.definition[id.index()] = numbers_.of(text);
      const bool named = corresponds(side, other, id);
      side.value[id.index()] = named ? numbers_.of("= " + node.name) : side.definition[id.index()];
    }
  }

  bool corresponds(const Side& side, const Side& other, ir::NodeId id) const {
    const ir::Node& node = side.graph.node(id);
    const auto own = side.names.find(node.name);
    const auto found = other.names.find(node.name);
    return own != side.names.end() && found != other.names.end() &&
           is_same_leaf(node, other.graph.node(found->second));
  }

  static std::vector<State> states(const Side& side, const Side& other) {
    std::map<std::pair<std::size_t, std::size_t>, int> same;
    std::map<std::pair<std::size_t, std::size_t>, int> rewired;
    for (const ir::NodeId id : other.live) {
      if (!is_operator(other.graph.node(id))) continue;
      ++same[{other.value[id.index()], other.definition[id.index()]}];
      ++rewired[{other.value[id.index()], other.operation[id.index()]}];
    }
    std::vector<State> states(side.graph.size(), State::kSame);
    for (const ir::NodeId id : side.live) {
      if (!is_operator(side.graph.node(id))) continue;
      const std::size_t i = id.index();
      if (auto found = same.find({side.value[i], side.definition[i]});
          found != same.end() && found->second-- > 0) {
        continue;
      }
      const bool moved = rewired.contains({side.value[i], side.operation[i]});
      states[i] = moved ? State::kRewired : State::kChanged;
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
    std::unordered_map<std::size_t, std::size_t> maker;  // by value
    const auto visit = [&](const Side& side, const std::vector<State>& state, std::size_t first) {
      for (const ir::NodeId id : side.live) {
        if (state[id.index()] == State::kSame) continue;
        const std::size_t own = first + id.index();
        const auto [found, is_new] = maker.try_emplace(side.value[id.index()], own);
        if (!is_new) join(own, found->second);
        for (const ir::NodeId input : side.graph.node(id).inputs) {
          if (state[input.index()] != State::kSame) join(own, first + input.index());
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
  Numbers numbers_;
  std::size_t constants_ = 0;
};

}  // namespace

GraphDifference difference_of(const ir::Graph& before, const ir::Graph& after) {
  return Comparison(before, after).run();
}

}  // namespace egret::driver
