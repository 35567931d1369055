// SPDX-License-Identifier: Apache-2.0
// A bound from below without a linear program: dual ascent, as for Steiner arborescences (Wong
// 1984), on cuts that see cycles.
//
// A set of classes that holds a required one is a cut: some class of it is chosen with a candidate
// that needs no class of the set, or the answer would be infinite or circular. Each cut may have a
// price; prices add up to a bound as long as no candidate is charged, by all the cuts that it leads
// out of, more than its cost. Required classes are taken one after the other. The cut grows from
// the class through candidates that are charged in full, into one need of each that has no free
// term yet, and its price rises until another candidate is charged in full; on and on until the
// class has a term of candidates that are, which makes it free.
//
// Which need is entered is up to us. The one with the longest chain of costs below it is by far the
// best: the chain that decides is priced first, and what is beside it afterwards.
//
// What is left of the costs is good for more: an answer with a candidate of which something is left
// costs that much more than the bound at least; good answers are found among the others; and prices
// with what they charge are rows that a linear program is tightened with.
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
  // In each answer the candidates chosen add up to `price` at least, each counted by its charge.
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
  // Cuts after which chains are measured anew, by what is left of the costs; 0: once.
  int refresh = 0;
  std::uint64_t seed = 0;  // other than 0: the lengths of chains are blurred
  // Prices that one row adds up; infinite: no rows.
  double row_price = std::numeric_limits<double>::infinity();
  std::function<bool()> should_stop{};
};

// For cores without negative costs. When stopped: what is proven so far.
DualAscent dual_ascent(const Core& core, const FlatCore& flat, const DualAscentOptions& options);

// Per candidate: what an answer that chooses it costs at least (without Core::paid): the bound, the
// rests on the cheapest way to it from a required class, and those of a chain below it.
std::vector<double> least_costs(const Core& core, const FlatCore& flat, const DualAscent& dual);

}  // namespace egret::extract
