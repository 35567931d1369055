// SPDX-License-Identifier: Apache-2.0
// The value of a pointwise region that is computed where it is read, and never stored.
//
// The kernel that reads the value asks for pieces of it. A piece stays in the first-level cache.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "backends/cpu/regions/region_inputs.h"

namespace egret::backends::cpu {

class LazyRegion {
 public:
  // `nodes` ascending, all pointwise, the last is the root, of type f32. Adds reorders of inputs
  // where strides cannot express them. Unsupported if the region has too many values, or a layout
  // that its readers cannot follow (blocks of channels).
  static base::Result<LazyRegion> make(PlanBuilder& builder, std::span<const ir::NodeId> nodes);

  // The layout of the value, dense. Pieces are counted in the order of this memory.
  const Layout& layout() const { return layout_; }
  // The inputs and the scratch space, for PlanBuilder::add().
  std::vector<Operand> touched() const;
  std::size_t instructions() const { return program_.code.size(); }

  // Where one thread computes. `part` < the plan's threads.
  class Reader {
   public:
    Reader(const LazyRegion& region, const Addresses& addresses, int part);
    // Elements [offset, offset + count) in the order of memory, count <= kBlockElements. Valid
    // until the next call.
    const float* at(std::int64_t offset, int count);

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
  std::vector<bool> in_place_;  // by input: f32 in the value's own order
  ir::Shape loops_;             // in the order of memory, outermost first
  Layout layout_;
  Operand registers_;
};

}  // namespace egret::backends::cpu
