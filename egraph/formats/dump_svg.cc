// SPDX-License-Identifier: Apache-2.0
// A layered drawing (the simplest form of Sugiyama, Tagawa, Toda 1981). The row of a class is its
// distance from the roots. Each row is ordered by the mean position of the parents above it. Edges
// are curves from a node's line to its child's box.
#include <algorithm>
#include <limits>
#include <numeric>

#include "egraph/formats/dump.h"

namespace egret::egraph {

using Index = EGraphView::Index;

namespace {

// All lengths are in SVG units. Text is monospaced, so its width is known without measuring.
constexpr int kLetter = 7;
constexpr int kLine = 18;
constexpr int kPadding = 8;
constexpr int kColumnGap = 24;
constexpr int kRowGap = 56;
constexpr std::size_t kMaxLetters = 40;

constexpr std::string_view kStyle =
    "<style>text{font:12px monospace;fill:#222}.name{fill:#888}"
    "rect{fill:#fff;stroke:#555;stroke-dasharray:4 3;rx:6}.root{stroke:#06c;stroke-dasharray:none}"
    "path{fill:none;stroke:#999}path.back{stroke:#d90}</style>\n"
    "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" "
    "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8\"/></marker></defs>\n";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

// Cuts the text to at most kMaxLetters bytes, between UTF-8 sequences.
std::string shortened(std::string text) {
  if (text.size() <= kMaxLetters) return text;
  std::size_t end = kMaxLetters - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

struct Box {
  Index in_view = 0;
  std::string name;
  std::size_t nodes = 0;           // shown nodes
  std::vector<std::string> lines;  // one per shown node, and one that counts the others
  std::size_t row = 0;
  double place = 0;  // sort key within the row
  int x = 0, y = 0, width = 0, height = 0;

  int line_y(std::size_t line) const { return y + kPadding + kLine * static_cast<int>(line + 2); }
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
    assign_rows();
    order_rows();
    assign_places();
    write();
    return std::move(dump_);
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  void add_box(Index c, const OpTable& ops, std::size_t max_nodes) {
    Box box;
    box.in_view = c;
    box.name = shortened(class_name(view_, options_, c));
    std::size_t letters = box.name.size();
    const std::size_t nodes = view_.class_begin[c + 1] - view_.class_begin[c];
    box.nodes = std::min(nodes, max_nodes);
    for (std::size_t i = 0; i < box.nodes; ++i) {
      box.lines.push_back(
          shortened(ops.text(view_.node_op[view_.class_begin[c] + static_cast<Index>(i)])));
      letters = std::max(letters, box.lines.back().size());
    }
    shown_nodes_ += box.nodes;
    if (nodes > max_nodes) {
      box.lines.push_back("... " + std::to_string(nodes - max_nodes) + " more");
      letters = std::max(letters, box.lines.back().size());
    }
    box.width = 2 * kPadding + kLetter * static_cast<int>(letters);
    box.height = 2 * kPadding + kLine * static_cast<int>(box.lines.size() + 1);
    boxes_.push_back(std::move(box));
  }

  // Calls visit(line, box of the child) for each shown node.
  template <typename Visit>
  void for_children(const Box& box, Visit visit) const {
    const Index begin = view_.class_begin[box.in_view];
    for (std::size_t line = 0; line < box.nodes; ++line) {
      for (const Index child : view_.children_of(begin + static_cast<Index>(line))) {
        if (box_of_[child] != kNone) visit(line, box_of_[child]);
      }
    }
  }

  // Breadth-first search from the roots. Boxes that no root reaches are started from later: first
  // those without a parent, then (cycles) the others, in order.
  void assign_rows() {
    std::vector<bool> seen(boxes_.size());
    std::vector<std::size_t> queue;
    const auto visit = [&](std::size_t box, std::size_t row) {
      if (seen[box]) return;
      seen[box] = true;
      boxes_[box].row = row;
      queue.push_back(box);
    };
    std::size_t next = 0;
    const auto drain = [&] {
      for (; next < queue.size(); ++next) {
        const std::size_t row = boxes_[queue[next]].row + 1;
        for_children(boxes_[queue[next]],
                     [&](std::size_t, std::size_t child) { visit(child, row); });
      }
    };
    for (const Index root : view_.roots) {
      if (box_of_[root] != kNone) visit(box_of_[root], 0);
    }
    drain();
    std::vector<bool> is_child(boxes_.size());
    for (const Box& box : boxes_) {
      for_children(box, [&](std::size_t, std::size_t child) { is_child[child] = true; });
    }
    for (const bool parentless : {true, false}) {
      for (std::size_t box = 0; box < boxes_.size(); ++box) {
        if (is_child[box] == parentless) continue;
        visit(box, 0);
        drain();
      }
    }
    for (const Box& box : boxes_) {
      if (box.row >= rows_.size()) rows_.resize(box.row + 1);
    }
    for (std::size_t box = 0; box < boxes_.size(); ++box) rows_[boxes_[box].row].push_back(box);
  }

  // The barycentre heuristic against crossings. A row is sorted by the mean place of its parents,
  // from the top row to the bottom row, a fixed number of times. Minimizing the crossings is
  // NP-hard, and a drawing for a reader needs no optimum.
  void order_rows() {
    constexpr int kSweeps = 4;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (std::size_t row = 0; row < rows_.size(); ++row) {
        if (row > 0) pull_to_parents(row);
        for (std::size_t i = 0; i < rows_[row].size(); ++i) {
          boxes_[rows_[row][i]].place = static_cast<double>(i);
        }
      }
    }
  }

  void pull_to_parents(std::size_t row) {
    std::vector<double> sums(boxes_.size());
    std::vector<double> counts(boxes_.size());
    for (const std::size_t parent : rows_[row - 1]) {
      for_children(boxes_[parent], [&](std::size_t, std::size_t child) {
        sums[child] += boxes_[parent].place;
        counts[child] += 1;
      });
    }
    for (const std::size_t box : rows_[row]) {
      if (counts[box] > 0) boxes_[box].place = sums[box] / counts[box];
    }
    std::stable_sort(rows_[row].begin(), rows_[row].end(), [&](std::size_t a, std::size_t b) {
      return boxes_[a].place < boxes_[b].place;
    });
  }

  // Centres each row and stacks the rows, each as high as its highest box.
  void assign_places() {
    std::vector<int> widths;
    for (const auto& row : rows_) {
      int width = -kColumnGap;
      for (const std::size_t box : row) width += boxes_[box].width + kColumnGap;
      widths.push_back(width);
      width_ = std::max(width_, width + 2 * kColumnGap);
    }
    int y = kColumnGap;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      int x = (width_ - widths[row]) / 2;
      int height = 0;
      for (const std::size_t box : rows_[row]) {
        boxes_[box].x = x;
        boxes_[box].y = y;
        x += boxes_[box].width + kColumnGap;
        height = std::max(height, boxes_[box].height);
      }
      y += height + kRowGap;
    }
    height_ = y;
  }

