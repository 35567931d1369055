// SPDX-License-Identifier: Apache-2.0
#include "driver/report/graph_section.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/formats/units.h"
#include "driver/report/blocks.h"
#include "driver/report/charts.h"
#include "driver/report/graph_difference.h"
#include "driver/report/graph_picture.h"

namespace egret::driver {
namespace {

using base::element;
using base::Markup;
using Region = GraphDifference::Region;
using Role = PictureNode::Role;
using State = GraphDifference::State;

constexpr std::size_t kMostKinds = 12;      // of regions that are drawn
constexpr std::size_t kMostOperators = 40;  // of a region and graph
constexpr std::size_t kMostReaders = 4;     // outside of a region
constexpr std::size_t kMostNames = 60;      // of places

std::int64_t size_of(std::size_t count) { return static_cast<std::int64_t>(count); }

// Readers of each node.
std::vector<std::vector<ir::NodeId>> readers_of(const ir::Graph& graph) {
  std::vector<std::vector<ir::NodeId>> readers(graph.size());
  for (const ir::NodeId id : ir::live_nodes(graph)) {
    for (const ir::NodeId input : graph.node(id).inputs) {
      auto& all = readers[input.index()];
      if (all.empty() || all.back() != id) all.push_back(id);
    }
  }
  return readers;
}

// One of the two graphs, as regions are drawn from it.
struct Side {
  Side(const ir::Graph& of, const std::vector<State>& states_of,
       const std::vector<bool>& weights_of, Role changed_role, const RuleMarks* rules)
      : graph(of),
        states(states_of),
        weights(weights_of),
        changed(changed_role),
        made_by(rules),
        readers(readers_of(of)) {}
  const ir::Graph& graph;
  const std::vector<State>& states;
  const std::vector<bool>& weights;
  Role changed;
  const RuleMarks* made_by;  // null: the original
  std::vector<std::vector<ir::NodeId>> readers;

