// SPDX-License-Identifier: Apache-2.0
// How kernels of pointwise regions read their inputs: through strides, in the order of the memory
// of the region's value.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/loops/pointwise_program.h"
#include "backends/cpu/plan/plan_builder.h"

namespace egret::backends::cpu {

// An input of a region, and how its elements follow the loops over the region's value.
struct RegionInput {
  Operand operand;
  ir::Shape strides;    // in elements, outermost loop first; 0 where it repeats
  bool direct = false;  // read in place
};

// The layout of the computation: that of an input with the shape of the region's value, blocked
// ones first.
Layout choose_layout(const PlanBuilder& builder, const PointwiseProgram& program,
                     const ir::Shape& shape);

// Chooses where to read `id` from, adding a reorder where strides cannot express it. False if that
// is impossible, which happens with blocked layouts alone.
bool place_input(PlanBuilder& builder, ir::NodeId id, const ir::Shape& out, const Layout& layout,
                 RegionInput& input);

// The place of the result with this number, which is the value of `id`. The last reader of an input
// of the same type and layout writes over it, unless another value is written there already, which
// its buffer's readers tell.
Operand place_output(PlanBuilder& builder, const PointwiseProgram& program,
                     std::span<const RegionInput> inputs, std::size_t result, ir::NodeId id,
                     const Layout& layout);

// The loops over a value of this dense layout, in the order of its memory, outermost first. Those
// that all inputs continue are merged. `inputs` get strides in these loops.
ir::Shape join_loops(const Layout& layout, const ir::Shape& shape,
                     std::vector<RegionInput>& inputs);

// Gathers rows x inner elements, from element `at` of the operand, as floats into `to`. Strides are
// in elements.
void copy_rows(const Operand& operand, const Addresses& addresses, std::int64_t at,
               std::int64_t row_stride, std::int64_t stride, std::int64_t rows, std::int64_t inner,
               float* to);

}  // namespace egret::backends::cpu
