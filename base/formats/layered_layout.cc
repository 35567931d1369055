// SPDX-License-Identifier: Apache-2.0
#include "base/formats/layered_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

namespace egret::base {
namespace {

constexpr int kOrderSweeps = 8;
constexpr int kPlaceSweeps = 12;
constexpr double kLaneWidth = 8;      // of an edge that passes a layer
constexpr double kLaneStiffness = 4;  // long edges stay straight rather than short ones

// A box, or the lane of an edge that passes a layer.
struct Item {
  double width = 0;
  double weight = 1;
  double centre = 0;
  std::size_t layer = 0;
  std::vector<std::size_t> above{};  // neighbours in the layer above
  std::vector<std::size_t> below{};
};

// Minimizes the weighted squares of the distances to the wishes, in order and with the gaps kept:
// isotonic regression by pooling adjacent violators.
void place_in_order(std::vector<Item>& items, std::span<const std::size_t> layer,
                    std::span<const double> wishes, double gap) {
  struct Block {
    double sum = 0;  // of weight * (wish - offset)
    double weight = 0;
    std::size_t count = 0;
    double mean() const { return sum / weight; }
  };
  std::vector<double> offsets(layer.size(), 0);
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    if (i > 0) {
      offsets[i] = offsets[i - 1] + gap + (items[layer[i - 1]].width + items[layer[i]].width) / 2;
    }
    const double weight = items[layer[i]].weight;
    blocks.push_back({weight * (wishes[i] - offsets[i]), weight, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().weight += last.weight;
      blocks.back().count += last.count;
    }
  }
  std::size_t i = 0;
  for (const Block& block : blocks) {
    for (std::size_t k = 0; k < block.count; ++k, ++i)
      items[layer[i]].centre = block.mean() + offsets[i];
  }
}

class Placement {
 public:
  explicit Placement(LayeredLayout& layout) : layout_(layout) {}

  void run() {
    if (layout_.boxes.empty()) return;
    assign_layers();
    make_items();
    order();
    place_columns();
    place_rows();
    make_paths();
  }

 private:
  bool downward(const LayeredLayout::Edge& edge) const {
    return layout_.boxes[edge.from].layer < layout_.boxes[edge.to].layer;
  }

  // Longest paths, without the edges that close a cycle: those to a box that a depth-first walk
  // from the starts and the sources has open.
  void assign_layers() {
    const std::size_t count = layout_.boxes.size();
    std::vector<std::vector<std::size_t>> next(count);
    std::vector<bool> is_source(count, true);
    for (const LayeredLayout::Edge& edge : layout_.edges) {
      if (edge.from == edge.to) continue;
      next[edge.from].push_back(edge.to);
      is_source[edge.to] = false;
    }
    std::vector<std::size_t> first = layout_.starts;
    for (const bool source : {true, false}) {
      for (std::size_t box = 0; box < count; ++box) {
        if (is_source[box] == source) first.push_back(box);
      }
    }
    enum class Mark : unsigned char { kNew, kOpen, kDone };
    struct Visit {
      std::size_t box;
      std::size_t edge = 0;
    };
    std::vector<Mark> marks(count, Mark::kNew);
    std::vector<std::size_t> done;  // each after all that it reaches
    std::vector<std::vector<std::size_t>> acyclic(count);
    for (const std::size_t start : first) {
      if (marks[start] != Mark::kNew) continue;
      std::vector<Visit> stack{{start}};
      marks[start] = Mark::kOpen;
      while (!stack.empty()) {
        Visit& visit = stack.back();
        const std::size_t box = visit.box;
        if (visit.edge == next[box].size()) {
          marks[box] = Mark::kDone;
          done.push_back(box);
          stack.pop_back();
          continue;
        }
        const std::size_t other = next[box][visit.edge++];
        if (marks[other] == Mark::kOpen) continue;
        acyclic[box].push_back(other);
        if (marks[other] == Mark::kDone) continue;
        marks[other] = Mark::kOpen;
        stack.push_back({other});
      }
    }
    for (LayeredLayout::Box& box : layout_.boxes) box.layer = 0;
    for (std::size_t i = done.size(); i-- > 0;) {
      for (const std::size_t other : acyclic[done[i]]) {
        layout_.boxes[other].layer =
            std::max(layout_.boxes[other].layer, layout_.boxes[done[i]].layer + 1);
      }
    }
    // A source stands right above the first box that reads it.
    for (std::size_t box = 0; box < count; ++box) {
      if (!is_source[box] || next[box].empty()) continue;
      std::size_t nearest = std::numeric_limits<std::size_t>::max();
      for (const std::size_t other : next[box])
        nearest = std::min(nearest, layout_.boxes[other].layer);
      if (nearest > 0) layout_.boxes[box].layer = nearest - 1;
    }
  }

  void connect(std::size_t upper, std::size_t lower) {
    items_[upper].below.push_back(lower);
    items_[lower].above.push_back(upper);
  }

  void make_items() {
    std::size_t most = 0;
    for (const LayeredLayout::Box& box : layout_.boxes) {
      items_.push_back({.width = box.width, .layer = box.layer});
      most = std::max(most, box.layer);
    }
    lanes_.resize(layout_.edges.size());
    for (std::size_t e = 0; e < layout_.edges.size(); ++e) {
      const LayeredLayout::Edge& edge = layout_.edges[e];
      if (!downward(edge)) continue;
      std::size_t upper = edge.from;
      for (std::size_t layer = layout_.boxes[edge.from].layer + 1;
           layer < layout_.boxes[edge.to].layer; ++layer) {
        const std::size_t lane = items_.size();
        items_.push_back({.width = kLaneWidth, .weight = kLaneStiffness, .layer = layer});
        connect(upper, lane);
        lanes_[e].push_back(lane);
        upper = lane;
      }
      connect(upper, edge.to);
    }
    layers_.resize(most + 1);
    for (std::size_t i = 0; i < items_.size(); ++i) layers_[items_[i].layer].push_back(i);
  }

