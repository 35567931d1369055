// SPDX-License-Identifier: Apache-2.0
// Tiles of AMX (Intel, "Intrinsics and instructions for Advanced Matrix Extensions", in the
// Software Developer's Manual, vol. 1, chapter 18).
#pragma once

#include <cstdint>
#include <string>

#include "base/function_ref.h"

namespace egret::backends::codegen {

struct AmxSupport {
  bool bf16 = false, int8 = false;
};

// What the processor has and the system lets this process use. Linux wants to be asked once, before
// the first use (arch_prctl, ARCH_REQ_XCOMP_PERM); where it refuses, nothing is supported.
AmxSupport amx_support();

// The same of a processor with these features (EDX of CPUID's leaf 7). `permits` asks the system,
// and is called only where there are tiles.
AmxSupport amx_support(std::uint32_t features, base::FunctionRef<bool()> permits);

// The operations of the text (EGRET_TILE_..), behind the host's prelude. Where the compiler's
// target has no AMX, they compute the same in loops.
const std::string& amx_prelude();

}  // namespace egret::backends::codegen
