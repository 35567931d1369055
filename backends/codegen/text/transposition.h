// SPDX-License-Identifier: Apache-2.0
// Loops over blocks for kernels on the host that read along another axis than they write.
//
// With plain loops such a kernel takes one element of each line of the cache and comes back to the
// line a whole row later, when it is gone. A block of neighbours along the axis of the reads uses
// the whole line at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/codegen/text/writer.h"
#include "ir/nest/loop_nest.h"

namespace egret::backends::codegen {

struct Transposition {
  int along = -1;  // the output variable in which a read is contiguous; not the innermost one
  std::int64_t blocks = 0;
  std::int64_t steps = 0;  // of the outermost loop: blocks for each value of the other variables
};

// How to divide a nest with merged variables; nullopt where nothing is transposed, for nests with
// reductions, and for small ones. Time: linear in its size.
std::optional<Transposition> transposition(const ir::LoopNest& nest);

// The statements of the kernel for steps from `low` to `high`.
std::string transposed_body(const ir::LoopNest& nest, const Transposition& how, Writer& writer);

}  // namespace egret::backends::codegen
