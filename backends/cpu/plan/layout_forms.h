// SPDX-License-Identifier: Apache-2.0
// Layouts that are chosen from outside (backends/layouts.h) as layouts of this backend.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backends/cpu/plan/plan_builder.h"
#include "backends/layouts.h"

namespace egret::backends::cpu {

// The channels of one vector register: 16 floats with AVX-512, else 8. oneDNN's blocked layouts use
// the same sizes.
std::int64_t preferred_block();

Layout layout_in(LayoutForm form, const ir::Shape& shape);  // rank 4 or 5
// Row-major if it is none of the others.
LayoutForm form_of(const Operand& operand);

// Around a group that has Group::layouts: what it reads is there in the form that it reads, and
// what it stores is in the form that others expect. Copies are the parts that
// CompileOptions::layouts says, or none's; those behind the group are its own. `origin`: the given
// node of each prepared one.
//
// A value that is a view of another one stays one where row-major is asked for.
class LaidOut {
 public:
  void lay_out_inputs(PlanBuilder& builder, const Group& group, std::span<const ir::NodeId> origin);
  // `stored`: the values that it stores besides its root's.
  void lay_out_values(PlanBuilder& builder, const Group& group, std::span<const ir::NodeId> stored);

 private:
  std::vector<std::pair<ir::NodeId, Layout>> before_;  // of what it reads
};

// The outputs of the graph are there in row-major, after the last group.
void lay_out_outputs(PlanBuilder& builder, std::span<const ir::NodeId> origin);

// The layouts in which a group, which was built just now, read and stored values: those of the
// first value of each kind that has forms. Of values read in several forms, the one that it also
// stores counts if it is among them: a kernel can be asked for one form of all that it reads.
KernelLayouts observed_layouts(const PlanBuilder& builder, const Group& group);

}  // namespace egret::backends::cpu
