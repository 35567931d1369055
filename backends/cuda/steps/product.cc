// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/product.h"

#include <numeric>
#include <utility>

namespace egret::backends::cuda {
namespace {

constexpr std::int64_t kOutputId = 1000, kFirstVirtualId = 2000;
constexpr ir::DType kCompute = ir::DType::kF32;

// Describes a product and its tail to cuDNN. cuDNN is row-major where cuBLASLt is column-major, so
// A and B change places.
class Describer {
 public:
  Describer(const Product& product, DnnOperations& operations)
      : gemm_(product.gemm), product_(product), operations_(operations) {}

  DnnArguments write() {
    DnnBackend a = matrix(gemm_.b, gemm_.n, gemm_.k), b = matrix(gemm_.a, gemm_.k, gemm_.m);
    DnnBackend sum = between();
    operations_.product(a, b, sum, kCompute);
    const TailTensors tensors{.rank = 3,
                              .sum = sum,
                              .output = like_output(kOutputId, gemm_.output_type),
                              .input = [&](std::size_t i) { return added(product_.added[i]); },
                              .between = [&] { return between(); }};
    describe(product_.tail, tensors, operations_, arguments_);
    arguments_.output = kOutputId;
    return arguments_;
  }

 private:
  // Of `rows` by `columns`, as the transpose of what the operand is column-major.
  DnnBackend matrix(const Gemm::Operand& operand, std::int64_t rows, std::int64_t columns) {
    const std::int64_t row = operand.transposed ? 1 : operand.leading;
    const std::int64_t column = operand.transposed ? operand.leading : 1;
    const std::int64_t offset = operand.offset * static_cast<std::int64_t>(byte_size(gemm_.type));
    const std::int64_t id = next_input(operand.input, offset);
    return operations_.tensor({.id = id,
                               .sizes = {gemm_.batch, rows, columns},
                               .strides = {batch_stride(operand.batch_stride), row, column},
                               .type = gemm_.type,
                               .alignment = std::gcd(kDnnAlignment, offset)});
  }

  // An addend of the output's shape, or one row for all rows and the batch.
  DnnBackend added(const Product::Added& of) {
    const std::int64_t id = next_input(of.input, 0);
    if (!of.is_row) return like_output(id, gemm_.output_type);
    return operations_.tensor({.id = id,
                               .sizes = {1, 1, gemm_.m},
                               .strides = {gemm_.m, gemm_.m, 1},
                               .type = gemm_.output_type});
  }

  std::int64_t next_input(int input, std::int64_t offset) {
    const auto id = static_cast<std::int64_t>(arguments_.inputs.size()) + 1;
    arguments_.inputs.push_back({id, input, offset});
    return id;
  }

  DnnBackend between() { return like_output(kFirstVirtualId + virtuals_++, kCompute); }
  DnnBackend like_output(std::int64_t id, ir::DType type) {
    return operations_.tensor({.id = id,
                               .sizes = {gemm_.batch, gemm_.n, gemm_.m},
                               .strides = {batch_stride(gemm_.batch_stride), gemm_.leading, 1},
                               .type = type,
                               .is_virtual = id >= kFirstVirtualId});
  }
  // Of one matrix no stride is known.
  std::int64_t batch_stride(std::int64_t stride) const {
    return gemm_.batch == 1 ? gemm_.m * gemm_.n * gemm_.k : stride;
  }

  const Gemm& gemm_;
  const Product& product_;
  DnnOperations& operations_;
  DnnArguments arguments_;
  std::int64_t virtuals_ = 0;
};

}  // namespace

DnnArguments describe(const Product& product, DnnOperations& operations) {
  return Describer(product, operations).write();
}

std::unique_ptr<LibraryStep> make_product_step(Dnn& dnn, const Product& product) {
  return DnnStep::make(dnn, {.name = "product", .contested = {.tails = true}}, product.gemm.type,
                       [&](DnnOperations& into) { return describe(product, into); });
}

}  // namespace egret::backends::cuda
