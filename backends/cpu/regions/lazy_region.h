// SPDX-License-Identifier: Apache-2.0
// Values of a pointwise region that are computed where they are read.
//
// The kernel that reads the values asks for pieces of them. A piece stays in the first-level cache.
// Values that other kernels need are stored in the same pass.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "backends/cpu/regions/region_inputs.h"

namespace egret::backends::cpu {

class LazyRegion {
 public:
  // `nodes` ascending, all pointwise. `read`: nodes inside or outside, of type f32 and one shape;
  // `stored`: nodes inside, of the same. Adds reorders of inputs where strides cannot express them.
  // Unsupported if the region has too many values, or a layout that its readers cannot follow
  // (blocks of channels). Stored values get their places in place_outputs().
  static base::Result<LazyRegion> make(PlanBuilder& builder, std::span<const ir::NodeId> nodes,
                                       std::span<const ir::NodeId> read,
                                       std::span<const ir::NodeId> stored = {});
  // Once it is certain that the kernel is made.
  void place_outputs(PlanBuilder& builder, std::span<const ir::NodeId> stored);

  // The layout of the values, dense. Pieces are counted in the order of this memory.
  const Layout& layout() const { return layout_; }
  // Inputs, outputs and the scratch space, for PlanBuilder::add().
  std::vector<Operand> touched() const;
  std::size_t instructions() const { return program_.code.size(); }

  // Where one thread computes. `part` < the plan's threads.
  class Reader {
   public:
    Reader(const LazyRegion& region, const Addresses& addresses, int part);
    // Computes elements [offset, offset + count) in the order of memory, count <= kBlockElements.
    void compute(std::int64_t offset, int count);
    // Those of the value with this number among `read`. Valid until the next call of compute().
    const float* value(std::size_t which) const {
      return registers_[static_cast<std::size_t>(region_.program_.read[which])];
    }

   private:
    float* load(std::size_t input, std::int64_t offset, std::int64_t count) const;

    const LazyRegion& region_;
    const Addresses addresses_;
    std::array<float*, kMostRegisters> own_;        // memory of each register
    std::array<float*, kMostRegisters> registers_;  // where its values are now
  };

 private:
  PointwiseProgram program_;
  std::vector<RegionInput> inputs_;
  std::vector<Operand> outputs_;  // of the program's results
  std::vector<bool> in_place_;    // by input: f32 in the values' own order
  ir::Shape loops_;               // in the order of memory, outermost first
  Layout layout_;
  Operand registers_;
};

}  // namespace egret::backends::cpu
