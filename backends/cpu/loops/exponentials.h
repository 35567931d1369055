// SPDX-License-Identifier: Apache-2.0
// The expensive parts of softmax, for kernels that hold a row in the cache.
#pragma once

#include <cstdint>

namespace egret::backends::cpu {

// y[i] = exp(x[i] - max x) of a row of n > 0 elements, and their sum. May work in place.
float exponentials(const float* x, float* y, std::int64_t n);

// The same with a given number that is not below the maximum in the place of the maximum.
float exponentials_below(const float* x, float top, float* y, std::int64_t n);

// The largest of n > 0 elements; NaN if one is NaN.
float largest(const float* x, std::int64_t n);

// y[i] = factor * x[i]. May work in place.
void scaled(const float* x, float factor, float* y, std::int64_t n);

// Divides each of `count` rows of n elements by its sum; the sums become 1.
void divide_rows(float* rows, float* sums, std::int64_t count, std::int64_t n);

// Whether none of n elements is an infinity or NaN.
bool all_finite(const float* x, std::int64_t n);

}  // namespace egret::backends::cpu
