// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/gemm.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <vector>

#include "backends/memory_planner.h"

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

constexpr int kMostAlgorithms = 16;

// One call of cuBLASLt: D = relu(scale * A B + C + bias), where each part after the product is
// optional. Candidates are the algorithms that its heuristic proposes.
class GemmStep : public LibraryStep {
 public:
  GemmStep(const LtFunctions& lt, LtHandle handle, const Gemm& gemm, Precision precision)
      : lt_(lt),
        handle_(handle),
        gemm_(gemm),
        precision_(precision),
        wide_(gemm.type == ir::DType::kF64) {}
  ~GemmStep() override {
    if (matmul_ != nullptr) lt_.matmul_destroy(matmul_);
    for (const LtLayout layout : {a_, b_, added_, c_}) {
      if (layout != nullptr) lt_.layout_destroy(layout);
    }
  }
  GemmStep(const GemmStep&) = delete;
  GemmStep& operator=(const GemmStep&) = delete;

  const char* library() const override { return "cuBLASLt"; }
  const char* name() const override { return "product"; }
  // All that decides which algorithms cuBLASLt proposes. The scale is an argument of the call and
  // has no influence.
  std::string description() const override {
    std::ostringstream text;
    text << "cuBLASLt " << static_cast<int>(precision_) << ' ' << static_cast<int>(gemm_.type)
         << ' ' << static_cast<int>(gemm_.output_type);
    for (const std::int64_t size :
         {gemm_.m, gemm_.n, gemm_.k, gemm_.batch, gemm_.leading, gemm_.batch_stride,
          gemm_.added_leading, gemm_.added_batch_stride})
      text << ' ' << size;
    for (const Gemm::Operand* of : {&gemm_.a, &gemm_.b}) {
      text << ' ' << of->transposed << ' ' << of->leading << ' ' << of->offset << ' '
           << of->batch_stride;
    }
    text << ' ' << (gemm_.bias >= 0) << ' ' << (gemm_.added >= 0) << ' ' << gemm_.relu;
    return text.str();
  }
  int candidates() const override { return static_cast<int>(algorithms_.size()); }
  void choose(int candidate) override { chosen_ = static_cast<std::size_t>(candidate); }

  std::size_t workspace() const override {
    std::size_t most = 0;
    for (const LtHeuristic& each : algorithms_) most = std::max(most, each.workspace);
    return most;
  }

  // False where cuBLASLt refuses.
  bool describe_and_propose() {
    return lt_.matmul_create(&matmul_, compute_type(gemm_.type, precision_),
                             wide_ ? kTypeF64 : kTypeF32) == 0 &&
           set_epilogue() && transpose(kMatmulTransposeA, gemm_.a) &&
           transpose(kMatmulTransposeB, gemm_.b) && describe(a_, gemm_.a) &&
           describe(b_, gemm_.b) && describe_result(c_, gemm_.leading, gemm_.batch_stride) &&
           (gemm_.added < 0 ||
            describe_result(added_, gemm_.added_leading, gemm_.added_batch_stride)) &&
           propose();
  }

