// SPDX-License-Identifier: Apache-2.0
// The dependence of an element on a value that is not yet complete, where the result can be
// corrected later (parallel/ring/ring.h).
//
// Let t be the value, aligned with the result: an element of the result reads one element of t,
// that at its own indices, counted from the last dimension, where t has more than one. The element
//
//   is shifted by t   where it is x + t or x - t, x free of t,
//   is scaled by t    where it is x * exp(t) or x * exp(-t): exp of what is shifted, and whatever
//                     is linear in what is scaled (parallel/laws/homogeneous_laws.h),
//   is divided by t   where it is x / t, and whatever is linear in that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/graph/definition.h"

namespace egret::parallel {

struct Factor {
  enum class Kind : std::uint8_t { kFree, kItself, kShifted, kScaled, kDivided };
  Kind kind = Kind::kFree;
  int sign = 0;  // of t; of kShifted and kScaled

  bool is_free() const { return kind == Kind::kFree; }
  friend bool operator==(const Factor&, const Factor&) = default;
};

// The element's dependence on t, given that of its inputs; nullopt: another dependence. `types` are
// the inputs', `value` is t's.
std::optional<Factor> factor_of(const ir::Denotation& denotation,
                                std::span<const ir::TensorType> types,
                                std::span<const Factor> inputs, const ir::TensorType& value);

// The input that is the numerator of a quotient, read at the result's own indices; nullopt
// otherwise.
std::optional<std::size_t> numerator_of(const ir::Denotation& denotation);

// Whether the element is exp of something, the function that turns sums into products.
bool is_exponential(const ir::Denotation& denotation);

}  // namespace egret::parallel
