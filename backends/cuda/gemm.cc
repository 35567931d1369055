// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/gemm.h"

namespace egret::backends::cuda {
namespace {

int data_type(ir::DType type) {
  switch (type) {
    case ir::DType::kF64: return kTypeF64;
    case ir::DType::kF16: return kTypeF16;
    case ir::DType::kBF16: return kTypeBF16;
    default: return kTypeF32;
  }
}

base::Status check(int status, const char* what) {
  if (status == 0) return base::ok();
  return base::unavailable(std::string("cuBLASLt: ") + what + " failed with status " +
                           std::to_string(status));
}

}  // namespace

base::Result<std::unique_ptr<GemmStep>> GemmStep::make(const LtFunctions& lt, LtHandle handle,
                                                       const Gemm& gemm, bool tf32,
                                                       std::size_t workspace) {
  std::unique_ptr<GemmStep> step(new GemmStep(lt, handle, gemm));
  EGRET_RETURN_IF_ERROR(step->describe(tf32));
  EGRET_RETURN_IF_ERROR(step->choose(workspace));
  return step;
}

GemmStep::~GemmStep() {
  if (matmul_ != nullptr) lt_.matmul_destroy(matmul_);
  for (const LtLayout layout : {a_, b_, c_}) {
    if (layout != nullptr) lt_.layout_destroy(layout);
  }
}

base::Result<LtLayout> GemmStep::layout(std::int64_t rows, std::int64_t columns,
                                        std::int64_t leading, std::int64_t batch_stride) const {
  LtLayout made = nullptr;
  EGRET_RETURN_IF_ERROR(
      check(lt_.layout_create(&made, data_type(gemm_.type), static_cast<std::uint64_t>(rows),
                              static_cast<std::uint64_t>(columns), leading),
            "describing a matrix"));
  if (gemm_.batch == 1) return made;
  const auto count = static_cast<std::int32_t>(gemm_.batch);
  const int failed =
      lt_.layout_set(made, kLayoutBatchCount, &count, sizeof count) != 0
          ? 1
          : lt_.layout_set(made, kLayoutBatchStride, &batch_stride, sizeof batch_stride);
  if (failed != 0) lt_.layout_destroy(made);
  EGRET_RETURN_IF_ERROR(check(failed, "describing a batch"));
  return made;
}

base::Status GemmStep::describe(bool tf32) {
  const bool wide = gemm_.type == ir::DType::kF64;
  const int compute = wide                                    ? kComputeF64
                      : tf32 && gemm_.type == ir::DType::kF32 ? kComputeTF32
                                                              : kComputeF32;
  EGRET_RETURN_IF_ERROR(check(lt_.matmul_create(&matmul_, compute, wide ? kTypeF64 : kTypeF32),
                              "describing a product"));
  const std::int32_t transposed = kTransposed;
  if (gemm_.a.transposed)
    EGRET_RETURN_IF_ERROR(check(
        lt_.matmul_set(matmul_, kMatmulTransposeA, &transposed, sizeof transposed), "transposing"));
  if (gemm_.b.transposed)
    EGRET_RETURN_IF_ERROR(check(
        lt_.matmul_set(matmul_, kMatmulTransposeB, &transposed, sizeof transposed), "transposing"));
  EGRET_ASSIGN_OR_RETURN(
      a_, layout(gemm_.a.rows, gemm_.a.columns, gemm_.a.leading, gemm_.a.batch_stride));
  EGRET_ASSIGN_OR_RETURN(
      b_, layout(gemm_.b.rows, gemm_.b.columns, gemm_.b.leading, gemm_.b.batch_stride));
  EGRET_ASSIGN_OR_RETURN(c_, layout(gemm_.m, gemm_.n, gemm_.leading, gemm_.batch_stride));
  return base::ok();
}

base::Status GemmStep::choose(std::size_t workspace) {
  LtPreference preference = nullptr;
  EGRET_RETURN_IF_ERROR(check(lt_.preference_create(&preference), "making a preference"));
  lt_.preference_set(preference, kPreferenceWorkspace, &workspace, sizeof workspace);
  int found = 0;
  const int status =
      lt_.heuristic(handle_, matmul_, a_, b_, c_, c_, preference, 1, &chosen_, &found);
  lt_.preference_destroy(preference);
  if (status == 0 && found > 0 && chosen_.state == 0) return base::ok();
  return base::unsupported("cuBLASLt has no algorithm for this product (status " +
                           std::to_string(status) + ")");
}

base::Status GemmStep::enqueue(DevicePointer a, DevicePointer b, DevicePointer c,
                               DevicePointer workspace, Stream stream) const {
  const float one = 1, zero = 0;
  const double wide_one = 1, wide_zero = 0;
  const bool wide = gemm_.type == ir::DType::kF64;
  const auto size = byte_size(gemm_.type);
  const auto at = [&](DevicePointer base, std::int64_t offset) {
    return reinterpret_cast<void*>(base + static_cast<DevicePointer>(offset) * size);
  };
  return check(
      lt_.matmul(handle_, matmul_, wide ? static_cast<const void*>(&wide_one) : &one,
                 at(a, gemm_.a.offset), a_, at(b, gemm_.b.offset), b_,
                 wide ? static_cast<const void*>(&wide_zero) : &zero, at(c, 0), c_, at(c, 0), c_,
                 &chosen_.algorithm, at(workspace, 0), chosen_.workspace, stream),
      "a product");
}

std::vector<Product> find_products(const ir::Graph& graph, const LtFunctions& lt, LtHandle handle,
                                   std::size_t workspace) {
  std::vector<Product> products;
  for (GemmRegion& region : find_gemms(graph)) {
    auto step = GemmStep::make(lt, handle, region.gemm, false, workspace);
    if (step.ok()) products.push_back({std::move(region), *std::move(step)});
  }
  return products;
}

}  // namespace egret::backends::cuda
