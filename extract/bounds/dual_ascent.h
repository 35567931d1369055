// SPDX-License-Identifier: Apache-2.0
// A lower bound without a linear program: dual ascent, as for Steiner arborescences (Wong 1984), on
// cuts that take cycles into account.
//
// A set of classes that contains a required one is a cut. Every answer chooses, for some class of
// the set, a candidate that needs no class of the set; otherwise it would be infinite or cyclic.
// Each cut may have a price. A candidate is charged by every cut that it leads out of. The prices
// add up to a lower bound as long as no candidate is charged more than its cost. Required classes
// are processed one after the other. The cut grows from the class through fully charged candidates,
// into one need of each that has no free term yet. Its price rises until another candidate is fully
// charged. This repeats until the class is free, that is, has a term of fully charged candidates.
//
// The need to enter is a free choice. The need with the longest chain of costs below it is by far
// the best: the decisive chain is priced first, and what lies beside it afterwards.
//
// The remaining costs have further uses. An answer with a candidate of remaining cost r costs at
// least the bound plus r. Good answers are found among fully charged candidates. Prices with their
// charges are rows that tighten a linear program.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "extract/core/flat_core.h"

namespace egret::extract {

struct DualAscent {
  // In each answer, the chosen candidates, weighted by their charges, add up to at least `price`.
  struct Row {
    double price = 0;
    std::vector<std::pair<CandidateIndex, double>> charges;  // may name a candidate repeatedly
  };

  double bound = 0;          // without Core::paid
  std::vector<double> rest;  // per candidate: cost not charged; not negative
  std::vector<Row> rows;     // their prices add up to the bound, but for what is left out
};

struct DualAscentOptions {
  std::span<const double> costs{};  // per candidate, not negative; empty: the core's
  // The number of cuts after which chains are measured again on the remaining costs; 0: never
  // again.
  int refresh = 0;
  std::uint64_t seed = 0;  // other than 0: the lengths of chains are blurred
  // The total price in one row; infinite: no rows.
  double row_price = std::numeric_limits<double>::infinity();
  std::function<bool()> should_stop{};
};

// For cores without negative costs. If stopped, returns what is proven so far.
DualAscent dual_ascent(const Core& core, const FlatCore& flat, const DualAscentOptions& options);

// For each candidate, a lower bound on the cost of answers that choose it (without Core::paid): the
// bound, plus the remaining costs on the cheapest path to it from a required class, plus those of a
// chain below it.
std::vector<double> least_costs(const Core& core, const FlatCore& flat, const DualAscent& dual);

}  // namespace egret::extract
