// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of f32 in bf16: their inputs are rounded, their sums are f32. A value
// that several of them read is rounded once; one that nobody else reads is written so by the kernel
// that computes it.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// ok where the instructions that oneDNN uses on this processor multiply bf16; else unavailable,
// with what to do.
base::Status bf16_availability();

// Whether the kernel of this convolution or product takes its inputs in bf16, should that be asked
// for. Not those with little arithmetic an input (convolutions of one channel a group, small
// products of two computed matrices), nor those that Winograd's kernels compute faster in f32.
// Products of a few rows have bf16 weights alone (row_product.h). `winograd`: whether plans may
// have its kernels.
bool takes_bf16(const ir::Graph& graph, ir::NodeId id, bool winograd);

// By node: whether its value is computed by such a kernel and only read by such kernels, as their
// first input.
std::vector<bool> values_in_bf16(const ir::Graph& graph, std::span<const Group> groups,
                                 bool winograd);

}  // namespace egret::backends::cpu
