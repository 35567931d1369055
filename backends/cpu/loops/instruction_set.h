// SPDX-License-Identifier: Apache-2.0
// Kernels compiled for several instruction sets; the processor selects one at run time.
#pragma once

namespace egret::backends::cpu {

#if defined(__x86_64__)
// Of x86-64, by its levels.
template <typename Function>
struct Variants {
  Function generic{};
  Function v3{};
  Function v4{};
};

// The best that this processor runs.
template <typename Function>
Function best_of(const Variants<Function>& variants) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
    return variants.v4;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return variants.v3;
  return variants.generic;
}
#endif

}  // namespace egret::backends::cpu