  // The mean of what is known of the neighbours; `own` where there are none.
  static double mean_of(const std::vector<std::size_t>& neighbours,
                        const std::vector<double>& values, double own) {
    if (neighbours.empty()) return own;
    double sum = 0;
    for (const std::size_t one : neighbours) sum += values[one];
    return sum / static_cast<double>(neighbours.size());
  }

  void order() {
    std::vector<double> rank(items_.size());
    const auto number = [&](const std::vector<std::size_t>& layer) {
      for (std::size_t i = 0; i < layer.size(); ++i) rank[layer[i]] = static_cast<double>(i);
    };
    for (const auto& layer : layers_) number(layer);
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (std::size_t l = 0; l < layers_.size(); ++l) {
        std::vector<std::size_t>& layer = layers_[down ? l : layers_.size() - 1 - l];
        std::vector<double> keys(items_.size());
        for (const std::size_t item : layer)
          keys[item] = mean_of(down ? items_[item].above : items_[item].below, rank, rank[item]);
        std::ranges::stable_sort(layer, {}, [&](std::size_t item) { return keys[item]; });
        number(layer);
      }
    }
  }

  void place_columns() {
    for (const auto& layer : layers_) {
      double x = 0;
      for (const std::size_t item : layer) {
        items_[item].centre = x + items_[item].width / 2;
        x += items_[item].width + layout_.column_gap;
      }
    }
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      std::vector<double> centres(items_.size());
      for (std::size_t i = 0; i < items_.size(); ++i) centres[i] = items_[i].centre;
      for (std::size_t l = 0; l < layers_.size(); ++l) {
        const std::vector<std::size_t>& layer = layers_[down ? l : layers_.size() - 1 - l];
        std::vector<double> wishes;
        for (const std::size_t item : layer) {
          const Item& one = items_[item];
          const auto& first = down ? one.above : one.below;
          const auto& other = down ? one.below : one.above;
          wishes.push_back(mean_of(first.empty() ? other : first, centres, centres[item]));
        }
        place_in_order(items_, layer, wishes, layout_.column_gap);
        for (const std::size_t item : layer) centres[item] = items_[item].centre;
      }
    }
    double left = std::numeric_limits<double>::infinity();
    double right = -left;
    for (const Item& item : items_) {
      left = std::min(left, item.centre - item.width / 2);
      right = std::max(right, item.centre + item.width / 2);
    }
    for (Item& item : items_) item.centre -= left;
    layout_.width = right - left;
    for (std::size_t i = 0; i < layout_.boxes.size(); ++i)
      layout_.boxes[i].x = items_[i].centre - layout_.boxes[i].width / 2;
  }

  void place_rows() {
    top_.assign(layers_.size() + 1, 0);
    std::vector<double> heights(layers_.size(), 0);
    for (const LayeredLayout::Box& box : layout_.boxes)
      heights[box.layer] = std::max(heights[box.layer], box.height);
    for (std::size_t l = 0; l < layers_.size(); ++l)
      top_[l + 1] = top_[l] + heights[l] + layout_.row_gap;
    layout_.height = top_.back() - layout_.row_gap;
    for (LayeredLayout::Box& box : layout_.boxes)
      box.y = top_[box.layer] + (heights[box.layer] - box.height) / 2;
  }

  // The ends of edges at a box stand side by side, in the order of their other ends.
  void make_paths() {
    std::vector<std::vector<std::size_t>> incoming(layout_.boxes.size());
    for (std::size_t e = 0; e < layout_.edges.size(); ++e)
      incoming[layout_.edges[e].to].push_back(e);
    for (std::size_t box = 0; box < layout_.boxes.size(); ++box) {
      auto& ends = incoming[box];
      std::ranges::stable_sort(ends, {}, [&](std::size_t e) {
        return items_[lanes_[e].empty() ? layout_.edges[e].from : lanes_[e].back()].centre;
      });
      for (std::size_t i = 0; i < ends.size(); ++i)
        make_path(ends[i], static_cast<double>(i + 1) / static_cast<double>(ends.size() + 1));
    }
  }

  void make_path(std::size_t e, double place) {
    LayeredLayout::Edge& edge = layout_.edges[e];
    const LayeredLayout::Box& from = layout_.boxes[edge.from];
    const LayeredLayout::Box& to = layout_.boxes[edge.to];
    edge.path = {{from.x + from.width / 2, from.y + from.height}};
    for (const std::size_t lane : lanes_[e]) {
      const std::size_t layer = items_[lane].layer;
      edge.path.push_back({items_[lane].centre, top_[layer]});
      edge.path.push_back({items_[lane].centre, top_[layer + 1] - layout_.row_gap});
    }
    edge.path.push_back({to.x + to.width * place, to.y});
  }

  LayeredLayout& layout_;
  std::vector<Item> items_;                      // boxes, then lanes
  std::vector<std::vector<std::size_t>> lanes_;  // by edge
  std::vector<std::vector<std::size_t>> layers_;
  std::vector<double> top_;
};

}  // namespace

void LayeredLayout::place() { Placement(*this).run(); }

}  // namespace egret::base
