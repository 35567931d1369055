// SPDX-License-Identifier: Apache-2.0
// f32 products and convolutions with inputs in bf16 or 8-bit integers; sums are f32 or i32. A value
// with several such readers is rounded once. A value that only such kernels read is written in
// their form by its own kernel, if that has such inputs too.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// ok where oneDNN has bf16 multiplication on this processor; else unavailable, with the remedy.
base::Status bf16_availability();

// Whether the kernel of this convolution or product takes bf16 inputs when bf16 is requested.
// Excluded are kernels with little arithmetic for each input (convolutions of one channel a group,
// small products of two computed matrices), and those that Winograd computes faster in f32.
// Products of a few rows have bf16 weights only (row_product.h). `winograd`: whether plans may use
// Winograd kernels.
bool takes_bf16(const ir::Graph& graph, ir::NodeId id, bool winograd);

// Whether this processor has fast kernels for a contraction whose operands the graph itself rounds
// to this form (backends/low_precision.h). Products of a few rows read the first operand in f32.
bool takes_lowering(const ir::Graph& graph, ir::NodeId id, OperandForm form);

// How the kernel of a contraction reads its operands: as the graph says, or in bf16 where that was
// asked for all of them.
Lowering lowering_of(const PlanBuilder& builder, ir::NodeId id);

// By node: the form in which its value is written, where it is not f32.
std::vector<Lowering> written_forms(const PlanBuilder& builder, std::span<const Group> groups);

}  // namespace egret::backends::cpu
