// SPDX-License-Identifier: Apache-2.0
#include "tests/movement/movement_models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "base/random.h"
#include "ir/graph/builder.h"

namespace egret::movement {
namespace {

using ir::Attrs;
using ir::DType;
using ir::Integers;
using ir::Shape;
using ir::Value;

// A program under construction. Images of TensorFlow are [N, H, W, C].
struct Maker {
  ir::GraphBuilder b;
  base::Random random{5};

  Value input(const Shape& shape, DType type = DType::kF32) { return b.input("x", {type, shape}); }
  Value weights(const Shape& shape) {
    ir::Tensor tensor = ir::Tensor::random({DType::kF32, shape}, random);
    return b.constant(std::move(tensor));
  }
  Value add(std::string_view op, std::initializer_list<Value> inputs, Attrs attrs = {}) {
    return b.add(op, inputs, std::move(attrs));
  }
  Value turned(Value x, const Integers& perm) { return add("transpose", {x}, {{"perm", perm}}); }
  Value shaped(Value x, const Integers& shape) { return add("reshape", {x}, {{"shape", shape}}); }
  Value part(Value x, std::int64_t axis, std::int64_t start, std::int64_t size,
             std::int64_t step = 1) {
    return add("slice", {x}, {{"axis", axis}, {"start", start}, {"size", size}, {"step", step}});
  }
  Value joined(std::initializer_list<Value> parts, std::int64_t axis) {
    return add("concat", parts, {{"axis", axis}});
  }
  Value channels_first(Value x) { return turned(x, {0, 3, 1, 2}); }
  Value channels_last(Value x) { return turned(x, {0, 2, 3, 1}); }

  // [N, C, H, W]
  Value conv(Value x, std::int64_t filters, std::int64_t kernel = 1, std::int64_t stride = 1,
             std::int64_t pad = -1, std::int64_t group = 1) {
    const std::int64_t channels = b.type(x).shape()[1] / group;
    if (pad < 0) pad = kernel / 2;
    return add("conv", {x, weights({filters, channels, kernel, kernel})},
               {{"strides", Integers{stride, stride}},
                {"dilations", Integers{1, 1}},
                {"pads", Integers{pad, pad, pad, pad}},
                {"group", group}});
  }
  // TensorFlow's layer: [N, H, W, C], the bias added in this order.
  Value conv_last(Value x, std::int64_t filters, std::int64_t kernel = 1, std::int64_t stride = 1,
                  std::int64_t pad = -1, std::int64_t group = 1) {
    const Value y = channels_last(conv(channels_first(x), filters, kernel, stride, pad, group));
    return add("add", {y, weights({filters})});
  }
  Value relu(Value x) { return add("relu", {x}); }
  Value relu6(Value x) { return add("clip", {x}, {{"min", 0.0}, {"max", 6.0}}); }
  Value linear(Value x, std::int64_t columns) {
    return add("matmul", {x, weights({b.type(x).shape().back(), columns})});
  }
  Value layer_norm(Value x) {
    const std::int64_t width = b.type(x).shape().back();
    return add("layer_norm", {x, weights({width}), weights({width})},
               {{"axis", static_cast<std::int64_t>(b.type(x).rank()) - 1}, {"epsilon", 1e-5}});
  }
  Value max_pool(Value x) {
    return add("max_pool", {x},
               {{"kernel", Integers{3, 3}},
                {"strides", Integers{2, 2}},
                {"pads", Integers{1, 1, 1, 1}},
                {"dilations", Integers{1, 1}}});
  }
  // Two axes of an image to twice their size.
  Value doubled(Value x, const std::string& mode) {
    for (const std::int64_t axis : {2, 3}) {
      const std::int64_t size = b.type(x).shape()[static_cast<std::size_t>(axis)];
      x = add("resize", {x},
              {{"axis", axis},
               {"size", 2 * size},
               {"scale", 2.0},
               {"mode", mode},
               {"coordinates", std::string("asymmetric")},
               {"nearest", std::string("floor")}});
    }
    return x;
  }

