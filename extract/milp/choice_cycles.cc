// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/choice_cycles.h"

#include <algorithm>
#include <utility>

namespace egret::extract {

// A depth-first search with an explicit stack. Each back edge gives one cycle, so at least one
// cycle is found if there is any. O(needs + total length of the cycles).
std::vector<std::vector<ClassIndex>> cycles_of(const Core& core,
                                               std::span<const NodeIndex> chosen) {
  std::vector<std::vector<ClassIndex>> cycles;
  enum : char { kNew, kOpen, kDone };
  std::vector<char> state(chosen.size(), kNew);
  struct Frame {
    ClassIndex c;
    std::size_t need;  // the next one to follow
  };
  std::vector<Frame> path;  // the open classes
  for (ClassIndex start = 0; start < chosen.size(); ++start) {
    if (chosen[start] == kNoNode || state[start] != kNew) continue;
    path.push_back({start, 0});
    state[start] = kOpen;
    while (!path.empty()) {
      Frame& frame = path.back();
      const auto& needs = core.classes[frame.c][chosen[frame.c]].needs;
      if (frame.need == needs.size()) {
        state[frame.c] = kDone;
        path.pop_back();
        continue;
      }
      const ClassIndex need = needs[frame.need++];
      // A class without a choice needs nothing. A finished class is on no cycle with the path, or
      // the cycle was found already.
      if (chosen[need] == kNoNode || state[need] == kDone) continue;
      if (state[need] == kNew) {
        state[need] = kOpen;
        path.push_back({need, 0});
        continue;
      }
      // The edge leads back to an open class: the path from there on is a cycle.
      std::vector<ClassIndex> cycle;
      for (std::size_t i = path.size(); i-- > 0 && path[i].c != need;) cycle.push_back(path[i].c);
      cycle.push_back(need);
      std::sort(cycle.begin(), cycle.end());
      cycles.push_back(std::move(cycle));
    }
  }
  return cycles;
}

}  // namespace egret::extract
