// SPDX-License-Identifier: Apache-2.0
// The row of a class is its distance from the roots; base/formats/layered_layout.h does the rest.
// An edge leaves the box of its e-node and ends at the class that it reads.
#include <algorithm>
#include <limits>
#include <vector>

#include "base/formats/layered_layout.h"
#include "base/formats/markup.h"
#include "base/formats/text_table.h"
#include "egraph/formats/dump.h"

namespace egret::egraph {

using Index = EGraphView::Index;

namespace {

using base::element;
using base::LayeredLayout;
using base::Markup;

// All lengths are in SVG units. Text is monospaced, so its width is known without measuring.
constexpr double kLetter = 7.25;
constexpr double kSmallLetter = 6.1;
constexpr double kLine = 18;
constexpr double kSmallLine = 13;
constexpr double kPadding = 8;
constexpr double kMargin = 12;
constexpr double kNodeGap = 8;
constexpr double kWidestRow = 420;  // of nodes in a class
constexpr std::size_t kMaxLetters = 32;

// All selectors are within the drawing, which may be a part of a page.
constexpr std::string_view kStyle =
    "svg.egraph{background:#fff}"
    ".egraph text{font:12px ui-monospace,monospace;fill:#1c2430}"
    ".egraph .name,.egraph .note{fill:#5a6675;font-size:10px}"
    ".egraph .rule{fill:#0a6b4f;font-size:10px}"
    ".egraph .class{fill:#fafbfc;stroke:#8b97a5;stroke-dasharray:4 3}"
    ".egraph .root{stroke:#2f6fbf;stroke-width:1.6;stroke-dasharray:none}"
    ".egraph .enode{fill:#fff;stroke:#8b97a5}"
    ".egraph .chosen{fill:#dff3e9;stroke:#128a66;stroke-width:1.6}"
    ".egraph path{fill:none;stroke:#a5afbb}"
    ".egraph path.back{stroke:#d98a1f;stroke-dasharray:3 3}"
    ".egraph path.taken{stroke:#128a66;stroke-width:1.8}"
    ".egraph .tip{fill:#a5afbb;stroke:none}.egraph .tip.taken{fill:#128a66}"
    ".egraph .tip.back{fill:#d98a1f}";

std::string shortened(const std::string& text) { return base::shortened(text, kMaxLetters); }

double width_of(const std::string& text, double letter) {
  return letter * static_cast<double>(base::text_width(text));
}

// An e-node, placed within the box of its class.
struct NodeBox {
  Index node = 0;
  std::string text{};
  std::string rule{};
  bool chosen = false;
  double x = 0, y = 0, width = 0, height = 0;
};

struct ClassBox {
  Index in_view = 0;
  std::string name;
  std::string more;  // "3 more nodes"
  std::vector<NodeBox> nodes;
  double width = 0, height = 0;
  bool root = false;
};

class Drawing {
 public:
  Drawing(const EGraphView& view, const OpTable& ops, const DumpOptions& options,
          std::size_t max_nodes)
      : view_(view), options_(options), box_of_(view.class_count(), kNone) {
    for (const Index c : shown_classes(view, options.max_classes)) {
      box_of_[c] = boxes_.size();
      add_box(c, ops, max_nodes);
    }
    dump_.hidden_classes = view.class_count() - boxes_.size();
    dump_.hidden_nodes = view.node_count() - shown_nodes_;
  }

