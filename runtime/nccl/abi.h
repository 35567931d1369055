// SPDX-License-Identifier: Apache-2.0
// Declarations of NCCL's binary interface (as backends/cuda/api/abi.h does for CUDA). Where nccl.h
// is found, tests/backends/cuda_abi_test.cc compares numbers, sizes and signatures.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/api/abi.h"

namespace egret::runtime::nccl {

using Comm = struct CommTag*;

// Made by one rank of a group and sent to all.
struct UniqueId {
  char bytes[128];
};

inline constexpr int kOk = 0, kRemoteError = 6, kInProgress = 7;
inline constexpr int kInt8 = 0, kUint8 = 1, kInt32 = 2, kUint32 = 3, kInt64 = 4, kUint64 = 5,
                     kFloat16 = 6, kFloat32 = 7, kFloat64 = 8, kBFloat16 = 9;
inline constexpr int kReduceSum = 0, kReduceMax = 2;
inline constexpr int kUndefined = INT32_MIN;

// The options of NCCL 2.14, the first version that joins without blocking. Later versions recognize
// them by size and version, and use defaults for the rest.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = kUndefined;
};

// The oldest supported version.
inline constexpr int kOldest = 21400;

struct Functions {
  const char* (*error_text)(int status) = nullptr;
#define EGRET_NCCL_FUNCTION(name, symbol, arguments) int(*name) arguments = nullptr;
#include "runtime/nccl/functions.def"
#undef EGRET_NCCL_FUNCTION
};

}  // namespace egret::runtime::nccl
