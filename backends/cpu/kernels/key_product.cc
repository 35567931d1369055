// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/key_product.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/cpu/kernels/product_chain.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/row_panels.h"

namespace egret::backends::cpu {
namespace {

// Below this size a team of threads costs more than it saves.
constexpr std::int64_t kParallelBytes = 256 << 10;
// Two queries take as long as in oneDNN's kernel, four longer.
constexpr std::int64_t kMostQueries = 1;
// Narrower keys than a vector leave most of it empty.
constexpr std::int64_t kLeastWidth = 16;
// The sums of wider keys would be long, and lose digits.
constexpr std::int64_t kMostWidth = 512;

struct KeyShape {
  std::int64_t batches = 1;
  std::int64_t queries = 0;  // of a batch
  std::int64_t width = 0;    // of a query and of a key, in elements
  std::int64_t keys = 0;     // of a batch
};

class KeyProductStep : public Step {
 public:
  // `starts`: where the keys of each batch begin, in elements from the operand's.
  KeyProductStep(const KeyShape& shape, const Operand& queries, const Operand& keys,
                 std::vector<std::int64_t> starts, ProductChain chain, int threads)
      : shape_(shape),
        key_stride_(keys.layout.strides.back()),
        blocks_((shape.keys + kBlockElements - 1) / kBlockElements),
        dots_(best_dots()),
        queries_(queries),
        keys_(keys),
        starts_(std::move(starts)),
        chain_(std::move(chain)),
        threads_(shape.batches * shape.keys * shape.width * 4 >= kParallelBytes ? threads : 1) {}

  base::Status run(const Addresses& addresses) override {
    parallel_for(threads_, shape_.batches * blocks_,
                 [&](std::int64_t i) { run_block(addresses, i / blocks_, i % blocks_); });
    return base::ok();
  }

 private:
  void run_block(const Addresses& addresses, std::int64_t batch, std::int64_t block) const {
    const std::int64_t first = block * kBlockElements;
    const std::int64_t count = std::min<std::int64_t>(kBlockElements, shape_.keys - first);
    const std::int64_t row = batch * shape_.queries;
    const float* const keys =
        addresses.at(keys_) + starts_[static_cast<std::size_t>(batch)] + first * key_stride_;
    alignas(64) float scores[kMostQueries * kBlockElements];
    for (std::int64_t q = 0; q < shape_.queries; ++q) {
      dots_(addresses.at(queries_) + (row + q) * shape_.width, shape_.width, keys, key_stride_,
            count, scores + q * kBlockElements);
    }
    chain_.run(addresses, {.data = {scores},
                           .stride = kBlockElements,
                           .row = row,
                           .rows = shape_.queries,
                           .column = first,
                           .count = count});
  }

  KeyShape shape_;
  std::int64_t key_stride_, blocks_;
  DotsFunction dots_;
  Operand queries_, keys_;
  std::vector<std::int64_t> starts_;
  ProductChain chain_;
  int threads_;
};

std::optional<KeyShape> key_shape(const PlanBuilder& builder, const ir::Node& node) {
  const ir::TensorType& queries = builder.node(node.inputs[0]).type;
  const ir::TensorType& keys = builder.node(node.inputs[1]).type;
  if (node.op->name() != "matmul" || builder.is_constant(node.inputs[1])) return std::nullopt;
  if (queries.rank() != keys.rank() || queries.rank() < 2 || keys.elements() == 0)
    return std::nullopt;
  const ir::Shape a = queries.shape(), b = keys.shape();
  const std::size_t rank = a.size();
  if (!std::equal(a.begin(), a.end() - 2, b.begin())) return std::nullopt;
  KeyShape shape{1, a[rank - 2], a[rank - 1], b[rank - 1]};
  for (std::size_t i = 0; i + 2 < rank; ++i) shape.batches *= a[i];
  if (shape.queries > kMostQueries || shape.keys < 2 || shape.width < kLeastWidth ||
      shape.width > kMostWidth)
    return std::nullopt;
  return shape;
}

// Of the matrices of a batch, in row-major order of the batch axes.
std::vector<std::int64_t> starts_of(const Operand& operand, std::int64_t batches) {
  const ir::Shape shape = operand.shape();
  std::vector<std::int64_t> starts;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    std::int64_t at = 0, left = batch;
    for (std::size_t axis = shape.size() - 2; axis-- > 0; left /= shape[axis])
      at += left % shape[axis] * operand.layout.strides[axis];
    starts.push_back(at);
  }
  return starts;
}

}  // namespace

base::Status make_key_product(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.anchor());
  if (builder.options().precision != Precision::kF32 ||
      builder.given_form(group.anchor()) != OperandForm::kF32)
    return base::unsupported("is in f32");
  const auto shape = key_shape(builder, node);
  if (!shape) return base::unsupported("needs few rows and a computed matrix");
  const Operand keys = builder.home(node.inputs[1]);
  const ir::Shape& strides = keys.layout.strides;
  if (keys.layout.block != 1 || strides[strides.size() - 2] != 1)
    return base::unsupported("needs a transposed matrix");
  EGRET_ASSIGN_OR_RETURN(ProductChain chain, ProductChain::of(builder, group, shape->keys));
  const Operand queries = builder.in_row_major(node.inputs[0]);
  std::vector<Operand> touched{queries, keys};
  chain.place_results(builder);
  chain.append_operands(touched);
  builder.add(
      std::make_unique<KeyProductStep>(*shape, queries, keys, starts_of(keys, shape->batches),
                                       std::move(chain), builder.threads()),
      touched, "matmul", "own:keys");
  return base::ok();
}

}  // namespace egret::backends::cpu
