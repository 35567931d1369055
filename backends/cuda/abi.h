// SPDX-License-Identifier: Apache-2.0
// What Egret calls of CUDA's libraries, declared as their binary interface has it, so that Egret
// builds without the toolkit and one program runs with and without a GPU. Where the toolkit's
// headers are found, tests/backends/cuda_abi_test.cc compares every number, size and signature with
// them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace egret::backends::cuda {

// ---- libcuda: the driver

using DevicePointer = unsigned long long;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Graph = struct GraphTag*;
using GraphExec = struct GraphExecTag*;

inline constexpr int kDriverOk = 0;
inline constexpr int kDriverOutOfMemory = 2;
inline constexpr int kDriverNotReady = 600;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventWithoutTiming = 2;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr int kDeviceMemory = 2;
inline constexpr int kAttributeMultiprocessors = 16;
inline constexpr int kAttributeCapabilityMajor = 75;
inline constexpr int kAttributeCapabilityMinor = 76;

struct DeviceUuid {
  char bytes[16];
};

// Rows of bytes from one place of the device's memory to another. What is not named here is 0.
struct RowCopy {
  std::size_t from_x = 0, from_y = 0;
  int from_memory = kDeviceMemory;
  const void* from_host = nullptr;
  DevicePointer from = 0;
  void* from_array = nullptr;
  std::size_t from_pitch = 0;
  std::size_t to_x = 0, to_y = 0;
  int to_memory = kDeviceMemory;
  void* to_host = nullptr;
  DevicePointer to = 0;
  void* to_array = nullptr;
  std::size_t to_pitch = 0;
  std::size_t row_bytes = 0, rows = 0;
};

struct DriverFunctions {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) int(*name) arguments = nullptr;
#include "backends/cuda/driver_functions.def"
#undef EGRET_CUDA_FUNCTION
};

// ---- libnvrtc: the compiler

using NvrtcProgram = struct NvrtcProgramTag*;

struct NvrtcFunctions {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) int(*name) arguments = nullptr;
#include "backends/cuda/nvrtc_functions.def"
#undef EGRET_CUDA_FUNCTION
};

// ---- libcublasLt: matrix products

using LtHandle = struct LtHandleTag*;
using LtMatmul = struct LtMatmulTag*;
using LtLayout = struct LtLayoutTag*;
using LtPreference = struct LtPreferenceTag*;

struct LtAlgorithm {
  std::uint64_t data[8];
};
struct LtHeuristic {
  LtAlgorithm algorithm;
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

inline constexpr int kTypeF32 = 0, kTypeF64 = 1, kTypeF16 = 2, kTypeBF16 = 14;
inline constexpr int kComputeF32 = 68, kComputeF64 = 70, kComputeTF32 = 77;
inline constexpr int kMatmulTransposeA = 3, kMatmulTransposeB = 4;   // attributes of LtMatmul
inline constexpr int kLayoutBatchCount = 5, kLayoutBatchStride = 6;  // attributes of LtLayout
inline constexpr int kPreferenceWorkspace = 1;                       // attribute of LtPreference
inline constexpr int kTransposed = 1;

struct LtFunctions {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) int(*name) arguments = nullptr;
#include "backends/cuda/cublaslt_functions.def"
#undef EGRET_CUDA_FUNCTION
};

// ---- libcudnn: convolutions

using DnnHandle = struct DnnHandleTag*;
using DnnTensor = struct DnnTensorTag*;
using DnnFilter = struct DnnFilterTag*;
using DnnConvolution = struct DnnConvolutionTag*;

struct DnnAlgorithm {
  int algorithm;
  int status;
  float time;
  std::size_t memory;
  int determinism, math;
  int reserved[3];
};

inline constexpr int kDnnF32 = 0, kDnnF64 = 1, kDnnF16 = 2, kDnnBF16 = 9;
inline constexpr int kDnnRowMajor = 0;
inline constexpr int kDnnCrossCorrelation = 1;
inline constexpr int kDnnFmaMath = 3;

struct DnnFunctions {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) int(*name) arguments = nullptr;
#include "backends/cuda/cudnn_functions.def"
#undef EGRET_CUDA_FUNCTION
};

}  // namespace egret::backends::cuda
