// SPDX-License-Identifier: Apache-2.0
// Progressive filling (Bertsekas and Gallager, "Data Networks", section 6.5): all rates rise
// together; a flow stops at its limit, or when one of its links is full.
#include <algorithm>
#include <limits>

#include "parallel/simulator/event_simulator.h"

namespace egret::parallel {

std::vector<double> max_min_rates(const std::vector<double>& capacities,
                                  const std::vector<FairFlow>& flows) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  std::vector<double> rates(flows.size(), kInfinite);
  std::vector<char> fixed(flows.size(), 0);
  std::vector<double> left(capacities.size());
  std::vector<std::int64_t> users(capacities.size(), 0);
  std::vector<std::size_t> used;
  for (const FairFlow& flow : flows) {
    for (const LinkId link : *flow.links) {
      if (users[link.index()]++ == 0) used.push_back(link.index());
      left[link.index()] = capacities[link.index()];
    }
  }
  for (std::size_t remaining = flows.size(); remaining > 0;) {
    double level = kInfinite;
    for (const std::size_t link : used) {
      if (users[link] > 0) level = std::min(level, left[link] / static_cast<double>(users[link]));
    }
    // Flows that reach their own limit first keep it; otherwise the tightest link stops its flows.
    double limit = kInfinite;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (fixed[f] == 0 && flows[f].limit > 0) limit = std::min(limit, flows[f].limit);
    }
    const bool by_limit = limit <= level;
    const double rate = by_limit ? limit : level;
    std::vector<char> full(capacities.size(), 0);
    if (!by_limit) {
      for (const std::size_t link : used) {
        full[link] = static_cast<char>(users[link] > 0 &&
                                       left[link] / static_cast<double>(users[link]) <= level);
      }
    }
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (fixed[f] != 0) continue;
      const auto is_full = [&](LinkId link) { return full[link.index()] != 0; };
      const bool stops =
          by_limit ? flows[f].limit > 0 && flows[f].limit <= rate
                   : level == kInfinite ||
                         std::any_of(flows[f].links->begin(), flows[f].links->end(), is_full);
      if (!stops) continue;
      fixed[f] = 1;
      rates[f] = rate;
      --remaining;
      for (const LinkId link : *flows[f].links) {
        --users[link.index()];
        left[link.index()] = std::max(0.0, left[link.index()] - rate);
      }
    }
  }
  return rates;
}

}  // namespace egret::parallel
