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
  const bool depth_first = b.text("mode") == "DCR";
  if (type.rank() != 4) return b.fail("takes [N, C, H, W], not " + to_string(type));
  if (!depth_first && b.text("mode") != "CRD") return b.fail("mode must be DCR or CRD");
  const Index channels = type.dims[1];
  if (!channels.is_constant() || block < 1 || block > 1 << 15 ||
      channels.constant() % (block * block) != 0) {
    return b.fail("blocksize " + std::to_string(block) + " squared must divide " +
                  to_string(channels) + " channels");
  }
  const std::int64_t deep = channels.constant() / (block * block);
  const std::int64_t batch = target_of_axis(type, 0);
  const std::int64_t height = target_of_axis(type, 2);
  const std::int64_t width = target_of_axis(type, 3);
  // The two block axes are split off the channels, moved behind height and width, and joined with
  // them.
  const Value apart =
      b("reshape", {x},
        {{"shape", depth_first ? Integers{batch, block, block, deep, height, width}
                               : Integers{batch, deep, block, block, height, width}}});
  const Value mixed =
      b("transpose", {apart},
        {{"perm", depth_first ? Integers{0, 3, 4, 1, 5, 2} : Integers{0, 1, 4, 2, 5, 3}}});
  // [N, deep, H, block, W, block]: two pairs of axes become one each.
  Integers joined{target_of_axis(b.type(mixed), 0), deep, target_of_axes(b.type(mixed), 2, 4),
                  target_of_axes(b.type(mixed), 4, 6)};
  if (joined[2] == kInferredSize && joined[3] == kInferredSize) {
    return b.fail("height or width must be known; bind symbols (--bind NAME=SIZE)");
  }
  return b("reshape", {mixed}, {{"shape", joined}});
}

}  // namespace

Operator depth_to_space() {
  return composite("depth_to_space",
                   "Channels moved into blocks of height and width: [N, C, H, W] becomes "
                   "[N, C/block^2, H*block, W*block]",
                   {"x"})
      .attr("blocksize", AttrKind::kInteger, "edge of a block")
      .attr("mode", std::string("DCR"),
            "order of the parts of a channel: DCR (block, channel) or CRD (channel, block)")
      .one_of({"DCR", "CRD"})
      .shown_on({"f32[N,12,H,5]"}, {{"blocksize", std::int64_t{2}}})
      .with_body(build)
      .onnx("DepthToSpace", 11);
}

}  // namespace egret::ir::ops
