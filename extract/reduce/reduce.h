// SPDX-License-Identifier: Apache-2.0
// Shrinks a core until no reduction finds more (in a large core: until one finds little). An answer
// of what is left is, lifted, an answer of the core as it was, and no better answer is lost.
//
// Each reduction is a function in a file of its own; reduce.cc lists them in their order.
//
//   unreachable   drops classes that no required one reaches
//   free          settles classes with a candidate that costs nothing and needs nothing
//   required      pays for classes that every answer chooses by their only candidate, and drops
//                 needs of required classes
//   implied       drops a need that another need of the same candidate implies: a class that every
//                 term of the other contains
//   dominated     drops a candidate that needs, directly or not, all that a cheaper one needs
//   inlined       multiplies a class that one candidate alone needs into that candidate; replaces a
//                 class whose only candidate costs nothing by that candidate's needs
//   expensive     drops a candidate with which even the least that it implies is above a known
//                 answer
//
// Needs order choices too: a term of what is needed must not contain what needs it. A need is
// therefore dropped only where no cycle can run through it (it lies in another strong component),
// or where a path of other needs leads there in every answer.
//
// Marked candidates are neither paid, free, inlined nor dominated, and they dominate none: rows
// beside the costs may forbid what the costs alone allow.
//
// With negative costs only the reductions that keep every choice are done: unreachable, required,
// implied, inlined.
#pragma once

#include "extract/core/core.h"

namespace egret::extract {

struct ReduceOptions {
  // The cost of some answer of the core, `paid` included. Answers above it may be lost, equal ones
  // are kept.
  double known_cost = std::numeric_limits<double>::infinity();
  std::function<bool()> should_stop;
};

// `problem` is the one that the core was made of.
void reduce(Core& core, const Problem& problem, const ReduceOptions& options);

}  // namespace egret::extract
