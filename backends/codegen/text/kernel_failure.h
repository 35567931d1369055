// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace egret::backends::codegen {

// The failure word of a kernel; 0 is none.
enum class KernelFailure : int {
  kNone = 0,
  kIndexOutOfRange = 1,
  kDivisionByZero = 2,
  // A sum of products with guards is NaN, perhaps by a factor that the guards exclude. The output
  // is worthless, and the interpreter must compute it (host only).
  kNotFinite = 3,
};

}  // namespace egret::backends::codegen
