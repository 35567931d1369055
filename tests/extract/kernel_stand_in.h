// SPDX-License-Identifier: Apache-2.0
// A backend that exists in tests alone, and what searches through all divisions share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "extract/kernels/pieces.h"
#include "tests/extract/random_view.h"

namespace egret::extract {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

// What a backend that exists in this test makes of nodes: kernels of at most four operators, whose
// price depends on all of them, and of which some are refused.
struct StandIn {
  const RandomView& random;
  std::uint64_t seed;

  bool is_kernel(const Piece& piece) const {
    return piece.nodes.size() <= 4 && drawn(piece, 1) < 0.8;
  }
  double price(const Piece& piece) const {
    double sum = 0;
    for (const NodeIndex node : piece.nodes) sum += random.costs[node];
    return piece.nodes.size() == 1 ? sum : std::floor(sum * drawn(piece, 2) * 8) / 8;
  }
  double drawn(const Piece& piece, std::uint64_t salt) const {
    std::vector<NodeIndex> nodes = piece.nodes;
    for (const NodeIndex node : piece.stored) nodes.push_back(node + 1000);
    return drawn(nodes, salt);
  }
  double drawn(std::vector<NodeIndex> nodes, std::uint64_t salt) const {
    std::ranges::sort(nodes);
    std::uint64_t hash = seed + salt;
    for (const NodeIndex node : nodes) hash = base::hash_combine(hash, node);
    return base::Random(hash).uniform(0, 1);
  }
};

inline std::vector<bool> leaves_of(const EGraphView& graph) {
  std::vector<bool> leaves(graph.class_count(), false);
  leaves.back() = true;  // its nodes have no operands
  return leaves;
}

// Whether the kernels of a division, by the class that they make, can run one after the other.
// `is_ready`: whether what a kernel reads is there once others are done.
template <typename Kernel, typename IsReady>
bool can_be_ordered(const std::map<ClassIndex, Kernel>& makers, const IsReady& is_ready) {
  std::set<Kernel> left;
  for (const auto& [c, kernel] : makers) left.insert(kernel);
  std::set<Kernel> done;
  for (bool more = true; more && !left.empty();) {
    more = std::erase_if(left, [&](const Kernel& kernel) {
             return is_ready(kernel, done) && done.insert(kernel).second;
           }) > 0;
  }
  return left.empty();
}

// What the stand-in takes, at its prices.
inline PieceOptions options_of(const StandIn& backend) {
  PieceOptions options;
  options.is_kernel = [&](const Piece& piece) { return backend.is_kernel(piece); };
  options.price = [&](const Piece& piece) { return backend.price(piece); };
  return options;
}

inline std::vector<double> prices_of(const Pieces& pieces, const StandIn& backend) {
  std::vector<double> prices;
  for (const Piece& piece : pieces.all) prices.push_back(backend.price(piece));
  return prices;
}

}  // namespace egret::extract
