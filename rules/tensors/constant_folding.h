// SPDX-License-Identifier: Apache-2.0
// Constant folding: computes once, before the first run, what depends on weights alone.
//
// Unlike the folding in backends/prepare.h, the result is a program of its own: it is written and
// compared with the original, so the interpreter computes it, in f64, and the same for all
// backends. A backend folds the rest for one plan, with its own kernels.
//
// A region of constant-only operators is evaluated in f64 by the reference interpreter and rounded
// once, where its value leaves the region. Folding thus adds less rounding error than running the
// operators. If nothing in the region rounds (concatenated weights), f32 is equally exact and needs
// half the memory. If the region decides something (rules/tensors/jumps.h: rounding to integers,
// comparisons), it is evaluated in f32, as the model would run, so that it decides the same. For
// example, a quotient may be 127.49999 in f32 and 127.5 in f64, and only the former rounds to 127.
// Folding must not enlarge a model: a value much larger than the weights it is made of (a
// broadcast, a fill) stays computed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "base/hash.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::rules {

// A cache of folded values for graphs over the same constants. An operator on the same constants is
// evaluated once, and its value is stored once.
class FoldedValues {
 public:
  const ir::Tensor* find(const base::ContentHash& key) const;
  void keep(const base::ContentHash& key, ir::Tensor value);

 private:
  std::map<base::ContentHash, ir::Tensor> values_;
};

struct FoldOptions {
  // A folded value may have this many bytes in any case. Otherwise it may have at most `growth`
  // times the bytes of all constants on which it depends.
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

// The program with its constant-only values folded into constants, which keep the values' names.
// Fails if the interpreter fails (an integer division by zero, a stop).
base::Result<ir::Graph> fold_constants(const ir::Graph& graph, const FoldOptions& options = {},
                                       FoldReport* report = nullptr);

}  // namespace egret::rules
