// SPDX-License-Identifier: Apache-2.0
// The result of following a choice from the roots.
#pragma once

#include <span>
#include <vector>

#include "extract/core/extractor.h"

namespace egret::extract {

struct ChoiceWalk {
  enum class Outcome : std::uint8_t { kComplete, kMissing, kCyclic };

  Outcome outcome = Outcome::kComplete;
  ClassIndex culprit = 0;         // of kMissing and kCyclic
  std::vector<ClassIndex> order;  // reached classes, children before parents
  double dag_cost = 0;            // in that order, so equal walks add up to equal bits
};

// O(nodes reached). Iterative, because terms may be deep.
ChoiceWalk walk_choice(const Problem& problem, std::span<const NodeIndex> choice);

// As walk_choice(), with reusable buffers: for searches that try many choices.
class ChoiceWalker {
 public:
  explicit ChoiceWalker(const Problem& problem)
      : problem_(problem), state_(problem.graph.class_count(), 0) {}

  const ChoiceWalk& walk(std::span<const NodeIndex> choice);

 private:
  struct Frame {
    ClassIndex c;
    std::uint32_t next_child;
  };

  const Problem& problem_;
  std::vector<std::uint32_t> state_;  // epoch: on the path; epoch + 1: done; less: not reached
  std::uint32_t epoch_ = 0;
  std::vector<Frame> path_;
  ChoiceWalk result_;
};

}  // namespace egret::extract
