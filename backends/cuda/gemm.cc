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

class GemmStep : public LibraryStep {
 public:
  GemmStep(const LtFunctions& lt, LtHandle handle, const Gemm& gemm)
      : lt_(lt), handle_(handle), gemm_(gemm), wide_(gemm.type == ir::DType::kF64) {}
  ~GemmStep() override {
    if (matmul_ != nullptr) lt_.matmul_destroy(matmul_);
    for (const LtLayout layout : {a_, b_, c_}) {
      if (layout != nullptr) lt_.layout_destroy(layout);
    }
  }
  GemmStep(const GemmStep&) = delete;
  GemmStep& operator=(const GemmStep&) = delete;

  const char* library() const override { return "cuBLASLt"; }

  // False where cuBLASLt refuses.
  bool prepare() {
    return lt_.matmul_create(&matmul_, wide_ ? kComputeF64 : kComputeF32,
                             wide_ ? kTypeF64 : kTypeF32) == 0 &&
           transpose(kMatmulTransposeA, gemm_.a) && transpose(kMatmulTransposeB, gemm_.b) &&
           describe(a_, gemm_.a.rows, gemm_.a.columns, gemm_.a.leading, gemm_.a.batch_stride) &&
           describe(b_, gemm_.b.rows, gemm_.b.columns, gemm_.b.leading, gemm_.b.batch_stride) &&
           describe(c_, gemm_.m, gemm_.n, gemm_.leading, gemm_.batch_stride) && choose();
  }

  base::Status enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                       DevicePointer workspace, Stream stream) const override {
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    const auto at = [&](const Gemm::Operand& operand) {
      const auto offset = static_cast<DevicePointer>(operand.offset) * byte_size(gemm_.type);
      return reinterpret_cast<const void*>(inputs[static_cast<std::size_t>(operand.input)] +
                                           offset);
    };
    auto* c = reinterpret_cast<void*>(output);
    const int status = lt_.matmul(
        handle_, matmul_, wide_ ? static_cast<const void*>(&wide_one) : &one, at(gemm_.a), a_,
        at(gemm_.b), b_, wide_ ? static_cast<const void*>(&wide_zero) : &zero, c, c_, c, c_,
        &chosen_.algorithm, reinterpret_cast<void*>(workspace), chosen_.workspace, stream);
    if (status == 0) return base::ok();
    return base::unavailable("cuBLASLt: a product failed with status " + std::to_string(status));
  }

 private:
  bool transpose(int attribute, const Gemm::Operand& operand) {
    const std::int32_t transposed = kTransposed;
    return !operand.transposed ||
           lt_.matmul_set(matmul_, attribute, &transposed, sizeof transposed) == 0;
  }

  bool describe(LtLayout& layout, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                std::int64_t batch_stride) {
    const auto count = static_cast<std::int32_t>(gemm_.batch);
    return lt_.layout_create(&layout, data_type(gemm_.type), static_cast<std::uint64_t>(rows),
                             static_cast<std::uint64_t>(columns), leading) == 0 &&
           (count == 1 ||
            (lt_.layout_set(layout, kLayoutBatchCount, &count, sizeof count) == 0 &&
             lt_.layout_set(layout, kLayoutBatchStride, &batch_stride, sizeof batch_stride) == 0));
  }

  bool choose() {
    LtPreference preference = nullptr;
    if (lt_.preference_create(&preference) != 0) return false;
    const std::size_t workspace = kWorkspace;
    int found = 0;
    const bool chosen =
        lt_.preference_set(preference, kPreferenceWorkspace, &workspace, sizeof workspace) == 0 &&
        lt_.heuristic(handle_, matmul_, a_, b_, c_, c_, preference, 1, &chosen_, &found) == 0 &&
        found > 0 && chosen_.state == 0;
    lt_.preference_destroy(preference);
    return chosen;
  }

  const LtFunctions& lt_;
  LtHandle handle_;
  Gemm gemm_;
  bool wide_;
  LtMatmul matmul_ = nullptr;
  LtLayout a_ = nullptr, b_ = nullptr, c_ = nullptr;
  LtHeuristic chosen_{};
};

}  // namespace

std::unique_ptr<LibraryStep> make_gemm_step(const LtFunctions& lt, LtHandle handle,
                                            const Gemm& gemm) {
  auto step = std::make_unique<GemmStep>(lt, handle, gemm);
  if (!step->prepare()) return nullptr;
  return step;
}

}  // namespace egret::backends::cuda