  base::Status enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                       DevicePointer workspace, Stream stream) const override {
    const double wide_alpha = gemm_.scale, wide_beta = gemm_.added >= 0 ? 1 : 0;
    const auto alpha = static_cast<float>(wide_alpha), beta = static_cast<float>(wide_beta);
    const auto at = [&](const Gemm::Operand& operand) {
      const auto offset = static_cast<DevicePointer>(operand.offset) * byte_size(gemm_.type);
      return reinterpret_cast<const void*>(inputs[static_cast<std::size_t>(operand.input)] +
                                           offset);
    };
    const auto whole = [&](int input) { return inputs[static_cast<std::size_t>(input)]; };
    if (gemm_.bias >= 0) {  // the description holds the pointer; it is this plan's alone
      const DevicePointer bias = whole(gemm_.bias);
      if (lt_.matmul_set(matmul_, kMatmulBias, &bias, sizeof bias) != 0)
        return base::unavailable("cuBLASLt does not accept the bias");
    }
    // Without an addend, C is the result itself, and beta = 0 keeps cuBLASLt from reading it.
    auto* d = reinterpret_cast<void*>(output);
    const auto* c = gemm_.added >= 0 ? reinterpret_cast<const void*>(whole(gemm_.added)) : d;
    const LtHeuristic& chosen = algorithms_[chosen_];
    const int status = lt_.matmul(
        handle_, matmul_, wide_ ? static_cast<const void*>(&wide_alpha) : &alpha, at(gemm_.a), a_,
        at(gemm_.b), b_, wide_ ? static_cast<const void*>(&wide_beta) : &beta, c, layout_of_c(), d,
        c_, &chosen.algorithm, reinterpret_cast<void*>(workspace), chosen.workspace, stream);
    if (status == 0) return base::ok();
    return base::unavailable("cuBLASLt: a matrix product failed with status " +
                             std::to_string(status));
  }

 private:
  bool set_epilogue() {
    const std::int32_t epilogue =
        (gemm_.bias >= 0 ? kEpilogueBias : 0) | (gemm_.relu ? kEpilogueRelu : 0);
    return epilogue == 0 ||
           lt_.matmul_set(matmul_, kMatmulEpilogue, &epilogue, sizeof epilogue) == 0;
  }

  bool transpose(int attribute, const Gemm::Operand& operand) {
    const std::int32_t transposed = kTransposed;
    return !operand.transposed ||
           lt_.matmul_set(matmul_, attribute, &transposed, sizeof transposed) == 0;
  }

  bool describe_result(LtLayout& layout, std::int64_t leading, std::int64_t batch_stride) {
    Gemm::Operand of;
    of.rows = gemm_.m;
    of.columns = gemm_.n;
    of.leading = leading;
    of.batch_stride = batch_stride;
    return describe(layout, of, gemm_.output_type);
  }
  // The layout of the addend (cuBLASLt's C; its D is the result).
  LtLayout layout_of_c() const { return added_ != nullptr ? added_ : c_; }

  bool describe(LtLayout& layout, const Gemm::Operand& of) {
    return describe(layout, of, gemm_.type);
  }
  bool describe(LtLayout& layout, const Gemm::Operand& of, ir::DType type) {
    const auto count = static_cast<std::int32_t>(gemm_.batch);
    return lt_.layout_create(&layout, data_type(type), static_cast<std::uint64_t>(of.rows),
                             static_cast<std::uint64_t>(of.columns), of.leading) == 0 &&
           (count == 1 || (lt_.layout_set(layout, kLayoutBatchCount, &count, sizeof count) == 0 &&
                           lt_.layout_set(layout, kLayoutBatchStride, &of.batch_stride,
                                          sizeof of.batch_stride) == 0));
  }

  // Promises the alignment that follows from an offset into a value.
  bool promise(LtPreference preference, int attribute, std::int64_t offset) const {
    const auto bytes = offset * static_cast<std::int64_t>(byte_size(gemm_.type));
    const auto alignment = static_cast<std::uint32_t>(std::gcd(kArenaAlignment, bytes));
    return lt_.preference_set(preference, attribute, &alignment, sizeof alignment) == 0;
  }

  // Asks the heuristic for algorithms within the workspace limit, under the alignments that are
  // promised.
  bool propose() {
    LtPreference preference = nullptr;
    if (lt_.preference_create(&preference) != 0) return false;
    const std::size_t workspace = kWorkspace;
    int found = 0;
    algorithms_.resize(kMostAlgorithms);
    const bool asked =
        lt_.preference_set(preference, kPreferenceWorkspace, &workspace, sizeof workspace) == 0 &&
        promise(preference, kPreferenceAlignmentA, gemm_.a.offset) &&
        promise(preference, kPreferenceAlignmentB, gemm_.b.offset) &&
        promise(preference, kPreferenceAlignmentC, 0) &&
        promise(preference, kPreferenceAlignmentD, 0) &&
        lt_.heuristic(handle_, matmul_, a_, b_, layout_of_c(), c_, preference, kMostAlgorithms,
                      algorithms_.data(), &found) == 0;
    lt_.preference_destroy(preference);
    algorithms_.resize(static_cast<std::size_t>(asked ? found : 0));
    std::erase_if(algorithms_, [](const LtHeuristic& each) { return each.state != 0; });
    return !algorithms_.empty();
  }

  const LtFunctions& lt_;
  LtHandle handle_;
  Gemm gemm_;
  Precision precision_;
  bool wide_;
  LtMatmul matmul_ = nullptr;
  LtLayout a_ = nullptr, b_ = nullptr, added_ = nullptr, c_ = nullptr;
  std::vector<LtHeuristic> algorithms_;
  std::size_t chosen_ = 0;
};

}  // namespace

int compute_type(ir::DType type, Precision precision) {
  if (type == ir::DType::kF64) return kComputeF64;
  if (type != ir::DType::kF32) return kComputeF32;
  switch (precision) {
    case Precision::kF32: return kComputeF32;
    case Precision::kTF32: return kComputeTF32;
    case Precision::kBF16: return kComputeBF16;
    case Precision::kF16: return kComputeF16;
  }
  return kComputeF32;
}

std::unique_ptr<LibraryStep> make_gemm_step(const LtFunctions& lt, LtHandle handle,
                                            const Gemm& gemm, Precision precision) {
  auto step = std::make_unique<GemmStep>(lt, handle, gemm, precision);
  if (!step->describe_and_propose()) return nullptr;
  return step;
}

}  // namespace egret::backends::cuda
