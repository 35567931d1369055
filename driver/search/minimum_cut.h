// SPDX-License-Identifier: Apache-2.0
// Minimum cuts of directed networks.
#pragma once

#include <cstdint>
#include <vector>

namespace egret::driver {

class FlowNetwork {
 public:
  // More than all that can flow.
  static constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

  explicit FlowNetwork(std::size_t vertices) : vertices_(vertices) {}

  void edge(std::size_t from, std::size_t to, std::int64_t capacity) {
    edges_.push_back({from, to, capacity});
  }

  // By vertex, whether a cut between the two of least capacity leaves it on the source's side: of
  // such cuts the one that leaves the fewest there.
  std::vector<char> source_side(std::size_t source, std::size_t sink) const;

 private:
  struct Edge {
    std::size_t from;
    std::size_t to;
    std::int64_t capacity;
  };
  std::size_t vertices_;
  std::vector<Edge> edges_;
};

}  // namespace egret::driver
