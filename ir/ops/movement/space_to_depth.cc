// SPDX-License-Identifier: Apache-2.0
#include "ir/core/size_reference.h"
#include "ir/graph/body.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  const Value x = b.input(0);
  const TensorType type = b.type(x);
  const std::int64_t block = b.integer("blocksize");
  if (type.rank() != 4) return b.fail("takes [N, C, H, W], not " + to_string(type));
  Integers cells;
  for (const int axis : {2, 3}) {
    const Index size = type.dims[static_cast<std::size_t>(axis)];
    if (!size.is_constant() || block < 1 || size.constant() % block != 0) {
      return b.fail("blocksize " + std::to_string(block) + " must divide size " + to_string(size) +
                    " of axis " + std::to_string(axis));
    }
    cells.push_back(size.constant() / block);
  }
  const std::int64_t batch = target_of_axis(type, 0);
  const Value apart =
      b("reshape", {x},
        {{"shape", Integers{batch, target_of_axis(type, 1), cells[0], block, cells[1], block}}});
  const Value mixed = b("transpose", {apart}, {{"perm", Integers{0, 3, 5, 1, 2, 4}}});
  return b("reshape", {mixed},
           {{"shape", Integers{batch, target_of_axes(b.type(mixed), 1, 4), cells[0], cells[1]}}});
}

}  // namespace

Operator space_to_depth() {
  return composite("space_to_depth",
                   "Blocks of height and width moved into channels: [N, C, H, W] becomes "
                   "[N, C*block^2, H/block, W/block]",
                   {"x"})
      .attr("blocksize", AttrKind::kInteger, "edge of a block")
      .shown_on({"f32[N,3,4,6]"}, {{"blocksize", std::int64_t{2}}})
      .with_body(build)
      .onnx("SpaceToDepth");
}

}  // namespace egret::ir::ops
