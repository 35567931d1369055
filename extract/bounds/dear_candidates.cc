// SPDX-License-Identifier: Apache-2.0
#include "extract/bounds/dear_candidates.h"

#include <cmath>

namespace egret::extract {

bool drop_dear(Core& core, const FlatCore& flat, const DualAscent& dual, double known_cost) {
  constexpr double kTolerance = 1e-9;  // of the cost
  const std::vector<double> least = least_costs(core, flat, dual);
  const double most = known_cost - core.paid + kTolerance * std::abs(known_cost);
  bool dropped = false;
  CandidateIndex next = 0;
  for (auto& candidates : core.classes) {
    const auto gone =
        std::erase_if(candidates, [&](const Candidate&) { return least[next++] > most; });
    dropped = dropped || gone > 0;
  }
  return dropped;
}

}  // namespace egret::extract
