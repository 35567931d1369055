// SPDX-License-Identifier: Apache-2.0
// The fused pointwise operators behind products of Egret's own kernels. They run on blocks of the
// products' rows while these lie in a cache. A kernel may compute several products of one left
// operand, as a gated layer has, and store several values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/loops/pointwise_program.h"
#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// Products and the pointwise operators of their shape in one kernel.
struct ProductGroup {
  std::vector<ir::NodeId> products;   // ascending, of one left operand
  std::vector<ir::NodeId> pointwise;  // ascending
  std::vector<ir::NodeId> stored;     // whose values leave the kernel
};

inline constexpr std::size_t kMostProducts = 4;  // of one kernel

// A group whose anchor is the only product.
ProductGroup product_group(const Group& group);
// Any nodes, ascending, and what is stored besides the last. Nothing where they are something else
// than one to kMostProducts products of one left operand and shape, without epilogues of their own,
// and f32 operators of that shape.
std::optional<ProductGroup> product_group(const ir::Graph& graph, std::span<const ir::NodeId> nodes,
                                          std::span<const ir::NodeId> stored);

// ": 2 products, 3 results", for reports; empty for one of each.
std::string results_of(const ProductGroup& group);

class ProductChain {
 public:
  // For products of rows of `columns` elements. Errors: unsupported where an operand is neither
  // rows, one row for all nor a single element, an operator is not pointwise, or a stored value is
  // not of the products' type. Only reorders have been added in that case.
  static base::Result<ProductChain> of(PlanBuilder& builder, const ProductGroup& group,
                                       std::int64_t columns);
  // Of a group whose anchor is the only product.
  static base::Result<ProductChain> of(PlanBuilder& builder, const Group& group,
                                       std::int64_t columns) {
    return of(builder, product_group(group), columns);
  }

  // Gives the stored values their places: over an operand that nothing reads any more, or in a new
  // buffer. The products' own input rows are read to the end and never overwritten. Registers the
  // homes.
  void place_results(PlanBuilder& builder);
  // What it reads beside the products, and the placed results.
  void append_operands(std::vector<Operand>& operands) const;

  // Results of the products: `rows` rows of `count` <= kBlockElements numbers, `stride` apart, the
  // first of which is at `row` and `column` of the whole.
  struct Block {
    std::array<float*, kMostProducts> data;  // by product
    std::int64_t stride;
    std::int64_t row, rows;
    std::int64_t column, count;
  };
  // Runs the chain from the block into its place in the results.
  void run(const Addresses& addresses, const Block& block) const;

 private:
  static constexpr std::size_t kMaxRegisters = 32;

  // An operand of the chain: all rows, one row for all, one element, or a product itself.
  struct Input {
    enum class Kind : std::uint8_t { kProduct, kRows, kRow, kElement };
    Kind kind = Kind::kProduct;
    Operand operand{};
    std::size_t product = 0;  // its number
  };
  using Registers = std::array<float*, kMaxRegisters>;
  // Points the registers of rows to row `r` of the block.
  void point_to_row(const Addresses& addresses, const Block& block, std::int64_t r,
                    Registers& registers) const;
  static base::Result<Input> input_of(PlanBuilder& builder, ir::NodeId id, const ir::Shape& product,
                                      std::int64_t columns);

  Operand place_of(PlanBuilder& builder, std::size_t result) const;

  std::int64_t columns_ = 0;
  ProductGroup group_{};
  PointwiseProgram program_{};  // empty: the product alone
  std::vector<Input> inputs_{};
  std::vector<Operand> results_{};
};

}  // namespace egret::backends::cpu
