// SPDX-License-Identifier: Apache-2.0
#include "extract/reduce/unreachable.h"

#include <utility>

namespace egret::extract {
namespace {

std::vector<bool> reached_from_required(const Core& core) {
  std::vector<bool> reached = core.required;
  std::vector<ClassIndex> queue;
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    if (reached[c]) queue.push_back(c);
  }
  while (!queue.empty()) {
    const ClassIndex c = queue.back();
    queue.pop_back();
    for (const Candidate& candidate : core.classes[c]) {
      for (const ClassIndex need : candidate.needs) {
        if (!reached[need]) reached[need] = true, queue.push_back(need);
      }
    }
  }
  return reached;
}

}  // namespace

// Keeps the classes that some required class reaches through any candidates, and renumbers them in
// order. Other classes are in no answer.
bool drop_unreachable(Core& core) {
  const std::vector<bool> reached = reached_from_required(core);
  std::vector<ClassIndex> index(core.classes.size(), kNoNode);
  ClassIndex count = 0;
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    if (!reached[c]) continue;
    index[c] = count;
    if (count != c) core.classes[count] = std::move(core.classes[c]);
    core.required[count++] = core.required[c];
  }
  if (count == core.classes.size()) return false;
  core.classes.resize(count);
  core.required.resize(count);
  for (auto& candidates : core.classes) {
    for (Candidate& candidate : candidates) {
      for (ClassIndex& need : candidate.needs) need = index[need];
    }
  }
  return true;
}

}  // namespace egret::extract