  Dump run() {
    for (const ClassBox& box : boxes_)
      layout_.boxes.push_back({.width = box.width, .height = box.height});
    for (std::size_t box = 0; box < boxes_.size(); ++box) {
      for_children(boxes_[box], [&](const NodeBox&, std::size_t child) {
        layout_.edges.push_back({.from = box, .to = child});
      });
    }
    for (std::size_t box = 0; box < boxes_.size(); ++box) {
      if (boxes_[box].root) layout_.starts.push_back(box);
    }
    layout_.row_gap = 46;
    layout_.place();
    write();
    return std::move(dump_);
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  bool is_chosen(Index c, Index node) const {
    return !options_.chosen.empty() && options_.chosen[c] == node;
  }

  // The first nodes, and the chosen one in any case.
  void add_box(Index c, const OpTable& ops, std::size_t max_nodes) {
    ClassBox box;
    box.in_view = c;
    box.name = shortened(class_name(view_, options_, c));
    box.root = std::ranges::find(view_.roots, c) != view_.roots.end();
    const std::size_t count = view_.class_begin[c + 1] - view_.class_begin[c];
    for (std::size_t i = 0; i < count; ++i) {
      const Index node = view_.class_begin[c] + static_cast<Index>(i);
      if (i >= max_nodes && !is_chosen(c, node)) continue;
      NodeBox one{.node = node,
                  .text = shortened(ops.text(view_.node_op[node])),
                  .chosen = is_chosen(c, node)};
      if (!options_.made_by.empty() && !options_.made_by[node].empty())
        one.rule = shortened("by " + options_.made_by[node]);
      one.width = 2 * 6 + std::max(width_of(one.text, kLetter), width_of(one.rule, kSmallLetter));
      one.height = kLine + 4 + (one.rule.empty() ? 0 : kSmallLine);
      box.nodes.push_back(std::move(one));
    }
    shown_nodes_ += box.nodes.size();
    if (count > box.nodes.size()) box.more = std::to_string(count - box.nodes.size()) + " more";
    arrange(box);
    boxes_.push_back(std::move(box));
  }

  // Nodes stand side by side, in as many lines as they need.
  static void arrange(ClassBox& box) {
    double x = 0;
    double y = kPadding + kSmallLine + 2;
    double high = 0;
    double wide = std::max(width_of(box.name, kSmallLetter), width_of(box.more, kSmallLetter));
    for (NodeBox& node : box.nodes) {
      if (x > 0 && x + node.width > kWidestRow) {
        y += high + kNodeGap;
        x = 0;
        high = 0;
      }
      node.x = kPadding + x;
      node.y = y;
      x += node.width + kNodeGap;
      high = std::max(high, node.height);
      wide = std::max(wide, x - kNodeGap);
    }
    box.width = wide + 2 * kPadding;
    box.height = y + high + kPadding + (box.more.empty() ? 0 : kSmallLine);
  }

  // Calls visit(node, box of the child) for each child of each shown node.
  template <typename Visit>
  void for_children(const ClassBox& box, Visit visit) const {
    for (const NodeBox& node : box.nodes) {
      for (const Index child : view_.children_of(node.node)) {
        if (box_of_[child] != kNone) visit(node, box_of_[child]);
      }
    }
  }

  static std::string number(double value) { return base::MarkupAttribute("", value).value; }

  static Markup text_at(double x, double y, const std::string& type, const std::string& text) {
    return element("text", {{"class", type}, {"x", x}, {"y", y}}, text);
  }

  static Markup tip_at(double x, double y, const std::string& type) {
    return element(
        "path", {{"class", "tip" + type},
                 {"d", "M" + number(x - 3.5) + " " + number(y - 6) + "L" + number(x + 3.5) + " " +
                           number(y - 6) + "L" + number(x) + " " + number(y) + "Z"}});
  }

  Markup edge_of(const ClassBox& box, const NodeBox& node, const LayeredLayout::Edge& edge) const {
    const LayeredLayout::Box& from = layout_.boxes[edge.from];
    const LayeredLayout::Box& to = layout_.boxes[edge.to];
    const bool down = to.layer > from.layer;
    const bool taken = node.chosen && !options_.chosen.empty() && down;
    const std::string type = taken ? " taken" : down ? "" : " back";
    const double x = from.x + node.x + node.width / 2;
    double y = from.y + node.y + node.height;
    const auto& end = edge.path.back();
    std::string path;
    if (down) {
      path =
          "M" + number(x) + " " + number(y) + "L" + number(x) + " " + number(from.y + box.height);
      auto last = LayeredLayout::Point{x, from.y + box.height};
      for (std::size_t i = 1; i < edge.path.size(); ++i) {
        const auto& point = edge.path[i];
        const double middle = (last.y + point.y) / 2;
        path += "C" + number(last.x) + " " + number(middle) + " " + number(point.x) + " " +
                number(middle) + " " + number(point.x) + " " + number(point.y);
        last = point;
      }
    } else {
      // A cycle, or a class nearer to the root: around the right side.
      const double side = std::max(from.x + from.width, to.x + to.width) + 22;
      path = "M" + number(x) + " " + number(y) + "C" + number(x) + " " + number(y + 34) + " " +
             number(side) + " " + number(y + 34) + " " + number(side) + " " +
             number((y + end.y) / 2) + "S" + number(end.x) + " " + number(end.y - 30) + " " +
             number(end.x) + " " + number(end.y);
    }
    Markup all = element("path", {{"class", "edge" + type}, {"d", path}});
    all.add(tip_at(end.x, end.y, type));
    return all;
  }

  Markup box_at(const ClassBox& box, const LayeredLayout::Box& place) const {
    Markup all = element("rect", {{"class", box.root ? "class root" : "class"},
                                  {"x", place.x},
                                  {"y", place.y},
                                  {"width", box.width},
                                  {"height", box.height},
                                  {"rx", 7.0}});
    all.add(text_at(place.x + kPadding, place.y + kPadding + 7, "name", box.name));
    if (!box.more.empty())
      all.add(text_at(place.x + kPadding, place.y + box.height - 6, "note", box.more));
    return all;
  }

  static Markup node_at(const NodeBox& node, const LayeredLayout::Box& place) {
    Markup all = element("rect", {{"class", node.chosen ? "enode chosen" : "enode"},
                                  {"x", place.x + node.x},
                                  {"y", place.y + node.y},
                                  {"width", node.width},
                                  {"height", node.height},
                                  {"rx", 4.0}});
    all.add(text_at(place.x + node.x + 6, place.y + node.y + 15, "op", node.text));
    if (!node.rule.empty())
      all.add(text_at(place.x + node.x + 6, place.y + node.y + 28, "rule", node.rule));
    return all;
  }

  // What the marks mean, as far as they occur.
  Markup legend(double& y) const {
    Markup all;
    const auto add = [&](const std::string& type, const std::string& meaning) {
      all.add(element(
          "rect",
          {{"class", type}, {"x", 0.0}, {"y", y}, {"width", 22.0}, {"height", 12.0}, {"rx", 3.0}}));
      all.add(text_at(30, y + 10, "name", meaning));
      y += 18;
    };
    add("class", "a class of equal terms");
    if (std::ranges::any_of(boxes_, &ClassBox::root)) add("class root", "a root");
    add("enode", "an e-node; its edges lead to the classes that it reads");
    if (!options_.chosen.empty()) add("enode chosen", "a chosen e-node");
    return all;
  }

  void write() {
    Markup shapes = element("style", {}, Markup::verbatim(std::string(kStyle)));
    std::size_t edge = 0;
    Markup above;  // boxes of classes first, then edges, then nodes
    for (std::size_t box = 0; box < boxes_.size(); ++box) {
      shapes.add(box_at(boxes_[box], layout_.boxes[box]));
      for (const NodeBox& node : boxes_[box].nodes) above.add(node_at(node, layout_.boxes[box]));
    }
    double right = layout_.width;
    for (const ClassBox& box : boxes_) {
      for_children(box, [&](const NodeBox& node, std::size_t) {
        const LayeredLayout::Edge& one = layout_.edges[edge++];
        if (layout_.boxes[one.to].layer <= layout_.boxes[one.from].layer)
          right =
              std::max(right, std::max(layout_.boxes[one.from].x + layout_.boxes[one.from].width,
                                       layout_.boxes[one.to].x + layout_.boxes[one.to].width) +
                                  24);
        shapes.add(edge_of(box, node, one));
      });
    }
    shapes.add(above);
    double y = layout_.height + 40;
    shapes.add(legend(y));
    if (const std::string hidden = hidden_text(dump_); !hidden.empty()) {
      shapes.add(text_at(0, y + 12, "note", hidden));
      y += 18;
    }
    const double width = std::max(right, 400.0) + 2 * kMargin;
    const double height = y + kMargin + 8;
    dump_.text = element("svg",
                         {{"xmlns", "http://www.w3.org/2000/svg"},
                          {"class", "egraph"},
                          {"viewBox", number(-kMargin) + " " + number(-kMargin) + " " +
                                          number(width) + " " + number(height)},
                          {"width", width},
                          {"height", height}},
                         shapes)
                     .str() +
                 "\n";
  }

  const EGraphView& view_;
  const DumpOptions& options_;
  std::vector<std::size_t> box_of_;  // by view class
  std::vector<ClassBox> boxes_;
  LayeredLayout layout_;  // boxes as in boxes_; edges in the order of for_children()
  std::size_t shown_nodes_ = 0;
  Dump dump_;
};

}  // namespace

Dump dump_svg(const EGraphView& view, const OpTable& ops, const DumpOptions& options,
              std::size_t max_nodes) {
  return Drawing(view, ops, options, max_nodes).run();
}

}  // namespace egret::egraph
