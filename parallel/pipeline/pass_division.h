// SPDX-License-Identifier: Apache-2.0
// Which of several passes, one after the other, computes each node of a graph: the first one with
// an output that needs it. Each pass thus computes what no earlier one has computed, and reads what
// earlier ones kept for it.
#pragma once

#include <cstddef>
#include <vector>

namespace egret::parallel {

class PassDivision {
 public:
  // INPUTS: of each node, earlier ones. COMPUTED: by node; all others are given. OUTPUTS: nodes, by
  // pass. O(nodes and inputs).
  PassDivision(std::vector<std::vector<std::size_t>> inputs, std::vector<bool> computed,
               std::vector<std::vector<std::size_t>> outputs);

  // The nodes that a pass computes, ascending.
  std::vector<std::size_t> computed(std::size_t pass) const;
  // Of them, those that are outputs of any pass, or that later passes read. Ascending.
  std::vector<std::size_t> results(std::size_t pass) const;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  void mark(std::size_t node, std::size_t pass);

  const std::vector<std::vector<std::size_t>> inputs_;
  const std::vector<bool> computed_;
  const std::vector<std::vector<std::size_t>> outputs_;
  std::vector<std::size_t> pass_;  // by node
};

}  // namespace egret::parallel
