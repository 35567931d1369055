// SPDX-License-Identifier: Apache-2.0
// backends/cuda/api/abi.h against the toolkit's own headers, where the build finds them: numbers,
// sizes, and of each function how many arguments it takes and how large each is. Checked by
// compiling.
#include <gtest/gtest.h>

#include <tuple>
#include <type_traits>

#include "backends/cuda/api/abi.h"
#include "backends/cuda/api/libraries.h"
#include "runtime/nccl/library.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#define EGRET_HAS_CUDA_H
#endif
#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#define EGRET_HAS_NVRTC_H
#endif
#if __has_include(<cublasLt.h>) && __has_include(<crt/host_defines.h>)
#include <cublasLt.h>
#define EGRET_HAS_CUBLASLT_H
#endif

#if __has_include(<cudnn.h>) && __has_include(<crt/host_defines.h>)
#include <cudnn.h>
#define EGRET_HAS_CUDNN_H
#endif

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>
#define EGRET_HAS_NCCL_H
#endif

namespace egret::backends::cuda {
namespace {

template <typename T>
constexpr bool is_number = std::is_integral_v<T> || std::is_enum_v<T>;

// Passed in the same registers: numbers of one size, or pointers; or on the stack, what is larger
// than two registers.
template <typename Ours, typename Theirs>
constexpr bool same_argument = (is_number<Ours> && is_number<Theirs> &&
                                sizeof(Ours) == sizeof(Theirs)) ||
                               (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) ||
                               (std::is_trivially_copyable_v<Ours> &&
                                std::is_trivially_copyable_v<Theirs> &&
                                sizeof(Ours) == sizeof(Theirs) && sizeof(Ours) > 16);

template <typename Ours, typename Theirs>
constexpr bool same_call = false;
template <typename... Ours, typename Result, typename... Theirs>
requires(sizeof...(Ours) ==
         sizeof...(Theirs)) constexpr bool same_call<int (*)(Ours...), Result (*)(Theirs...)> =
    sizeof(Result) == sizeof(int) && (same_argument<Ours, Theirs> && ...);

TEST(CudaAbi, IsThatOfTheDriversHeader) {
#ifdef EGRET_HAS_CUDA_H
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) \
  static_assert(same_call<decltype(DriverFunctions::name), decltype(&::symbol)>, #name);
#include "backends/cuda/api/driver_functions.def"
#undef EGRET_CUDA_FUNCTION
  static_assert(kDriverOk == CUDA_SUCCESS && kDriverOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
  static_assert(kDriverNotReady == CUDA_ERROR_NOT_READY);
  static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
  static_assert(kEventWithoutTiming == CU_EVENT_DISABLE_TIMING);
  static_assert(kEventRecordExternal == CU_EVENT_RECORD_EXTERNAL);
  static_assert(kDeviceMemory == CU_MEMORYTYPE_DEVICE && sizeof(DeviceUuid) == sizeof(CUuuid));
  static_assert(sizeof(RowCopy) == sizeof(CUDA_MEMCPY2D) &&
                offsetof(RowCopy, from_memory) == offsetof(CUDA_MEMCPY2D, srcMemoryType) &&
                offsetof(RowCopy, from) == offsetof(CUDA_MEMCPY2D, srcDevice) &&
                offsetof(RowCopy, from_pitch) == offsetof(CUDA_MEMCPY2D, srcPitch) &&
                offsetof(RowCopy, to_memory) == offsetof(CUDA_MEMCPY2D, dstMemoryType) &&
                offsetof(RowCopy, to) == offsetof(CUDA_MEMCPY2D, dstDevice) &&
                offsetof(RowCopy, to_pitch) == offsetof(CUDA_MEMCPY2D, dstPitch) &&
                offsetof(RowCopy, row_bytes) == offsetof(CUDA_MEMCPY2D, WidthInBytes) &&
                offsetof(RowCopy, rows) == offsetof(CUDA_MEMCPY2D, Height));
  static_assert(kCaptureThreadLocal == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  static_assert(kAttributeClockKilohertz == CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  static_assert(kAttributeMemoryClockKilohertz == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  static_assert(kAttributeMemoryBusBits == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  static_assert(kAttributeMultiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  static_assert(kAttributeCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  static_assert(kAttributeCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
#else
  GTEST_SKIP() << "the build found no cuda.h";
#endif
}

TEST(CudaAbi, IsThatOfNvrtcsHeader) {
#ifdef EGRET_HAS_NVRTC_H
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) \
  static_assert(same_call<decltype(NvrtcFunctions::name), decltype(&::symbol)>, #name);
#include "backends/cuda/api/nvrtc_functions.def"
#undef EGRET_CUDA_FUNCTION
#else
  GTEST_SKIP() << "the build found no nvrtc.h";
#endif
}

TEST(CudaAbi, IsThatOfCublasLtsHeader) {
#ifdef EGRET_HAS_CUBLASLT_H
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) \
  static_assert(same_call<decltype(LtFunctions::name), decltype(&::symbol)>, #name);
#include "backends/cuda/api/cublaslt_functions.def"
#undef EGRET_CUDA_FUNCTION
  static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
  static_assert(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
  static_assert(offsetof(LtHeuristic, workspace) ==
                offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  static_assert(offsetof(LtHeuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
  static_assert(kTypeF32 == CUDA_R_32F && kTypeF64 == CUDA_R_64F && kTypeF16 == CUDA_R_16F &&
                kTypeBF16 == CUDA_R_16BF);
  static_assert(kComputeF32 == CUBLAS_COMPUTE_32F && kComputeF64 == CUBLAS_COMPUTE_64F &&
                kComputeTF32 == CUBLAS_COMPUTE_32F_FAST_TF32 &&
                kComputeF16 == CUBLAS_COMPUTE_32F_FAST_16F &&
                kComputeBF16 == CUBLAS_COMPUTE_32F_FAST_16BF);
  static_assert(kMatmulEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE &&
                kMatmulBias == CUBLASLT_MATMUL_DESC_BIAS_POINTER &&
                kEpilogueRelu == CUBLASLT_EPILOGUE_RELU &&
                kEpilogueBias == CUBLASLT_EPILOGUE_BIAS &&
                (kEpilogueRelu | kEpilogueBias) == CUBLASLT_EPILOGUE_RELU_BIAS);
  static_assert(kMatmulTransposeA == CUBLASLT_MATMUL_DESC_TRANSA &&
                kMatmulTransposeB == CUBLASLT_MATMUL_DESC_TRANSB && kTransposed == CUBLAS_OP_T);
  static_assert(kLayoutBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT &&
                kLayoutBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  static_assert(kPreferenceWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  static_assert(kPreferenceAlignmentA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  static_assert(kPreferenceAlignmentB == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
  static_assert(kPreferenceAlignmentC == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
  static_assert(kPreferenceAlignmentD == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
#else
  GTEST_SKIP() << "the build found no cublasLt.h";
#endif
}

TEST(CudaAbi, IsThatOfCudnnsHeader) {
#ifdef EGRET_HAS_CUDNN_H
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) \
  static_assert(same_call<decltype(DnnFunctions::name), decltype(&::symbol)>, #name);
#include "backends/cuda/api/cudnn_functions.def"
#undef EGRET_CUDA_FUNCTION
  static_assert(sizeof(DnnBackend) == sizeof(cudnnBackendDescriptor_t));
  static_assert(kDnnF32 == CUDNN_DATA_FLOAT && kDnnF64 == CUDNN_DATA_DOUBLE &&
                kDnnF16 == CUDNN_DATA_HALF && kDnnBF16 == CUDNN_DATA_BFLOAT16);
  static_assert(kDnnCrossCorrelation == CUDNN_CROSS_CORRELATION && kDnnAdd == CUDNN_POINTWISE_ADD &&
                kDnnRelu == CUDNN_POINTWISE_RELU_FWD && kDnnDivide == CUDNN_POINTWISE_DIV &&
                kDnnSubtract == CUDNN_POINTWISE_SUB && kDnnExponential == CUDNN_POINTWISE_EXP &&
                kDnnMultiply == CUDNN_POINTWISE_MUL && kDnnMin == CUDNN_POINTWISE_MIN &&
                kDnnMax == CUDNN_POINTWISE_MAX && kDnnSquareRoot == CUDNN_POINTWISE_SQRT &&
                kDnnLogarithm == CUDNN_POINTWISE_LOG && kDnnNegate == CUDNN_POINTWISE_NEG &&
                kDnnErf == CUDNN_POINTWISE_ERF && kDnnReciprocal == CUDNN_POINTWISE_RECIPROCAL &&
                kDnnTanh == CUDNN_POINTWISE_TANH_FWD && kDnnReduceSum == CUDNN_REDUCE_TENSOR_ADD &&
                kDnnReduceMax == CUDNN_REDUCE_TENSOR_MAX &&
                kDnnReductionType == CUDNN_TYPE_REDUCTION_OPERATOR_TYPE &&
                kDnnTensorIsByValue == CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  static_assert(kDnnHeuristicsA == CUDNN_HEUR_MODE_A &&
                kDnnHeuristicsFallback == CUDNN_HEUR_MODE_FALLBACK);
  static_assert(kDnnNoteTensorCore == CUDNN_NUMERICAL_NOTE_TENSOR_CORE &&
                kDnnNoteConvertsInputs == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS &&
                kDnnNoteReducedSums == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION &&
                kDnnNoteNondeterministic == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC &&
                kDnnBehaviorCompiled == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
  static_assert(kDnnHandle == CUDNN_TYPE_HANDLE && kDnnDataType == CUDNN_TYPE_DATA_TYPE &&
                kDnnBoolean == CUDNN_TYPE_BOOLEAN && kDnnInt64 == CUDNN_TYPE_INT64 &&
                kDnnFloat == CUDNN_TYPE_FLOAT && kDnnDouble == CUDNN_TYPE_DOUBLE &&
                kDnnVoidPointer == CUDNN_TYPE_VOID_PTR &&
                kDnnConvolutionModeType == CUDNN_TYPE_CONVOLUTION_MODE &&
                kDnnHeuristicsModeType == CUDNN_TYPE_HEUR_MODE &&
                kDnnNoteType == CUDNN_TYPE_NUMERICAL_NOTE &&
                kDnnBehaviorType == CUDNN_TYPE_BEHAVIOR_NOTE &&
                kDnnPointwiseModeType == CUDNN_TYPE_POINTWISE_MODE &&
                kDnnDescriptor == CUDNN_TYPE_BACKEND_DESCRIPTOR && kDnnChar == CUDNN_TYPE_CHAR);
  static_assert(kDnnPointwiseDescriptor == CUDNN_BACKEND_POINTWISE_DESCRIPTOR &&
                kDnnConvolutionDescriptor == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR &&
                kDnnEngineDescriptor == CUDNN_BACKEND_ENGINE_DESCRIPTOR &&
                kDnnConfigDescriptor == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR &&
                kDnnHeuristicsDescriptor == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR &&
                kDnnPlanDescriptor == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
                kDnnConvolutionForwardDescriptor ==
                    CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR &&
                kDnnPointwiseOperationDescriptor == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR &&
                kDnnGraphDescriptor == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR &&
                kDnnPackDescriptor == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR &&
                kDnnTensorDescriptor == CUDNN_BACKEND_TENSOR_DESCRIPTOR &&
                kDnnProductDescriptor == CUDNN_BACKEND_MATMUL_DESCRIPTOR &&
                kDnnProductOperationDescriptor == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR &&
                kDnnReductionDescriptor == CUDNN_BACKEND_REDUCTION_DESCRIPTOR &&
                kDnnReductionOperationDescriptor == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
#if CUDNN_VERSION >= 91900
  static_assert(kDnnAttentionDescriptor == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR &&
                kDnnAttentionQ == CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC &&
                kDnnAttentionK == CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC &&
                kDnnAttentionV == CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC &&
                kDnnAttentionOutput == CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC &&
                kDnnAttentionScale == CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC);
#endif
  static_assert(kDnnPointwiseMode == CUDNN_ATTR_POINTWISE_MODE &&
                kDnnPointwiseComputeType == CUDNN_ATTR_POINTWISE_MATH_PREC &&
                kDnnPointwiseReluMost == CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP &&
                kDnnProductComputeType == CUDNN_ATTR_MATMUL_COMP_TYPE &&
                kDnnProductA == CUDNN_ATTR_OPERATION_MATMUL_ADESC &&
                kDnnProductB == CUDNN_ATTR_OPERATION_MATMUL_BDESC &&
                kDnnProductC == CUDNN_ATTR_OPERATION_MATMUL_CDESC &&
                kDnnProductHow == CUDNN_ATTR_OPERATION_MATMUL_DESC &&
                kDnnReductionOperator == CUDNN_ATTR_REDUCTION_OPERATOR &&
                kDnnReductionComputeType == CUDNN_ATTR_REDUCTION_COMP_TYPE &&
                kDnnReductionX == CUDNN_ATTR_OPERATION_REDUCTION_XDESC &&
                kDnnReductionY == CUDNN_ATTR_OPERATION_REDUCTION_YDESC &&
                kDnnReductionHow == CUDNN_ATTR_OPERATION_REDUCTION_DESC &&
                kDnnConvolutionComputeType == CUDNN_ATTR_CONVOLUTION_COMP_TYPE &&
                kDnnConvolutionMode == CUDNN_ATTR_CONVOLUTION_CONV_MODE &&
                kDnnConvolutionDilations == CUDNN_ATTR_CONVOLUTION_DILATIONS &&
                kDnnConvolutionStrides == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES &&
                kDnnConvolutionPadsAfter == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS &&
                kDnnConvolutionPadsBefore == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS &&
                kDnnConvolutionAxes == CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  static_assert(kDnnHeuristicsMode == CUDNN_ATTR_ENGINEHEUR_MODE &&
                kDnnHeuristicsGraph == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH &&
                kDnnHeuristicsResults == CUDNN_ATTR_ENGINEHEUR_RESULTS &&
                kDnnConfigEngine == CUDNN_ATTR_ENGINECFG_ENGINE &&
                kDnnPlanConfig == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG &&
                kDnnPlanWorkspace == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE &&
                kDnnEngineNotes == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE &&
                kDnnEngineBehavior == CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE);
  static_assert(kDnnForwardAlpha == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA &&
                kDnnForwardBeta == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA &&
                kDnnForwardConvolution == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC &&
                kDnnForwardFilter == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W &&
                kDnnForwardImage == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X &&
                kDnnForwardOutput == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y &&
                kDnnOperationPointwise == CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR &&
                kDnnOperationX == CUDNN_ATTR_OPERATION_POINTWISE_XDESC &&
                kDnnOperationB == CUDNN_ATTR_OPERATION_POINTWISE_BDESC &&
                kDnnOperationY == CUDNN_ATTR_OPERATION_POINTWISE_YDESC &&
                kDnnGraphOperations == CUDNN_ATTR_OPERATIONGRAPH_OPS);
  static_assert(kDnnTensorAlignment == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT &&
                kDnnTensorType == CUDNN_ATTR_TENSOR_DATA_TYPE &&
                kDnnTensorSizes == CUDNN_ATTR_TENSOR_DIMENSIONS &&
                kDnnTensorStrides == CUDNN_ATTR_TENSOR_STRIDES &&
                kDnnTensorId == CUDNN_ATTR_TENSOR_UNIQUE_ID &&
                kDnnTensorIsVirtual == CUDNN_ATTR_TENSOR_IS_VIRTUAL &&
                kDnnPackIds == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS &&
                kDnnPackPointers == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS &&
                kDnnPackWorkspace == CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  // Deprecated names, which the compiler warns of; later ones, which older headers lack.
  static_assert(kDnnPlanHandle + 1 == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG &&
                kDnnGraphHandle + 1 == CUDNN_ATTR_OPERATIONGRAPH_OPS);
#if CUDNN_VERSION >= 90800
  static_assert(kDnnHeuristicsDevice == CUDNN_ATTR_ENGINEHEUR_DEVICEPROP &&
                kDnnPlanDevice == CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP &&
                kDnnDeviceJson == CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION &&
                kDnnDeviceDescriptor == CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
#endif
#else
  GTEST_SKIP() << "the build found no cudnn.h";
#endif
}

TEST(CudaAbi, IsThatOfNcclsHeader) {
#ifdef EGRET_HAS_NCCL_H
#define EGRET_NCCL_FUNCTION(name, symbol, arguments) \
  static_assert(same_call<decltype(runtime::nccl::Functions::name), decltype(&::symbol)>, #name);
#include "runtime/nccl/functions.def"
#undef EGRET_NCCL_FUNCTION
  static_assert(sizeof(runtime::nccl::UniqueId) == sizeof(ncclUniqueId));
  static_assert(runtime::nccl::kOk == ncclSuccess &&
                runtime::nccl::kRemoteError == ncclRemoteError &&
                runtime::nccl::kInProgress == ncclInProgress);
  static_assert(runtime::nccl::kInt8 == ncclInt8 && runtime::nccl::kUint8 == ncclUint8 &&
                runtime::nccl::kInt32 == ncclInt32 && runtime::nccl::kUint32 == ncclUint32 &&
                runtime::nccl::kInt64 == ncclInt64 && runtime::nccl::kUint64 == ncclUint64 &&
                runtime::nccl::kFloat16 == ncclFloat16 && runtime::nccl::kFloat32 == ncclFloat32 &&
                runtime::nccl::kFloat64 == ncclFloat64 && runtime::nccl::kBFloat16 == ncclBfloat16);
  static_assert(runtime::nccl::kReduceSum == ncclSum && runtime::nccl::kReduceMax == ncclMax &&
                runtime::nccl::kUndefined == NCCL_CONFIG_UNDEF_INT);
  static_assert(offsetof(runtime::nccl::Config, magic) == offsetof(ncclConfig_t, magic) &&
                offsetof(runtime::nccl::Config, version) == offsetof(ncclConfig_t, version) &&
                offsetof(runtime::nccl::Config, blocking) == offsetof(ncclConfig_t, blocking));
  static_assert(runtime::nccl::Config().version == NCCL_VERSION(2, 14, 0));
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(runtime::nccl::Config().magic, theirs.magic);
#else
  GTEST_SKIP() << "the build found no nccl.h";
#endif
}

TEST(CudaAbi, LoadsNcclWhereItIsInstalled) {
  const runtime::nccl::Library& library = runtime::nccl::system_library();
  if (!library.has_nccl.ok()) GTEST_SKIP() << library.has_nccl.message();
  EXPECT_GE(library.version, runtime::nccl::kOldest);
  EXPECT_EQ(std::string(library.functions.error_text(runtime::nccl::kOk)), "no error");
}

TEST(CudaAbi, LoadsWhatIsInstalled) {
  const Libraries& libraries = system_libraries();
  if (libraries.has_lt.ok()) {
    LtHandle handle = nullptr;
    if (libraries.lt.create(&handle) == 0) libraries.lt.destroy(handle);  // needs a GPU
  }
  if (!libraries.has_nvrtc.ok()) GTEST_SKIP() << libraries.has_nvrtc.message();
  EXPECT_GE(libraries.nvrtc_version, 12000);
}

}  // namespace
}  // namespace egret::backends::cuda
