// SPDX-License-Identifier: Apache-2.0
#include "parallel/ring/lookup_in_blocks.h"

#include "ir/core/integer_arithmetic.h"
#include "ir/graph/builder.h"

namespace egret::parallel {

using ir::Integers;

// A lookup in a table that is cut by rows: look up each index in every block, keep the result of
// the block that has the row, and add. The sum over blocks is what devices, or the steps of a ring,
// can share.
base::Result<ir::Graph> lookup_in_blocks(const ir::TensorType& table, const ir::TensorType& indices,
                                         std::int64_t axis, std::int64_t blocks) {
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t rows = table.dims[at].constant();
  if (rows == 0 || rows % blocks != 0)
    return base::bad_input("the table cannot be cut into equal blocks");
  if (ir::integer_less(indices.dtype, ir::highest_integer(indices.dtype), rows))
    return base::bad_input("the number of rows is no number of the indices' type");
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", table);
  const ir::Value i = b.input("i", indices);

  const ir::Shape sizes = table.shape();
  Integers in_blocks(sizes.begin(), sizes.end());
  in_blocks[at] = rows / blocks;
  in_blocks.insert(in_blocks.begin() + axis, blocks);
  // gather counts indices modulo the size of its axis. A block therefore accepts the index into the
  // whole table: the remainder is the row within the block.
  const ir::Value found =
      b.add("gather", {b.add("reshape", {x}, {{"shape", in_blocks}}), i}, {{"axis", axis + 1}});

  // Which block an index is of, beside the block's number, with an axis for each that follows.
  const auto number = [&](std::int64_t value) {
    return b.scalar(indices.dtype, static_cast<double>(value));
  };
  const ir::Shape looked_up = indices.shape();
  Integers beside(looked_up.begin(), looked_up.end());
  beside.resize(beside.size() + table.dims.size() - at - 1, 1);
  const ir::Value block = b.add("div", {b.add("mod", {i, number(rows)}), number(rows / blocks)});
  Integers numbered(beside.size() + 1, 1);
  numbered.front() = blocks;
  ir::Tensor numbers(indices.dtype, numbered);
  for (std::int64_t k = 0; k < blocks; ++k) numbers.set_i64(k, k);
  const ir::Value is_there =
      b.add("equal", {b.constant(numbers), b.add("reshape", {block}, {{"shape", beside}})});

  const ir::Value own = b.add("where", {is_there, found, b.scalar(table.dtype, 0)});
  b.output("y",
           b.add("reduce_sum", {own}, {{"axes", Integers{axis}}, {"keepdims", std::int64_t{0}}}));
  return b.finish();
}

}  // namespace egret::parallel