  ir::Graph finish(std::initializer_list<Value> outputs) {
    int number = 0;
    for (const Value y : outputs) b.output("y" + std::to_string(number++), y);
    auto graph = b.finish();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return graph.ok() ? *std::move(graph) : ir::Graph();
  }
};

ir::Graph residual() {
  Maker m;
  const Value x = m.input({1, 28, 28, 32});
  const Value y = m.conv_last(m.relu(m.conv_last(x, 32, 3)), 32, 3);
  return m.finish({m.relu(m.add("add", {y, x}))});
}

// Batch norms that stayed beside their convolutions, and the activation of MobileNet.
ir::Graph scaled() {
  Maker m;
  Value x = m.input({1, 28, 28, 32});
  for (const std::int64_t group : {1, 32}) {
    x = m.conv_last(x, 32, group == 1 ? 1 : 3, 1, -1, group);
    x = m.add("add", {m.add("mul", {x, m.weights({32})}), m.weights({32})});
    x = m.relu6(x);
  }
  return m.finish({m.conv_last(x, 16)});
}

// Fire module: two branches that meet along the channels, which are the last axis.
ir::Graph fire() {
  Maker m;
  const Value x = m.relu(m.conv_last(m.input({1, 28, 28, 32}), 16));
  const Value a = m.relu(m.conv_last(x, 32)), b = m.relu(m.conv_last(x, 32, 3));
  return m.finish({m.conv_last(m.joined({a, b}, 3), 32)});
}

// SAME at stride 2: padding on one side only, in front of a convolution without.
ir::Graph padded() {
  Maker m;
  const Value x = m.conv_last(m.input({1, 28, 28, 16}), 32);
  const Value wide =
      m.add("pad", {x}, {{"before", Integers{0, 0, 0, 0}}, {"after", Integers{0, 1, 1, 0}}});
  return m.finish({m.relu(m.conv_last(wide, 32, 3, 2, 0))});
}

ir::Graph pooled() {
  Maker m;
  const Value x = m.relu(m.conv_last(m.input({1, 32, 32, 16}), 32, 3));
  const Value y = m.channels_last(m.max_pool(m.channels_first(x)));
  return m.finish({m.conv_last(y, 32)});
}

ir::Graph classifier() {
  Maker m;
  const Value x = m.relu(m.conv_last(m.input({1, 14, 14, 32}), 64, 3));
  const Value mean = m.add("reduce_mean", {x}, {{"axes", Integers{1, 2}}, {"keepdims", 0}});
  return m.finish({m.add("softmax", {m.linear(mean, 100)}, {{"axis", 1}})});
}

// Squeeze and excitation: the mean of a channel gates it.
ir::Graph excitation() {
  Maker m;
  const Value x = m.conv_last(m.input({1, 28, 28, 32}), 64);
  const Value mean = m.add("reduce_mean", {x}, {{"axes", Integers{1, 2}}, {"keepdims", 1}});
  const Value gate = m.add("sigmoid", {m.conv_last(m.relu(m.conv_last(mean, 16)), 64)});
  return m.finish({m.conv_last(m.add("mul", {x, gate}), 32)});
}

// The neck of a detector: an upsampled map beside a finer one.
ir::Graph pyramid(const std::string& mode) {
  Maker m;
  const Value x = m.input({1, 16, 28, 28});
  const Value fine = m.conv(x, 32), coarse = m.conv(m.max_pool(x), 32);
  return m.finish({m.conv(m.add("add", {fine, m.doubled(coarse, mode)}), 32, 3)});
}

// The same with both maps side by side.
ir::Graph pyramid_of_channels() {
  Maker m;
  const Value x = m.input({1, 16, 28, 28});
  const Value fine = m.conv(x, 32), coarse = m.conv(m.max_pool(x), 32);
  return m.finish({m.conv(m.joined({m.doubled(coarse, "nearest"), fine}, 1), 32, 3)});
}

// Boxes of a detector with anchors: maps of two sizes become rows of one list.
ir::Graph boxes() {
  Maker m;
  const Value x = m.input({1, 32, 16, 16});
  const auto rows = [&](Value map) {
    const Value y = m.conv(map, 24, 3);
    return m.shaped(m.channels_last(y), {1, m.b.type(y).elements() / 4, 4});
  };
  const Value fine = rows(x), coarse = rows(m.max_pool(x));
  return m.finish({m.add("sigmoid", {m.joined({fine, coarse}, 1)})});
}

// An encoder's attention, with heads apart.
ir::Graph attention() {
  Maker m;
  const Value x = m.input({1, 64, 128});
  const auto heads = [&](Value of) {
    return m.turned(m.shaped(m.linear(of, 128), {1, 64, 4, 32}), {0, 2, 1, 3});
  };
  const Value keys = m.turned(heads(x), {0, 1, 3, 2});
  const Value scores = m.add(
      "mul", {m.add("matmul", {heads(x), keys}), m.b.scalar(DType::kF32, 1 / std::sqrt(32.0))});
  const Value mixed = m.add("matmul", {m.add("softmax", {scores}, {{"axis", 3}}), heads(x)});
  const Value back = m.shaped(m.turned(mixed, {0, 2, 1, 3}), {1, 64, 128});
  return m.finish({m.layer_norm(m.add("add", {m.linear(back, 128), x}))});
}

// Queries, keys and values of one product, as GPT-2 and vision transformers have it.
ir::Graph joint_attention() {
  Maker m;
  const Value x = m.input({1, 64, 128});
  const Value all = m.turned(m.shaped(m.linear(x, 384), {1, 64, 3, 4, 32}), {2, 0, 3, 1, 4});
  const auto one = [&](std::int64_t which) {
    return m.shaped(m.part(all, 0, which, 1), {1, 4, 64, 32});
  };
  const Value scores = m.add("mul", {m.add("matmul", {one(0), m.turned(one(1), {0, 1, 3, 2})}),
                                     m.b.scalar(DType::kF32, 1 / std::sqrt(32.0))});
  const Value mixed = m.add("matmul", {m.add("softmax", {scores}, {{"axis", 3}}), one(2)});
  const Value back = m.shaped(m.turned(mixed, {0, 2, 1, 3}), {1, 64, 128});
  return m.finish({m.linear(back, 128)});
}

// Products of heads without a softmax between, as in TASO's BERT.
ir::Graph linear_attention() {
  Maker m;
  const Value x = m.input({1, 64, 128});
  const auto heads = [&](Value of) {
    return m.turned(m.shaped(m.linear(of, 128), {1, 64, 4, 32}), {0, 2, 1, 3});
  };
  const Value scores = m.add("matmul", {heads(x), m.turned(heads(x), {0, 1, 3, 2})});
  const Value mixed = m.add("matmul", {scores, heads(x)});
  return m.finish({m.linear(m.shaped(m.turned(mixed, {0, 2, 1, 3}), {1, 64, 128}), 128)});
}

// ConvNeXt: a convolution with channels first, a norm and products with channels last.
ir::Graph convnext() {
  Maker m;
  const Value x = m.input({1, 64, 14, 14});
  const Value y = m.layer_norm(m.channels_last(m.conv(x, 64, 7, 1, 3, 64)));
  const Value wide = m.add("gelu", {m.add("add", {m.linear(y, 256), m.weights({256})})});
  return m.finish({m.add("add", {m.channels_first(m.linear(wide, 64)), x})});
}

// A vision transformer's first layers: patches of an image become rows.
ir::Graph patches() {
  Maker m;
  const Value x = m.conv(m.input({1, 3, 64, 64}), 96, 8, 8, 0);
  const Value rows = m.turned(m.shaped(x, {1, 96, 64}), {0, 2, 1});
  return m.finish({m.linear(m.layer_norm(m.add("add", {rows, m.weights({64, 96})})), 96)});
}

// Bytes of an image become numbers between 0 and 1.
ir::Graph bytes() {
  Maker m;
  const Value x =
      m.add("cast", {m.input({1, 32, 32, 3}, DType::kU8)}, {{"to", std::string("f32")}});
  const Value scaled = m.add("div", {x, m.b.scalar(DType::kF32, 255)});
  return m.finish({m.relu(m.conv_last(m.add("sub", {scaled, m.weights({3})}), 32, 3))});
}

// A gated linear unit: one half of the channels gates the other.
ir::Graph gated() {
  Maker m;
  const Value x = m.conv(m.input({1, 32, 28, 28}), 64);
  const Value y = m.add("mul", {m.part(x, 1, 0, 32), m.add("sigmoid", {m.part(x, 1, 32, 32)})});
  return m.finish({m.conv(y, 32)});
}

// The same of rows.
ir::Graph gated_rows() {
  Maker m;
  const Value x = m.linear(m.input({1, 64, 128}), 256);
  const Value y = m.add("mul", {m.part(x, 2, 0, 128), m.add("silu", {m.part(x, 2, 128, 128)})});
  return m.finish({m.linear(y, 128)});
}

// YOLO's focus: every second element of two axes, side by side.
ir::Graph focus() {
  Maker m;
  const Value x = m.input({1, 3, 64, 64});
  const auto quarter = [&](std::int64_t row, std::int64_t column) {
    return m.part(m.part(x, 2, row, 32, 2), 3, column, 32, 2);
  };
  const Value all = m.joined({quarter(0, 0), quarter(1, 0), quarter(0, 1), quarter(1, 1)}, 1);
  return m.finish({m.relu(m.conv(all, 32, 3))});
}

// ShuffleNet's shuffle of channels between convolutions in groups.
ir::Graph shuffle() {
  Maker m;
  const Value x = m.relu(m.conv(m.input({1, 48, 28, 28}), 48, 1, 1, 0, 3));
  const Value y = m.turned(m.shaped(x, {1, 3, 16, 28, 28}), {0, 2, 1, 3, 4});
  return m.finish({m.conv(m.shaped(y, {1, 48, 28, 28}), 48, 3, 1, 1, 48)});
}

// Rotary positions: halves of each row change places, one with its sign changed.
ir::Graph rotary() {
  Maker m;
  const Value x = m.linear(m.input({1, 64, 128}), 128);
  const Value heads = m.turned(m.shaped(x, {1, 64, 4, 32}), {0, 2, 1, 3});
  const Value swapped =
      m.joined({m.add("neg", {m.part(heads, 3, 16, 16)}), m.part(heads, 3, 0, 16)}, 3);
  const Value turned = m.add("add", {m.add("mul", {heads, m.weights({64, 32})}),
                                     m.add("mul", {swapped, m.weights({64, 32})})});
  return m.finish(
      {m.add("softmax", {m.add("matmul", {turned, m.weights({1, 4, 32, 64})})}, {{"axis", 3}})});
}

// Text recognition: an image's columns become a sequence.
ir::Graph columns() {
  Maker m;
  const Value x = m.relu(m.conv(m.input({1, 32, 1, 80}), 96, 1));
  const Value rows = m.turned(m.shaped(x, {1, 96, 80}), {0, 2, 1});
  return m.finish({m.add("softmax", {m.linear(rows, 97)}, {{"axis", 2}})});
}

}  // namespace

std::vector<MovementModel> movement_models() {
  // Behind a number above 0: what stays, and why.
  return {
      {"residual", residual(), 0},
      {"scaled", scaled(), 0},
      {"fire", fire(), 2},  // oneDNN writes no part of a row of channels: both branches are copied
      {"padded", padded(),
       2},  // padding on one side joins a convolution by a rule, not between transposes
      {"pooled", pooled(), 0},
      {"classifier", classifier(), 0},
      {"excitation", excitation(), 0},
      {"pyramid_nearest", pyramid("nearest"),
       4},  // blocks for convolutions: in, behind the pool, out; the resize
      {"pyramid_linear", pyramid("linear"),
       3},  // blocks for convolutions: in, behind the pool, out
      {"pyramid_of_channels", pyramid_of_channels(), 3},  // blocks in and out, and the resize
      {"boxes", boxes(), 3},  // blocks in; two maps of blocks become rows
      {"attention", attention(), 0},
      {"joint_attention", joint_attention(), 0},
      {"linear_attention", linear_attention(), 0},
      {"convnext", convnext(),
       3},  // blocks in; blocks become rows; a sum is written as its first operand lies
      {"patches", patches(), 2},  // blocks become rows; a sum is written as its first operand lies
      {"bytes", bytes(), 1},      // a cast of bytes joins no region of f32
      {"gated", gated(), 2},      // blocks in and out
      {"gated_rows", gated_rows(), 0},
      {"focus", focus(),
       6},  // no kernel of convolutions reads every second element; channels last in and out
      {"shuffle", shuffle(),
       5},  // blocks in and out; a shuffle of channels in blocks is a copy of its own
      {"rotary", rotary(),
       2},  // a region reads each operand at one stride: halves that change places are copied
      {"columns", columns(), 2},  // blocks in; products read rows
  };
}

}  // namespace egret::movement
