// SPDX-License-Identifier: Apache-2.0
// The levels at which values are computed and last used, in a run with little memory: each value
// right before its first use, and unused results as soon as possible.
//
// Time is counted in levels: the depth of a value in the program. A rewritten value has the level
// of the value that uses it.
#pragma once

#include <vector>

#include "rules/tensors/tensor_egraph.h"

namespace egret::parallel {

// The classes of a program that the outputs need, each after those that it is computed from.
// O(its nodes).
std::vector<egraph::ClassId> operands_first(const rules::TensorEGraph& tensors,
                                            const rules::Selection& program);

class Schedule {
 public:
  // The e-graph is clean and outlives this. O(its nodes), times the depth of what rules added.
  explicit Schedule(const rules::TensorEGraph& tensors);

  // Levels from the one at which a value is computed to that of its last use.
  struct Lifetime {
    int from = 0;
    int to = 0;
  };
  Lifetime of(egraph::ClassId value) const {
    return lifetimes_[tensors_.egraph().find(value).index()];
  }
  int levels() const { return levels_; }

 private:
  void set_levels_of_program();
  void set_levels_of_rewritten();
  void set_last_uses();

  const rules::TensorEGraph& tensors_;
  const rules::Selection original_;
  std::vector<Lifetime> lifetimes_;  // by class
  std::vector<bool> known_;
  int levels_ = 0;
};

}  // namespace egret::parallel
