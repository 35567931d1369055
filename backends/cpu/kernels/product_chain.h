// SPDX-License-Identifier: Apache-2.0
// The fused pointwise operators behind a product of Egret's own kernels. They run on blocks of the
// product's rows while these lie in a cache.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backends/cpu/loops/pointwise_program.h"
#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

class ProductChain {
 public:
  // The chain of a group whose anchor is the product, with rows of `columns` elements. Errors:
  // unsupported where an operand is neither rows, one row for all nor a single element. Only
  // reorders have been added in that case.
  static base::Result<ProductChain> of(PlanBuilder& builder, const Group& group,
                                       std::int64_t columns);

  // What it reads beside the product.
  void append_operands(std::vector<Operand>& operands) const;

  // The place of the last node's value: over an operand that nothing reads any more, or a new
  // buffer. The product's own input rows are read to the end and never overwritten. Registers the
  // node's home.
  Operand target(PlanBuilder& builder, const Group& group) const;

  // Results of a product: `rows` rows of `count` <= kBlockElements numbers, `stride` apart, the
  // first of which is at `row` and `column` of the whole.
  struct Block {
    float* data;
    std::int64_t stride;
    std::int64_t row, rows;
    std::int64_t column, count;
  };
  // Runs the chain from the block into its place in the target. An empty chain copies.
  void run(const Addresses& addresses, const Block& block, const Operand& target) const;

 private:
  static constexpr std::size_t kMaxRegisters = 32;

  // An operand of the chain: all rows, one row for all, one element, or the product itself.
  struct Input {
    enum class Kind : std::uint8_t { kProduct, kRows, kRow, kElement };
    Kind kind = Kind::kProduct;
    Operand operand{};
  };
  using Registers = std::array<float*, kMaxRegisters>;
  // Points the registers of rows to row `r` of the block.
  void point_to_row(const Addresses& addresses, const Block& block, std::int64_t r,
                    Registers& registers) const;
  static base::Result<Input> input_of(PlanBuilder& builder, ir::NodeId id, const ir::Shape& product,
                                      std::int64_t columns);

  std::int64_t columns_ = 0;
  PointwiseProgram program_{};
  std::vector<Input> inputs_{};
};

}  // namespace egret::backends::cpu