  std::string rule_of(ir::NodeId id) const {
    if (made_by == nullptr) return "";
    const auto found = made_by->find(id);
    return found == made_by->end() ? "" : found->second;
  }
};

std::string name_of(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  return node.name.empty() ? node.op->name() : node.name;
}

// The nodes of a region and their surroundings: what they read above, some of what reads them
// below.
Picture picture_of(const Side& side, const std::vector<ir::NodeId>& region) {
  Picture picture;
  std::map<ir::NodeId, std::size_t> place;
  const std::size_t drawn = std::min(region.size(), kMostOperators);
  const std::set<ir::NodeId> inside(region.begin(), region.begin() + static_cast<long>(drawn));
  const auto add = [&](ir::NodeId id, PictureNode node) {
    place[id] = picture.nodes.size();
    picture.nodes.push_back(std::move(node));
  };
  for (const ir::NodeId id : inside) {
    for (const ir::NodeId input : side.graph.node(id).inputs) {
      const ir::Node& operand = side.graph.node(input);
      if (inside.contains(input) || place.contains(input)) continue;
      if (side.weights[input.index()]) continue;  // named in the box that reads it
      PictureNode outside{.role = Role::kInput, .label = operand.name};
      if (operand.kind == ir::NodeKind::kOperator) {
        outside.label = operand.op->name();
        if (!operand.name.empty()) outside.lines.push_back(operand.name);
      }
      add(input, std::move(outside));
    }
  }
  for (const ir::NodeId id : inside) {
    PictureNode node = picture_of_operator(side.graph, id, side.weights);
    node.role = side.states[id.index()] == State::kRewired ? Role::kRewired : side.changed;
    node.rule = side.rule_of(id);
    if (!node.rule.empty()) node.role = Role::kMade;
    for (const ir::NodeId input : side.graph.node(id).inputs) {
      if (const auto at = place.find(input); at != place.end()) node.inputs.push_back(at->second);
    }
    add(id, std::move(node));
  }
  std::map<ir::NodeId, std::size_t> outside;
  for (const ir::NodeId id : inside) {
    std::size_t more = 0;
    for (const ir::NodeId reader : side.readers[id.index()]) {
      if (inside.contains(reader)) continue;
      const auto known = outside.find(reader);
      if (known != outside.end()) {
        picture.nodes[known->second].inputs.push_back(place[id]);
      } else if (outside.size() < kMostReaders) {
        outside[reader] = picture.nodes.size();
        PictureNode node{.role = Role::kOutput,
                         .label = side.graph.node(reader).op->name(),
                         .inputs = {place[id]}};
        if (!side.graph.node(reader).name.empty())
          node.lines.push_back(side.graph.node(reader).name);
        picture.nodes.push_back(std::move(node));
      } else {
        ++more;
      }
    }
    if (more > 0) {
      picture.nodes.push_back({.role = Role::kOutput,
                               .label = base::counted(size_of(more), "further reader"),
                               .inputs = {place[id]}});
    }
  }
  for (const auto& output : side.graph.outputs()) {
    if (!inside.contains(output.node)) continue;
    picture.nodes.push_back({.role = Role::kOutput,
                             .label = output.name,
                             .lines = {"output"},
                             .inputs = {place[output.node]}});
  }
  return picture;
}

// Two regions of one signature look the same but for sizes and names.
std::string signature_of(const Side& side, const std::vector<ir::NodeId>& region) {
  std::map<ir::NodeId, std::size_t> place;
  std::string text;
  for (const ir::NodeId id : region) {
    const ir::Node& node = side.graph.node(id);
    text += node.op->name() + "(";
    for (const ir::NodeId input : node.inputs) {
      const auto at = place.find(input);
      const bool constant = side.weights[input.index()];
      text += at != place.end() ? std::to_string(at->second) + "," : constant ? "w," : "x,";
    }
    text += ")" + side.rule_of(id) + ";";
    place[id] = place.size();
  }
  return text;
}

// "conv, 2 relu"
std::string kinds_of(const ir::Graph& graph, const std::vector<ir::NodeId>& region) {
  constexpr std::size_t kMost = 6;
  std::vector<std::pair<std::string, int>> kinds;  // in order of appearance
  for (const ir::NodeId id : region) {
    const std::string& name = graph.node(id).op->name();
    auto found = std::ranges::find(kinds, name, &std::pair<std::string, int>::first);
    if (found == kinds.end()) found = kinds.insert(kinds.end(), {name, 0});
    ++found->second;
  }
  std::string text;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (i == kMost) return text + ", \u2026";
    if (!text.empty()) text += ", ";
    if (kinds[i].second > 1) text += std::to_string(kinds[i].second) + "\u00d7 ";
    text += kinds[i].first;
  }
  return text.empty() ? "nothing" : text;
}

Markup side_block(const std::string& title, const Side& side,
                  const std::vector<ir::NodeId>& region) {
  std::string caption = title + ": " + base::counted(size_of(region.size()), "operator");
  if (region.size() > kMostOperators)
    caption += ", the first " + std::to_string(kMostOperators) + " drawn";
  Markup content = element("figcaption", {}, caption);
  const Markup picture = draw(picture_of(side, region));
  content.add(picture.empty()
                  ? small_text("None: the readers take the operands themselves, or weights.")
                  : element("div", {{"class", "scroll drawing"}, {"tabindex", "0"}}, picture));
  return element("figure", {}, content);
}

class Section {
 public:
  Section(const ir::Graph& before, const ir::Graph& after, const RuleMarks& made_by)
      : difference_(difference_of(before, after, made_by)),
        before_(before, difference_.before, difference_.weights_before, Role::kGone, nullptr),
        after_(after, difference_.after, difference_.weights_after, Role::kMade, &made_by) {}

  Markup content() const {
    Markup all = overview();
    if (difference_.regions.empty()) return all;
    all.add(legend());
    std::map<std::string, std::vector<const Region*>> kinds;
    for (const Region& region : difference_.regions) {
      kinds[signature_of(before_, region.before) + "=>" + signature_of(after_, region.after)]
          .push_back(&region);
    }
    std::vector<std::vector<const Region*>> order;
    for (auto& [signature, regions] : kinds) order.push_back(std::move(regions));
    std::ranges::stable_sort(order, std::greater<>(), [](const auto& regions) {
      return regions.size() * (regions[0]->before.size() + regions[0]->after.size());
    });
    for (std::size_t i = 0; i < std::min(order.size(), kMostKinds); ++i)
      all.add(regions_block(order[i]));
    if (order.size() > kMostKinds) all.add(others(order));
    return all;
  }

