// SPDX-License-Identifier: Apache-2.0
// Differences of two tensors, and which of their elements rounding does not explain: the parts of
// OutputCheck that know nothing of samples.
#pragma once

#include <cstdint>
#include <vector>

#include "driver/measure/output_check.h"
#include "ir/core/tensor.h"

namespace egret::driver {

// Unit roundoff of the type that an output is stored in: of f32 also for f64, because fast kernels
// compute in f32.
double roundoff(ir::DType type);

// The largest finite difference of two tensors, and the largest finite element of one. O(elements).
double spread(const ir::Tensor& a, const ir::Tensor& b);
double magnitude(const ir::Tensor& a);
// OutputError::spread.
double own_spread(const ir::Tensor& a);

// Counts the elements that differ by more than error.bound. Infinities must be the same infinity;
// NaN goes with NaN.
void compare_reals(const ir::Tensor& expected, const ir::Tensor& got, OutputError& error);

using Runs = std::vector<std::vector<ir::Tensor>>;  // by run, then by output

// An integer output (an index of a maximum, say) is either right or wrong. An element that changes
// in a disturbed run of the `reference` is left out: rounding alone can change it.
void compare_integers(const ir::Tensor& reference, const Runs& disturbed, std::size_t output,
                      const ir::Tensor& expected, const ir::Tensor& got, OutputError& error);

// The elements of an output that are beyond the bound and not explained. The tensors outlive it.
class Unexplained {
 public:
  // `reference`: the exact values, from which rounding moves elements.
  Unexplained(const ir::Tensor& reference, const ir::Tensor& expected, const ir::Tensor& got,
              double bound);

  bool any() const { return !elements_.empty(); }
  // Drops those that rounding moves as far in this run of the reference; with `anywhere`, as far as
  // it moves any element. Returns how many.
  std::int64_t explain_by(const ir::Tensor& moved, bool anywhere);
  // The largest difference of these and of all elements within the bound.
  double largest() const;

 private:
  double difference(std::int64_t i) const;

  const ir::Tensor& reference_;
  const ir::Tensor& expected_;
  const ir::Tensor& got_;
  double bound_;
  std::vector<std::int64_t> elements_;
};

}  // namespace egret::driver
