// SPDX-License-Identifier: Apache-2.0
// Kinds of operands and sizes of tiles of a contraction on the tensor cores of a GPU.
//
// A block of threads computes `rows` x `columns` sums, each warp of it `warp_rows` x
// `warp_columns`. Both factors pass through shared memory in stages of kStageBytes along the sum:
// two instructions deep, whatever the type of the terms.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/codegen/contractions/contraction_form.h"

namespace egret::backends::codegen {

// The operands of the instruction mma.sync: of 16 rows, 8 columns and kFragmentBytes of terms.
// Sums are f32, or i32 for the last four (the signs of left and right).
enum class Fragments : std::uint8_t { kNone, kF16, kBF16, kTF32, kS8S8, kS8U8, kU8S8, kU8U8 };

constexpr int kFragmentBytes = 32, kStageBytes = 2 * kFragmentBytes;
constexpr int kWarpThreads = 32;

int term_bytes(Fragments fragments);
bool is_integer(Fragments fragments);

// How the tensor cores may be used. f32 operands may be rounded to TF32 only where `tf32` says so.
struct TensorCores {
  bool has = false;  // a GPU of compute capability 8.0 or more
  bool tf32 = false;
};

// kNone where the factors' values fit no kind, or where sums are wider than 32 bits. Time: linear
// in the size of the factors.
Fragments fragments_of(const ContractionForm& form, std::span<const ir::TensorType> inputs,
                       ir::DType output, const TensorCores& cores);

struct TensorCoreTiles {
  int rows = 64, columns = 64;
  int warp_rows = 32, warp_columns = 32;  // multiples of 16
  int stages = 2;

  int warps() const { return rows / warp_rows * (columns / warp_columns); }
  int threads() const { return warps() * kWarpThreads; }
  bool operator==(const TensorCoreTiles&) const = default;
};

// All shapes, by the time that a simple model expects, least first: waves of blocks on the
// multiprocessors of a large GPU, each as long as its products and its loads. Deterministic.
std::vector<TensorCoreTiles> tensor_core_tiles(const ContractionForm& form);

}  // namespace egret::backends::codegen
