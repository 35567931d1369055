// SPDX-License-Identifier: Apache-2.0
// Declarations of the CUDA libraries' binary interface. Egret builds without the toolkit, and one
// program runs with and without a GPU. Where the toolkit's headers are installed,
// tests/backends/cuda_abi_test.cc compares every number, size and signature with them.
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
inline constexpr unsigned kEventRecordExternal = 1;  // in a recorded graph: an event of its own
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr int kDeviceMemory = 2;
inline constexpr int kAttributeClockKilohertz = 13;
inline constexpr int kAttributeMultiprocessors = 16;
inline constexpr int kAttributeMemoryClockKilohertz = 36;
inline constexpr int kAttributeMemoryBusBits = 37;
inline constexpr int kAttributeCapabilityMajor = 75;
inline constexpr int kAttributeCapabilityMinor = 76;

struct DeviceUuid {
  char bytes[16];
};

// A strided copy of rows of bytes within the device's memory. Unnamed fields are 0.
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
#include "backends/cuda/api/driver_functions.def"
#undef EGRET_CUDA_FUNCTION
};

// ---- libnvrtc: the compiler

using NvrtcProgram = struct NvrtcProgramTag*;

struct NvrtcFunctions {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) int(*name) arguments = nullptr;
#include "backends/cuda/api/nvrtc_functions.def"
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
inline constexpr int kComputeF32 = 68, kComputeF64 = 70, kComputeF16 = 74, kComputeBF16 = 75,
                     kComputeTF32 = 77;  // the last three: inputs of f32 may be rounded to it
inline constexpr int kMatmulTransposeA = 3, kMatmulTransposeB = 4, kMatmulEpilogue = 7,
                     kMatmulBias = 8;                                // attributes of LtMatmul
inline constexpr int kEpilogueRelu = 2, kEpilogueBias = 4;           // may be added
inline constexpr int kLayoutBatchCount = 5, kLayoutBatchStride = 6;  // attributes of LtLayout
inline constexpr int kPreferenceWorkspace = 1, kPreferenceAlignmentA = 5, kPreferenceAlignmentB = 6,
                     kPreferenceAlignmentC = 7, kPreferenceAlignmentD = 8;  // of LtPreference
inline constexpr int kTransposed = 1;

struct LtFunctions {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) int(*name) arguments = nullptr;
#include "backends/cuda/api/cublaslt_functions.def"
#undef EGRET_CUDA_FUNCTION
};

// ---- libcudnn: convolutions, through its graph interface

using DnnHandle = struct DnnHandleTag*;
using DnnBackend = void*;  // a descriptor

inline constexpr int kDnnF32 = 0, kDnnF64 = 1, kDnnF16 = 2, kDnnBF16 = 9;
inline constexpr int kDnnCrossCorrelation = 1;
// Pointwise modes.
inline constexpr int kDnnAdd = 0, kDnnMultiply = 1, kDnnMin = 2, kDnnMax = 3, kDnnSquareRoot = 4,
                     kDnnDivide = 6, kDnnSubtract = 9, kDnnExponential = 13, kDnnLogarithm = 15,
                     kDnnNegate = 16, kDnnErf = 20, kDnnReciprocal = 22, kDnnRelu = 100,
                     kDnnTanh = 101;
inline constexpr int kDnnReduceSum = 0, kDnnReduceMax = 3;
inline constexpr int kDnnHeuristicsA = 3, kDnnHeuristicsFallback = 2;  // modes
inline constexpr int kDnnNoteTensorCore = 0, kDnnNoteConvertsInputs = 1, kDnnNoteReducedSums = 2,
                     kDnnNoteNondeterministic = 4;
inline constexpr int kDnnBehaviorCompiled = 0;
// Types of attributes.
inline constexpr int kDnnHandle = 0, kDnnDataType = 1, kDnnBoolean = 2, kDnnInt64 = 3,
                     kDnnFloat = 4, kDnnDouble = 5, kDnnVoidPointer = 6,
                     kDnnConvolutionModeType = 7, kDnnHeuristicsModeType = 8, kDnnNoteType = 11,
                     kDnnPointwiseModeType = 14, kDnnDescriptor = 15, kDnnReductionType = 18,
                     kDnnBehaviorType = 19, kDnnChar = 24;
