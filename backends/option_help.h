// SPDX-License-Identifier: Apache-2.0
// The help of options that several verbs have. The environment variable EGRET_NAME sets an option
// in all of them, so they share one meaning.
#pragma once

namespace egret::backends {

inline constexpr const char* kBackendHelp =
    "Backend that compiles and runs the operators: cpu, cuda, codegen or reference";
inline constexpr const char* kPrecisionHelp =
    "Precision of products and convolutions of f32; sums stay in f32. --backend cuda takes every "
    "precision, --backend cpu takes f32 and bf16";
inline constexpr const char* kLimitArenaHelp =
    "Memory limit of activations and scratch space; 0: none. If the plan needs more, the exit code "
    "is 5";

}  // namespace egret::backends
