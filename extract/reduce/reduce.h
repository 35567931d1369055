// SPDX-License-Identifier: Apache-2.0
// Takes away from a core what cannot matter, until nothing more is found (in a large core: little).
// An answer of what is left is, lifted, an answer of what was there, and no better one is lost.
//
//   unreachable   classes that no required one reaches
//   free          classes with a candidate that costs nothing and needs nothing
//   required      classes that every answer chooses: those with one candidate are paid, and needs
//                 of required classes are met without being asked for
//   implied       a need that another need of the same candidate implies: a class that every
//                 term of the other contains
//   dominated     a candidate that needs, directly or not, all that a cheaper one needs
//   inlined       a class that one candidate alone needs is multiplied into it; a class whose only
//                 candidate costs nothing is put in its place everywhere
//   expensive     a candidate with which even the least that it implies is above a known answer
//
// Needs order choices too: what is needed must not contain what needs it. A need is therefore
// dropped only where no cycle can run through it (another strong component), or where a path of
// other needs leads there in every answer.
//
// Marked candidates are neither paid, free, put in other places nor dominated, and dominate none:
// what holds of the rest of an answer still does, but not whether rows allow it.
//
// With negative costs only what keeps every choice is done: unreachable, required, implied,
// inlined.
#pragma once

#include "extract/core/core.h"

namespace egret::extract {

struct ReduceOptions {
  // Of some answer of the core, `paid` included: answers above it are of no interest. Equal ones
  // are kept.
  double known_cost = std::numeric_limits<double>::infinity();
  std::function<bool()> should_stop;
};

// The problem tells which class picks are of.
void reduce(Core& core, const Problem& problem, const ReduceOptions& options);

}  // namespace egret::extract
