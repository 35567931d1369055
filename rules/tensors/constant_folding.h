// SPDX-License-Identifier: Apache-2.0
// What depends on weights alone is computed once, before the first run.
//
// Unlike the folding in backends/prepare.h, the result is a program of its own: it is written and
// compared with the original, so the interpreter computes it, in f64, and the same for all
// backends. A backend folds the rest for one plan, with its own kernels.
//
// A region of constant-only operators is evaluated in f64 by the reference interpreter and rounded
// once, where its value leaves the region, so that folding adds less rounding error than running
// the operators would. Where nothing rounds (weights side by side), f32 is as good and half the
// memory. Where the region decides something (rules/tensors/jumps.h: it rounds to integers,
// compares) it is evaluated in f32 instead, as the model would run, so that it decides the same: of
// a quotient that f32 makes 127.49999 and f64 127.5, only the former rounds to 127. Folding must
// not blow a model up: a value that is much larger than the weights it is made of (a broadcast, a
// fill) stays computed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "base/hash.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::rules {

// Folded values, for graphs that are made of the same constants: what an operator gives on the same
// constants is not computed again, and held once.
class FoldedValues {
 public:
  const ir::Tensor* find(const base::ContentHash& key) const;
  void keep(const base::ContentHash& key, ir::Tensor value);

 private:
  std::map<base::ContentHash, ir::Tensor> values_;
};

struct FoldOptions {
  // A folded value may have this many bytes in any case, and else at most so many times the bytes
  // of all the constants that it depends on.
  std::int64_t small_bytes = 64 * 1024;
  double growth = 1.5;
  std::function<bool()> should_stop{};
  FoldedValues* known = nullptr;  // of graphs before; nothing is known without
};

struct FoldReport {
  std::size_t folded = 0;         // operators that are gone
  std::size_t constants = 0;      // values that became constants
  std::int64_t bytes_before = 0;  // of constants that the program needs
  std::int64_t bytes_after = 0;
};

// The program with its constant-only values as constants, which keep the values' names. Fails when
// the interpreter does (a division of integers by zero, a stop).
base::Result<ir::Graph> fold_constants(const ir::Graph& graph, const FoldOptions& options = {},
                                       FoldReport* report = nullptr);

}  // namespace egret::rules
