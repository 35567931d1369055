// SPDX-License-Identifier: Apache-2.0
// The number of neighbouring elements that a GPU thread takes at a time.
//
// A GPU moves 16 bytes a thread with one instruction. Loading elements one by one leaves much of
// its memory bandwidth unused, the more the narrower they are. The innermost variable of a loop may
// therefore advance by packs: a thread then reads one pack of a tensor, where neighbouring elements
// are contiguous and aligned to the pack.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/core/tensor_type.h"
#include "ir/nest/loop_nest.h"

namespace egret::backends::codegen {

// With fewer packs than these, elements are taken one by one. (Tests set them lower, for packs of
// small tensors.)
struct LeastPacks {
  std::int64_t of_all = 1 << 15;  // with fewer threads memory latency dominates
  std::int64_t of_row = 32;       // one for each thread of a warp
};

class Packing {
 public:
  // `inputs` and `output`: the types of the nest's tensors.
  Packing(const ir::LoopNest& nest, std::span<const ir::TensorType> inputs, ir::DType output,
          const LeastPacks& least)
      : nest_(nest), inputs_(inputs), output_(output), least_(least) {}

  // Elements of a pack for a loop over all values of `symbols`, innermost last: a power of two that
  // divides the extent of the last one; 1 where packs do not pay.
  enum class Loop : std::uint8_t {
    kLanes,     // split over all threads; stores the output
    kRows,      // split over blocks of threads; stores the output
    kRowLanes,  // split over the threads of a row; stores the output
    kTerms,     // of a reduction, split over the threads of a row
  };
  int width(const std::vector<int>& symbols, Loop loop) const;

  // Whether every read that depends on the symbol has stride 1 in it.
  bool reads_along(int symbol) const;

  // Whether `form`, over the values of `symbol` that make a pack, is contiguous and aligned to the
  // pack.
  bool is_pack(const ir::Affine& form, int symbol, int width) const;
  // Whether the read is such a pack, and either wholly in range or not at all.
  bool reads_pack(const ir::NestNode& node, int symbol, int width) const;
  // Whether the guard has one answer for each pack: that of its first value.
  bool is_one(int guard, int symbol, int width) const;

 private:
  bool depends(ir::VariableSet on, int symbol) const {
    return (on & nest_.symbol(symbol).depends) != 0;
  }
  bool is_worthwhile(int symbol, int width, bool writes) const;
  std::vector<bool> behind_guards(int symbol, int width) const;
  int most(int symbol, bool writes) const;
  bool begins_packs(const ir::Affine& form, int symbol, int width) const;
  bool is_free(const ir::Affine& form, int symbol) const;

  const ir::LoopNest& nest_;
  std::span<const ir::TensorType> inputs_;
  ir::DType output_;
  LeastPacks least_;
};

}  // namespace egret::backends::codegen