// Kinds of descriptors.
inline constexpr int kDnnPointwiseDescriptor = 0, kDnnConvolutionDescriptor = 1,
                     kDnnEngineDescriptor = 2, kDnnConfigDescriptor = 3,
                     kDnnHeuristicsDescriptor = 4, kDnnPlanDescriptor = 5,
                     kDnnConvolutionForwardDescriptor = 10, kDnnPointwiseOperationDescriptor = 13,
                     kDnnGraphDescriptor = 15, kDnnPackDescriptor = 16, kDnnTensorDescriptor = 17,
                     kDnnProductDescriptor = 18, kDnnProductOperationDescriptor = 19,
                     kDnnReductionDescriptor = 21, kDnnReductionOperationDescriptor = 22,
                     kDnnAttentionDescriptor = 41, kDnnDeviceDescriptor = 38;
// Attributes.
inline constexpr int kDnnPointwiseMode = 0, kDnnPointwiseComputeType = 1, kDnnPointwiseReluMost = 4;
inline constexpr int kDnnConvolutionComputeType = 100, kDnnConvolutionMode = 101,
                     kDnnConvolutionDilations = 102, kDnnConvolutionStrides = 103,
                     kDnnConvolutionPadsAfter = 104, kDnnConvolutionPadsBefore = 105,
                     kDnnConvolutionAxes = 106;
inline constexpr int kDnnHeuristicsMode = 200, kDnnHeuristicsGraph = 201,
                     kDnnHeuristicsResults = 202, kDnnHeuristicsDevice = 204;
inline constexpr int kDnnConfigEngine = 300;
inline constexpr int kDnnPlanHandle = 400, kDnnPlanConfig = 401, kDnnPlanWorkspace = 402,
                     kDnnPlanDevice = 407;
inline constexpr int kDnnForwardAlpha = 700, kDnnForwardBeta = 701, kDnnForwardConvolution = 702,
                     kDnnForwardFilter = 703, kDnnForwardImage = 704, kDnnForwardOutput = 705;
inline constexpr int kDnnOperationPointwise = 750, kDnnOperationX = 751, kDnnOperationB = 752,
                     kDnnOperationY = 753;
inline constexpr int kDnnGraphHandle = 800, kDnnGraphOperations = 801;
inline constexpr int kDnnTensorAlignment = 900, kDnnTensorType = 901, kDnnTensorSizes = 902,
                     kDnnTensorStrides = 903, kDnnTensorId = 906, kDnnTensorIsVirtual = 907,
                     kDnnTensorIsByValue = 908;
inline constexpr int kDnnProductComputeType = 1500, kDnnProductA = 1520, kDnnProductB = 1521,
                     kDnnProductC = 1522, kDnnProductHow = 1523;
inline constexpr int kDnnReductionOperator = 1600, kDnnReductionComputeType = 1601,
                     kDnnReductionX = 1610, kDnnReductionY = 1611, kDnnReductionHow = 1612;
inline constexpr int kDnnAttentionQ = 2800, kDnnAttentionK = 2801, kDnnAttentionV = 2802,
                     kDnnAttentionOutput = 2803, kDnnAttentionScale = 2805;
inline constexpr int kDnnPackIds = 1000, kDnnPackPointers = 1001, kDnnPackWorkspace = 1003;
inline constexpr int kDnnEngineNotes = 1303, kDnnEngineBehavior = 1305;
inline constexpr int kDnnDeviceJson = 2702;

struct DnnFunctions {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) int(*name) arguments = nullptr;
#include "backends/cuda/api/cudnn_functions.def"
#undef EGRET_CUDA_FUNCTION
};

}  // namespace egret::backends::cuda
