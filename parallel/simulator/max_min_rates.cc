// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/max_min_rates.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace egret::parallel {

namespace {
constexpr double kInfinite = std::numeric_limits<double>::infinity();
}

MaxMinRates::MaxMinRates(const std::vector<double>& capacities)
    : capacities_(capacities),
      left_(capacities.size()),
      users_(capacities.size(), 0),
      full_(capacities.size(), 0) {}

const std::vector<double>& MaxMinRates::operator()(std::span<const FairFlow> flows) {
  rates_.assign(flows.size(), kInfinite);
  used_.clear();
  for (const FairFlow& flow : flows) {
    for (const LinkId link : flow.links) {
      if (users_[link.index()]++ > 0) continue;
      used_.push_back(link.index());
      left_[link.index()] = capacities_[link.index()];
    }
  }
  rising_.resize(flows.size());
  std::iota(rising_.begin(), rising_.end(), 0);
  while (!rising_.empty()) {
    double level = kInfinite;
    for (const std::uint32_t link : used_) {
      if (users_[link] > 0) level = std::min(level, left_[link] / users_[link]);
    }
    double limit = kInfinite;
    for (const std::uint32_t f : rising_) {
      if (flows[f].limit > 0) limit = std::min(limit, flows[f].limit);
    }
    const bool by_limit = limit <= level;
    const double rate = std::min(limit, level);
    for (const std::uint32_t link : used_) {
      full_[link] = static_cast<unsigned char>(!by_limit && users_[link] > 0 &&
                                               left_[link] / users_[link] <= level);
    }
    const auto stops = [&](std::uint32_t f) {
      if (rate == kInfinite) return true;
      if (by_limit) return flows[f].limit > 0 && flows[f].limit <= rate;
      return std::any_of(flows[f].links.begin(), flows[f].links.end(),
                         [&](LinkId link) { return full_[link.index()] != 0; });
    };
    std::erase_if(rising_, [&](std::uint32_t f) {
      if (!stops(f)) return false;
      rates_[f] = rate;
      for (const LinkId link : flows[f].links) {
        --users_[link.index()];
        left_[link.index()] = std::max(0.0, left_[link.index()] - rate);
      }
      return true;
    });
  }
  return rates_;
}

}  // namespace egret::parallel
