// SPDX-License-Identifier: Apache-2.0
#include "driver/report/graph_picture.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/formats/layered_layout.h"
#include "base/formats/text_table.h"

namespace egret::driver {
namespace {

using base::element;
using base::LayeredLayout;
using base::Markup;
using Role = PictureNode::Role;

// In SVG units. Text is monospaced, so its width is known without measuring.
constexpr double kLetter = 7.25;
constexpr double kSmallLetter = 6.1;
constexpr double kLabelLine = 18;
constexpr double kSmallLine = 14;
constexpr double kPadding = 9;
constexpr double kMargin = 8;
constexpr double kStripe = 5;
constexpr std::size_t kMostLetters = 34;

struct RoleRow {
  Role role;
  std::string_view name;  // class of the style
  std::string_view meaning;
};
constexpr std::array<RoleRow, 7> kRoles{{
    {Role::kInput, "input", "a value from outside"},
    {Role::kOutput, "output", "where a value goes"},
    {Role::kWeights, "weights", "weights"},
    {Role::kKept, "kept", "an operator that stays"},
    {Role::kRewired, "rewired", "the same operator, on other operands"},
    {Role::kGone, "gone", "an operator that is gone"},
    {Role::kMade, "made", "an operator that a rule made"},
}};

const RoleRow& row_of(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

std::string shortened(const std::string& text) { return base::shortened(text, kMostLetters); }

double letters(const std::string& text) {
  return static_cast<double>(base::text_width(shortened(text)));
}

LayeredLayout::Box box_of(const PictureNode& node) {
  double width = kLetter * letters(node.label);
  double height = 2 * kPadding + kLabelLine - 4;
  for (const std::string& line : node.lines) {
    width = std::max(width, kSmallLetter * letters(line));
    height += kSmallLine;
  }
  if (!node.rule.empty()) {
    width = std::max(width, kSmallLetter * (letters(node.rule) + 2));
    height += kSmallLine;
  }
  return {.width = width + 2 * kPadding, .height = height};
}

LayeredLayout layout_of(const Picture& picture) {
  LayeredLayout layout;
  for (const PictureNode& node : picture.nodes) layout.boxes.push_back(box_of(node));
  for (std::size_t i = 0; i < picture.nodes.size(); ++i) {
    for (const std::size_t input : picture.nodes[i].inputs)
      layout.edges.push_back({.from = input, .to = i});
  }
  layout.place();
  return layout;
}

std::string number(double value) { return base::MarkupAttribute("", value).value; }

Markup text_at(double x, double y, const std::string& type, const std::string& text) {
  Markup content(shortened(text));
  return element("text", {{"class", type}, {"x", x}, {"y", y}}, content);
}

Markup path_of(const LayeredLayout::Edge& edge) {
  std::string path = "M" + number(edge.path[0].x) + " " + number(edge.path[0].y);
  for (std::size_t i = 1; i < edge.path.size(); ++i) {
    const auto& from = edge.path[i - 1];
    const auto& to = edge.path[i];
    const double middle = (from.y + to.y) / 2;
    path += "C" + number(from.x) + " " + number(middle) + " " + number(to.x) + " " +
            number(middle) + " " + number(to.x) + " " + number(to.y);
  }
  return element("path", {{"class", "edge"}, {"d", path}});
}

// A small arrowhead, as a shape of its own: markers would need ids, which a page has only once.
Markup tip_of(const LayeredLayout::Edge& edge) {
  const auto& end = edge.path.back();
  const std::string path = "M" + number(end.x - 3.5) + " " + number(end.y - 6) + "L" +
                           number(end.x + 3.5) + " " + number(end.y - 6) + "L" + number(end.x) +
                           " " + number(end.y) + "Z";
  return element("path", {{"class", "tip"}, {"d", path}});
}

// Neighbouring numbers get colours far apart: hues by the golden angle.
std::string colour_of(int kernel) {
  const int hue = static_cast<int>(137.508 * kernel) % 360;
  return "hsl(" + std::to_string(hue) + ",65%,45%)";
}

Markup node_at(const PictureNode& node, const LayeredLayout::Box& box) {
  std::string whole = node.label;
  for (const std::string& line : node.lines) whole += "\n" + line;
  if (!node.rule.empty()) whole += "\nmade by " + node.rule;
  Markup all = element("title", {}, whole);
  const bool round = node.role == Role::kInput || node.role == Role::kOutput;
  all.add(element("rect", {{"x", box.x},
                           {"y", box.y},
                           {"width", box.width},
                           {"height", box.height},
                           {"rx", round ? std::min(box.height / 2, 16.0) : 6.0}}));
  if (node.kernel >= 0) {
    all.add(element("rect", {{"class", "kernel"},
                             {"x", box.x},
                             {"y", box.y},
                             {"width", kStripe},
                             {"height", box.height},
                             {"style", "fill:" + colour_of(node.kernel)}}));
  }
  double y = box.y + kPadding + 10;
  all.add(text_at(box.x + kPadding, y, "label", node.label));
  for (const std::string& line : node.lines)
    all.add(text_at(box.x + kPadding, y += kSmallLine, "line", line));
  if (!node.rule.empty())
    all.add(text_at(box.x + kPadding, y + kSmallLine, "rule", "\u2190 " + node.rule));
  return element("g", {{"class", "node " + std::string(row_of(node.role).name)}}, all);
}

Markup shapes_of(const Picture& picture, const LayeredLayout& layout) {
  Markup shapes;
  for (const LayeredLayout::Edge& edge : layout.edges) shapes.add(path_of(edge)).add(tip_of(edge));
  for (std::size_t i = 0; i < picture.nodes.size(); ++i)
    shapes.add(node_at(picture.nodes[i], layout.boxes[i]));
  return shapes;
}

std::vector<base::MarkupAttribute> frame(double width, double height) {
  return {{"class", "graph"},
          {"viewBox", number(-kMargin) + " " + number(-kMargin) + " " +
                          number(width + 2 * kMargin) + " " + number(height + 2 * kMargin)},
          {"width", width + 2 * kMargin},
          {"height", height + 2 * kMargin}};
}

// The roles that occur, in a column below the drawing.
Markup legend_of(const Picture& picture, double y) {
  Markup all;
  for (const RoleRow& row : kRoles) {
    const bool occurs =
        std::ranges::any_of(picture.nodes, [&](const auto& n) { return n.role == row.role; });
    if (!occurs) continue;
    Markup shapes =
        element("rect", {{"x", 0.0}, {"y", y}, {"width", 22.0}, {"height", 12.0}, {"rx", 3.0}});
    shapes.add(text_at(30, y + 10, "line", std::string(row.meaning)));
    all.add(element("g", {{"class", "node " + std::string(row.name)}}, shapes));
    y += 18;
  }
  if (std::ranges::any_of(picture.nodes, [](const auto& node) { return node.kernel >= 0; }))
    all.add(text_at(0, y + 10, "line", "one colour at the edge: one kernel"));
  return element("g", {{"class", "legend"}}, all);
}

constexpr std::string_view kFileStyle =
    ".graph{background:#fff}text{font-family:ui-monospace,monospace;font-size:12px;fill:#1c2430}"
    ".line{font-size:10px;fill:#5a6675}.rule{font-size:10px;fill:#0a6b4f;font-weight:600}"
    ".node rect{fill:#f4f6f8;stroke:#8b97a5}.input rect,.output rect{fill:#fff;stroke:#8b97a5}"
    ".weights rect{fill:#fbf6e6;stroke:#c0a551}.rewired rect{fill:#eaf1fd;stroke:#4d7fd0}"
    ".gone rect{fill:#fdecea;stroke:#c64a3b;stroke-dasharray:4 3}"
    ".made rect{fill:#e5f6ef;stroke:#128a66}"
    ".edge{fill:none;stroke:#8b97a5;stroke-width:1.2}.tip{fill:#8b97a5}";

// Operators with more attributes than these have long lists that a drawing need not repeat.
constexpr std::size_t kMostAttributes = 4;

bool is_default(const ir::Operator& op, const std::string& name, const ir::AttrValue& value) {
  const auto spec = std::ranges::find(op.attrs(), name, &ir::AttrSpec::name);
  return spec != op.attrs().end() && spec->default_value && *spec->default_value == value;
}

}  // namespace

Markup draw(const Picture& picture) {
  if (picture.nodes.empty()) return {};
  const LayeredLayout layout = layout_of(picture);
  return element("svg", frame(layout.width, layout.height), shapes_of(picture, layout));
}

std::string draw_file(const Picture& picture, const std::string& note) {
  const LayeredLayout layout = layout_of(picture);
  Markup shapes = element("style", {}, Markup::verbatim(std::string(kFileStyle)));
  shapes.add(shapes_of(picture, layout));
  const double below = layout.height + 24;
  shapes.add(legend_of(picture, below));
  double height = below + 18 * static_cast<double>(kRoles.size() + 1);
  if (!note.empty()) {
    shapes.add(element("text", {{"class", "line"}, {"x", 0.0}, {"y", height + 6}}, note));
    height += 18;
  }
  std::vector<base::MarkupAttribute> attributes = frame(std::max(layout.width, 320.0), height);
  attributes.emplace_back("xmlns", "http://www.w3.org/2000/svg");
  return element("svg", attributes, shapes).str() + "\n";
}

PictureNode picture_of_operator(const ir::Graph& graph, ir::NodeId id,
                                const std::vector<bool>& weights) {
  const ir::Node& node = graph.node(id);
  PictureNode picture;
  if (node.kind != ir::NodeKind::kOperator) {
    const bool constant = node.kind == ir::NodeKind::kConstant;
    picture.role = constant ? Role::kWeights : Role::kInput;
    picture.label = node.name.empty() ? "constant" : node.name;
    picture.lines = {ir::to_string(node.type)};
    return picture;
  }
  picture.label = node.op->name();
  std::size_t shown = 0;
  for (const auto& [name, value] : node.attrs.entries()) {
    if (is_default(*node.op, name, value)) continue;
    if (shown++ == kMostAttributes) {
      picture.lines.emplace_back("\u2026");
      break;
    }
    picture.lines.push_back(name + " " + ir::to_string(value));
  }
  std::vector<ir::NodeId> constants;
  for (const ir::NodeId input : node.inputs) {
    if (weights[input.index()]) constants.push_back(input);
  }
  if (constants.size() == 1) {
    picture.lines.push_back("weights " + ir::to_string(graph.node(constants[0]).type));
  } else if (constants.size() > 1) {
    picture.lines.push_back(std::to_string(constants.size()) + " weights");
  }
  picture.lines.push_back(ir::to_string(node.type));
  return picture;
}

Picture picture_of_graph(const ir::Graph& graph, std::size_t most_operators, bool constants,
                         std::size_t& hidden, const backends::Division& kernels,
                         const backends::DivisionLayouts& layouts) {
  Picture picture;
  std::map<ir::NodeId, int> kernel_of;
  for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
    for (const ir::NodeId id : kernels[kernel]) kernel_of.emplace(id, static_cast<int>(kernel));
  }
  std::map<ir::NodeId, std::size_t> place;
  std::size_t operators = 0;
  std::vector<bool> weights;
  for (const ir::Node& node : graph.nodes())
    weights.push_back(node.kind == ir::NodeKind::kConstant && !constants);
  hidden = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::NodeId id(i);
    const ir::Node& node = graph.node(id);
    if (node.kind == ir::NodeKind::kConstant && !constants) continue;
    if (node.kind == ir::NodeKind::kOperator && ++operators > most_operators) {
      ++hidden;
      continue;
    }
    PictureNode shown = picture_of_operator(graph, id, weights);
    if (const auto kernel = kernel_of.find(id); kernel != kernel_of.end()) {
      shown.kernel = kernel->second;
      std::string& line = shown.lines.emplace_back("kernel " + std::to_string(kernel->second));
      const auto number = static_cast<std::size_t>(kernel->second);
      if (!layouts.empty() && id == kernels[number].back() &&
          layouts.kernels[number].writes != backends::LayoutForm::kRowMajor)
        line += ", " + std::string(to_string(layouts.kernels[number].writes));
    }
    for (const ir::NodeId input : node.inputs) {
      if (const auto at = place.find(input); at != place.end()) shown.inputs.push_back(at->second);
    }
    place[id] = picture.nodes.size();
    picture.nodes.push_back(std::move(shown));
  }
  for (const auto& output : graph.outputs()) {
    const auto at = place.find(output.node);
    if (at == place.end()) continue;
    picture.nodes.push_back({.role = Role::kOutput, .label = output.name, .inputs = {at->second}});
  }
  return picture;
}

}  // namespace egret::driver
