// SPDX-License-Identifier: Apache-2.0
// How many neighbouring elements a thread of a GPU takes at a time.
//
// A GPU moves 16 bytes a thread with one instruction, and loading elements one by one leaves much
// of its memory's speed unused, the more the narrower they are. So the innermost of a loop's
// variables may be taken a pack at a time: what a thread reads of a tensor is then one pack, where
// the offsets of neighbours are neighbours and begin at multiples of the pack.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/core/tensor_type.h"
#include "ir/nest/loop_nest.h"

namespace egret::backends::codegen {

// With fewer packs than these to share out, elements are taken one by one. (Tests want packs of
// small tensors too.)
struct LeastPacks {
  std::int64_t of_all = 1 << 15;  // with fewer threads a GPU waits for memory whatever each loads
  std::int64_t of_row = 32;       // one for each thread of a warp
};

class Packing {
 public:
  // `inputs` and `output`: the types of what the nest reads and writes.
  Packing(const ir::LoopNest& nest, std::span<const ir::TensorType> inputs, ir::DType output,
          const LeastPacks& least)
      : nest_(nest), inputs_(inputs), output_(output), least_(least) {}

  // Elements of a pack for a loop over all values of `symbols`, innermost last: a power of two that
  // divides the extent of the last one; 1 where packs are of no use.
  enum class Loop : std::uint8_t {
    kLanes,     // that all threads share out, and that stores the output
    kRows,      // that blocks of threads share out, likewise
    kRowLanes,  // that the threads of a row share out, likewise
    kTerms,     // of a reduction that they share out
  };
  int width(const std::vector<int>& symbols, Loop loop) const;

  // Whether all that depends on the symbol is read at neighbouring places for its values.
  bool reads_along(int symbol) const;

  // Whether what `form` says for the values of `symbol` that make a pack is a pack of elements.
  bool is_pack(const ir::Affine& form, int symbol, int width) const;
  // Whether what a node reads is, all of it in range or none.
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