 private:
  // The whole of both graphs, each as a band of its operators.
  Markup overview() const {
    std::size_t kept = 0;
    std::size_t folded = 0;  // in the original
    const auto band = [&](const Side& side, const std::string& title) {
      std::vector<std::string> tones;
      std::size_t changed = 0;
      for (const ir::NodeId id : ir::live_nodes(side.graph)) {
        if (side.graph.node(id).kind != ir::NodeKind::kOperator) continue;
        if (side.weights[id.index()]) {
          folded += side.made_by == nullptr ? 1 : 0;
          continue;
        }
        const State state = side.states[id.index()];
        const bool is_gone = side.made_by == nullptr;
        tones.emplace_back(state == State::kSame      ? "kept"
                           : state == State::kRewired ? "rewired"
                           : is_gone                  ? "gone"
                                                      : "made");
        changed += state == State::kSame ? 0 : 1;
      }
      kept = tones.size() - changed;
      Markup row = element("span", {{"class", "band-label"}},
                           title + ", " + base::counted(size_of(tones.size()), "operator"));
      row.add(strip(tones, "kept"));
      return row;
    };
    Markup bands = band(before_, "before");
    bands.add(band(after_, "after"));
    Markup all = element("div", {{"class", "bands"}}, bands);
    all.add(paragraph(
        difference_.regions.empty()
            ? "The result is the original graph."
            : base::counted(size_of(difference_.regions.size()), "place", "places") + " changed. " +
                  base::counted(size_of(kept), "operator") +
                  " stayed as they were and are not drawn. The bands show where in the order of "
                  "execution the changes lie."));
    if (folded > 0) {
      all.add(small_text(base::counted(size_of(folded), "operator") +
                         " of the original depend on weights alone. They count as weights here."));
    }
    return all;
  }

  static Markup legend() {
    Markup items;
    for (const auto& [tone, meaning] :
         {std::pair("gone", "gone"), std::pair("made", "made by a rule"),
          std::pair("rewired", "the same operator on other operands"),
          std::pair("kept", "unchanged surroundings")})
      items.add(element("span", {{"class", "key key-" + std::string(tone)}}, meaning));
    return element("p", {{"class", "legend"}}, items);
  }

  std::set<std::string> rules_of(const Region& region) const {
    std::set<std::string> rules;
    for (const ir::NodeId id : region.after) {
      if (std::string rule = after_.rule_of(id); !rule.empty()) rules.insert(std::move(rule));
    }
    return rules;
  }

  Markup regions_block(const std::vector<const Region*>& regions) const {
    const Region& first = *regions[0];
    Markup all = heading(kinds_of(before_.graph, first.before) + " \u2192 " +
                         kinds_of(after_.graph, first.after));
    Markup line(base::counted(size_of(regions.size()), "place") + " ");
    for (const std::string& rule : rules_of(first)) line.add(badge(rule, "rule")).add(" ");
    all.add(paragraph(line));
    Markup pair = side_block("before", before_, first.before);
    pair.add(side_block("after", after_, first.after));
    all.add(element("div", {{"class", "pair"}}, pair));
    if (regions.size() > 1) all.add(folded("All places by name", names_of(regions)));
    return element("article", {}, all);
  }

  Markup names_of(const std::vector<const Region*>& regions) const {
    Markup items;
    for (std::size_t i = 0; i < std::min(regions.size(), kMostNames); ++i) {
      const Region& region = *regions[i];
      items.add(element("li", {},
                        region.before.empty() ? name_of(after_.graph, region.after.back())
                                              : name_of(before_.graph, region.before.back())));
    }
    if (regions.size() > kMostNames) {
      items.add(
          element("li", {}, "and " + base::counted(size_of(regions.size() - kMostNames), "other")));
    }
    return element("ul", {{"class", "names"}}, items);
  }

  Markup others(const std::vector<std::vector<const Region*>>& order) const {
    base::TextTable table({{"before"}, {"after"}, {"places", base::Align::kRight}});
    for (std::size_t i = kMostKinds; i < order.size(); ++i) {
      table.row({kinds_of(before_.graph, order[i][0]->before),
                 kinds_of(after_.graph, order[i][0]->after), std::to_string(order[i].size())});
    }
    Markup all = heading(base::counted(size_of(order.size() - kMostKinds), "further change"));
    all.add(long_table_block(table));
    return all;
  }

  GraphDifference difference_;
  Side before_;
  Side after_;
};

}  // namespace

Markup graph_section(const ir::Graph& before, const ir::Graph& after, const RuleMarks& made_by) {
  return Section(before, after, made_by).content();
}

}  // namespace egret::driver
