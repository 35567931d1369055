// SPDX-License-Identifier: Apache-2.0
// Real numbers that stand for indices while an instance is generalized: the elements of a constant
// of integers are open, but the facts of a tensor give them as a real number
// (rules/language/real_expressions.h). While an object lives, comparisons in conditions see the
// index instead, on this thread.
#pragma once

#include <functional>
#include <optional>

#include "ir/core/denotation.h"

namespace egret::rules {

class IndexNumbers {
 public:
  // nullopt: the number stands for itself.
  using Lookup = std::function<std::optional<ir::Index>(double)>;
  explicit IndexNumbers(Lookup lookup);
  ~IndexNumbers();
  IndexNumbers(const IndexNumbers&) = delete;
  IndexNumbers& operator=(const IndexNumbers&) = delete;

  // By the innermost object of this thread, if there is one.
  static std::optional<ir::Index> of(double number);

 private:
  Lookup lookup_;
  const IndexNumbers* outer_;
};

}  // namespace egret::rules
