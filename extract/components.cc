// SPDX-License-Identifier: Apache-2.0
#include "extract/components.h"

#include <algorithm>
#include <numeric>

namespace egret::extract {
namespace {

class Tarjan {
 public:
  explicit Tarjan(const Core& core)
      : core_(core),
        number_(core.classes.size(), 0),
        low_(core.classes.size(), 0),
        component_(core.classes.size(), kNoNode) {}

  std::vector<std::uint32_t> run() {
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      if (number_[c] == 0) visit(c);
    }
    return std::move(component_);
  }

 private:
  struct Frame {
    ClassIndex c;
    std::size_t candidate = 0;
    std::size_t need = 0;
  };

  void open(ClassIndex c) {
    number_[c] = low_[c] = ++count_;
    open_.push_back(c);
    path_.push_back({c});
  }
  void visit(ClassIndex root) {
    open(root);
    while (!path_.empty()) {
      if (advance(path_.back())) continue;
      const ClassIndex c = path_.back().c;
      path_.pop_back();
      if (!path_.empty()) low_[path_.back().c] = std::min(low_[path_.back().c], low_[c]);
      if (low_[c] == number_[c]) close(c);
    }
  }
  // Looks at one more need; false when there is none left.
  bool advance(Frame& frame) {
    const auto& candidates = core_.classes[frame.c];
    while (frame.candidate < candidates.size()) {
      const auto& needs = candidates[frame.candidate].needs;
      if (frame.need == needs.size()) {
        ++frame.candidate;
        frame.need = 0;
        continue;
      }
      const ClassIndex need = needs[frame.need++];
      if (number_[need] == 0) {
        open(need);
      } else if (component_[need] == kNoNode) {
        low_[frame.c] = std::min(low_[frame.c], number_[need]);
      }
      return true;
    }
    return false;
  }
  void close(ClassIndex c) {
    while (component_[c] == kNoNode) {
      component_[open_.back()] = components_;
      open_.pop_back();
    }
    ++components_;
  }

  const Core& core_;
  std::vector<std::uint32_t> number_;  // from 1, in order of the first visit
  std::vector<std::uint32_t> low_;
  std::vector<std::uint32_t> component_;
  std::vector<ClassIndex> open_;
  std::vector<Frame> path_;
  std::uint32_t count_ = 0;
  std::uint32_t components_ = 0;
};

}  // namespace

std::vector<std::uint32_t> strong_components(const Core& core) { return Tarjan(core).run(); }

std::vector<Part> connected_parts(const Core& core) {
  std::vector<ClassIndex> set(core.classes.size());
  std::iota(set.begin(), set.end(), 0);
  const auto find = [&](ClassIndex c) {
    while (set[c] != c) c = set[c] = set[set[c]];
    return c;
  };
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    for (const Candidate& candidate : core.classes[c]) {
      for (const ClassIndex need : candidate.needs) set[find(need)] = find(c);
    }
  }
  std::vector<bool> wanted(core.classes.size(), false);
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    if (core.required[c]) wanted[find(c)] = true;
  }
  std::vector<Part> parts;
  std::vector<std::uint32_t> part_of(core.classes.size(), kNoNode);
  std::vector<ClassIndex> index(core.classes.size(), kNoNode);
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    const ClassIndex root = find(c);
    if (!wanted[root]) continue;
    if (part_of[root] == kNoNode) {
      part_of[root] = static_cast<std::uint32_t>(parts.size());
      parts.emplace_back();
    }
    Part& part = parts[part_of[root]];
    index[c] = static_cast<ClassIndex>(part.origin.size());
    part.origin.push_back(c);
  }
  for (Part& part : parts) {
    for (const ClassIndex c : part.origin) {
      std::vector<Candidate> candidates = core.classes[c];
      for (Candidate& candidate : candidates) {
        for (ClassIndex& need : candidate.needs) need = index[need];
      }
      part.core.classes.push_back(std::move(candidates));
      part.core.required.push_back(core.required[c]);
    }
  }
  return parts;
}

}  // namespace egret::extract
