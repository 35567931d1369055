// SPDX-License-Identifier: Apache-2.0
// A core written as an integer program, and answers of the program read back.
//
// Columns: x(c, i) is 1 where candidate i of class c is chosen, then y(c) where class c is.
// Rows:
//
//   choice    sum of x(c, .) = y(c), with y(c) = 1 for required classes
//   need      for a class and another that some of its candidates need: the sum of these candidates
//             is at most what is chosen of the other class, without its candidates that imply the
//             first. As at most one candidate of a class is chosen, this is tighter than a row for
//             each need, and it forbids cycles of two.
//   support   with negative costs: y(c) is at most the sum of the candidates that need c
//   implied   the row of a need, for what candidates imply indirectly
//
// Cycles of more than two classes remain; extract/milp/choice_cycles.h finds them in an answer.
#pragma once

#include <map>
#include <vector>

#include "extract/core/flat_core.h"
#include "extract/core/implied.h"
#include "extract/milp/milp.h"

namespace egret::extract {

// A core with what its program is derived from. The core outlives it and does not change.
struct CoreStructure {
  const Core& core;
  FlatCore flat;
  std::vector<std::uint32_t> components;  // strong component of each class
  Implied implied;

  explicit CoreStructure(const Core& solved);

  bool same_component(ClassIndex a, ClassIndex b) const { return components[a] == components[b]; }
  int column(ClassIndex c, std::size_t candidate) const {
    return static_cast<int>(flat.begin[c] + candidate);
  }
  int column(ClassIndex c) const { return static_cast<int>(flat.size() + c); }
};

// Candidates of one class, ascending, by the other class that they need or imply.
using CandidatesByNeed = std::map<ClassIndex, std::vector<std::size_t>>;
CandidatesByNeed candidates_by_need(const Core& core, ClassIndex c);

// The program without rows against longer cycles. O(size of the core times the length of the lists
// of what is implied).
Milp program_of(const CoreStructure& structure);

// The candidate chosen of each class by values of the columns; kNoNode for none.
std::vector<NodeIndex> chosen_of(const CoreStructure& structure, std::span<const double> values);
// Values of `columns` columns for chosen candidates; those behind the classes' columns are 0.
std::vector<double> values_of(const CoreStructure& structure, std::span<const NodeIndex> chosen,
                              std::size_t columns);

}  // namespace egret::extract
