// SPDX-License-Identifier: Apache-2.0
// f32 products and convolutions with bf16 inputs; sums are f32. A value with several such readers
// is rounded once. A value that only such kernels read is written in bf16 by its own kernel.
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

// By node: whether such a kernel computes its value and only such kernels read it, as first input.
std::vector<bool> values_in_bf16(const ir::Graph& graph, std::span<const Group> groups,
                                 bool winograd);

}  // namespace egret::backends::cpu