  void text(int x, int y, std::string_view content, std::string_view attributes = {}) {
    out_.append("<text x=\"").append(std::to_string(x)).append("\" y=\"");
    out_.append(std::to_string(y)).append("\"").append(attributes).append(">");
    out_.append(escaped(content)).append("</text>\n");
  }

  void write_edge(const Box& from, std::size_t line, const Box& to) {
    const auto n = [](int value) { return std::to_string(value); };
    // The edge leaves the box at the bottom if the target is below, otherwise (a cycle, or a child
    // nearer to the root) at the side.
    const bool down = to.row > from.row;
    const int x1 = down ? from.x + from.width / 2 : from.x + from.width;
    const int y1 = down ? from.y + from.height : from.line_y(line) - kLine / 3;
    const int x2 = to.x + to.width / 2;
    const int y2 = to.y;
    const int bend = down ? kRowGap / 2 : kRowGap;
    const std::string first = down ? n(x1) + " " + n(y1 + bend) : n(x1 + bend) + " " + n(y1);
    out_ += std::string("<path ") + (down ? "" : "class=\"back\" ") +
            "marker-end=\"url(#tip)\" d=\"M" + n(x1) + " " + n(y1) + "C" + first + " " + n(x2) +
            " " + n(y2 - bend) + " " + n(x2) + " " + n(y2) + "\"/>\n";
  }

  void write() {
    const std::string hidden = hidden_text(dump_);
    const std::string size =
        std::to_string(std::max(width_, 400)) + " " + std::to_string(height_ + kLine);
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size + "\">\n";
    out_ += kStyle;
    for (const Box& box : boxes_) {
      for_children(
          box, [&](std::size_t line, std::size_t child) { write_edge(box, line, boxes_[child]); });
    }
    for (const Box& box : boxes_) {
      const bool root =
          std::find(view_.roots.begin(), view_.roots.end(), box.in_view) != view_.roots.end();
      out_ += "<rect x=\"" + std::to_string(box.x) + "\" y=\"" + std::to_string(box.y) +
              "\" width=\"" + std::to_string(box.width) + "\" height=\"" +
              std::to_string(box.height) + (root ? "\" class=\"root" : "") + "\"/>\n";
      text(box.x + kPadding, box.y + kLine, box.name, " class=\"name\"");
      for (std::size_t line = 0; line < box.lines.size(); ++line) {
        text(box.x + kPadding, box.line_y(line) - kPadding / 2, box.lines[line]);
      }
    }
    if (!hidden.empty()) text(kColumnGap, height_, hidden, " class=\"name\"");
    out_ += "</svg>\n";
    dump_.text = std::move(out_);
  }

  const EGraphView& view_;
  const DumpOptions& options_;
  std::vector<std::size_t> box_of_;  // by view class
  std::vector<Box> boxes_;
  std::vector<std::vector<std::size_t>> rows_;
  std::size_t shown_nodes_ = 0;
  int width_ = 0;
  int height_ = 0;
  std::string out_;
  Dump dump_;
};

}  // namespace

Dump dump_svg(const EGraphView& view, const OpTable& ops, const DumpOptions& options,
              std::size_t max_nodes) {
  return Drawing(view, ops, options, max_nodes).run();
}

}  // namespace egret::egraph
