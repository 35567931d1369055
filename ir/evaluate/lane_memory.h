// SPDX-License-Identifier: Apache-2.0
// Moving runs of elements between tensors of any type and arrays of f64 or int64 lanes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/core/dtype.h"

namespace egret::ir {

// Elements first, first + stride, ... of the tensor data, `count` of them, into `to`.
void load_lanes(DType type, const std::byte* data, std::int64_t first, std::int64_t stride,
                std::int64_t count, double* to);
void load_lanes(DType type, const std::byte* data, std::int64_t first, std::int64_t stride,
                std::int64_t count, std::int64_t* to);

// Elements at offsets[0 .. count), those with mask[i] != 0 where there is a mask.
void gather_lanes(DType type, const std::byte* data, const std::int64_t* offsets,
                  const std::uint8_t* mask, std::int64_t count, double* to);
void gather_lanes(DType type, const std::byte* data, const std::int64_t* offsets,
                  const std::uint8_t* mask, std::int64_t count, std::int64_t* to);

// The converse of load_lanes(). Reals into an integer type truncate and wrap.
void store_lanes(DType type, std::byte* data, std::int64_t first, std::int64_t stride,
                 std::int64_t count, const double* from);
void store_lanes(DType type, std::byte* data, std::int64_t first, std::int64_t stride,
                 std::int64_t count, const std::int64_t* from);

}  // namespace egret::ir
