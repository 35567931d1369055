// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "extract/core/extractor.h"

namespace egret::extract {

// For each class, the nodes that have it as a child, once per occurrence, ascending.
class Parents {
 public:
  explicit Parents(const EGraphView& graph)
      : begin_(graph.class_count() + 1, 0), nodes_(graph.children.size()) {
    for (const ClassIndex child : graph.children) ++begin_[child + 1];
    for (std::size_t c = 0; c + 1 < begin_.size(); ++c) begin_[c + 1] += begin_[c];
    std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    for (NodeIndex node = 0; node < graph.node_count(); ++node) {
      for (const ClassIndex child : graph.children_of(node)) nodes_[next[child]++] = node;
    }
  }

  std::span<const NodeIndex> of(ClassIndex c) const {
    return std::span(nodes_).subspan(begin_[c], begin_[c + 1] - begin_[c]);
  }

 private:
  std::vector<std::uint32_t> begin_;
  std::vector<NodeIndex> nodes_;
};

}  // namespace egret::extract
