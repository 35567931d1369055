// SPDX-License-Identifier: Apache-2.0
// Resampling against the interpreter.
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using ir::Attrs;
using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Shape;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

struct Maker {
  GraphBuilder b;
  base::Random random;

  explicit Maker(std::uint64_t seed) : random(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) { return random.between(low, high); }
  Value input(const Shape& shape) { return b.input("x", TensorType(DType::kF32, shape)); }
  // Checks the graph, and that no operator fell back to the interpreter.
  void check(Value output, std::uint64_t seed) {
    b.output("y", output);
    const auto graph = b.finish();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const PlanReport report = expect_matches_reference(*graph, seed);
    for (const auto& fallback : report.fallbacks)
      ADD_FAILURE() << fallback.node << " (" << fallback.op << "): " << fallback.reason;
  }
};

class Resampling : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Resampling, ::testing::Range<std::uint64_t>(0, 50));

// One axis or two, in row-major order, in blocks of channels, channels last, and as a view.
TEST_P(Resampling, OfOneAxisOrTwoInAnyLayout) {
  Maker m(GetParam() * 7 + 19);
  constexpr std::int64_t channels[] = {1, 3, 8, 16, 33};
  const Shape shape{m.between(1, 2), channels[m.between(0, 4)], m.between(1, 9), m.between(1, 9)};
  const char* const modes[] = {"nearest", "linear", "cubic"};
  const char* const coordinates[] = {"half_pixel", "asymmetric", "align_corners",
                                     "pytorch_half_pixel", "tf_half_pixel_for_nn"};
  Value x = m.input(shape);
  const std::int64_t form = m.between(0, 3);
  if (form == 1) {  // a convolution leaves it in the layout that it prefers
    x = m.b.add("conv",
                {x, m.b.constant(Tensor::random(TensorType(DType::kF32, Shape{16, shape[1], 1, 1}),
                                                m.random))},
                {{"strides", Integers{1, 1}},
                 {"dilations", Integers{1, 1}},
                 {"pads", Integers{0, 0, 0, 0}},
                 {"group", std::int64_t{1}}});
  } else if (form == 2) {
    x = m.b.add("transpose", {m.b.add("relu", {x})}, {{"perm", Integers{0, 2, 3, 1}}});
  } else if (form == 3) {
    x = m.b.add("slice", {x},
                {{"axis", std::int64_t{3}},
                 {"start", std::int64_t{0}},
                 {"size", m.between(1, shape[3])},
                 {"step", std::int64_t{1}}});
  }
  const std::int64_t first = m.between(form == 2 ? 1 : 2, form == 2 ? 2 : 3);
  const std::string mode = modes[m.between(0, 2)];
  const std::int64_t factor = m.between(1, 4);
  for (std::int64_t i = m.between(1, 2); i-- > 0;) {
    const std::int64_t axis = i == 0 ? first : (form == 2 ? 3 : 5) - first;
    const std::int64_t size = m.b.type(x).shape()[static_cast<std::size_t>(axis)];
    const bool whole = m.random.chance(0.6);
    x = m.b.add("resize", {x},
                {{"axis", axis},
                 {"size", whole ? size * factor : m.between(1, 12)},
                 {"scale", 0.0},
                 {"mode", mode},
                 {"coordinates", std::string(coordinates[m.between(0, 4)])},
                 {"nearest", std::string(m.random.chance(0.5) ? "floor" : "round_prefer_ceil")},
                 {"exclude_outside", m.between(0, 1)}});
  }
  m.check(m.random.chance(0.5) ? m.b.add("relu", {x}) : x, GetParam());
}

TEST_P(Resampling, ThatExtrapolates) {
  Maker m(GetParam() * 7 + 20);
  const Value x = m.input({2, 3, m.between(1, 5), m.between(2, 5)});
  m.check(m.b.add("resize", {x},
                  {{"axis", std::int64_t{3}},
                   {"size", m.between(1, 9)},
                   {"scale", 0.0},
                   {"mode", std::string("linear")},
                   {"coordinates", std::string("tf_crop_and_resize")},
                   {"roi_start", -0.3},
                   {"roi_end", 1.2},
                   {"extrapolation", 7.0}}),
          GetParam());
}

TEST(ResizeKernel, TakesBothAxesOfAnImage) {
  for (const bool last : {false, true}) {
    GraphBuilder b;
    const std::int64_t axis = last ? 1 : 2;
    const Value x = b.input("x", TensorType(DType::kF32, Shape{1, 8, 8, 8}));
    const Attrs rows = {{"axis", axis}, {"size", std::int64_t{16}}, {"scale", 2.0}};
    const Attrs columns = {{"axis", axis + 1}, {"size", std::int64_t{16}}, {"scale", 2.0}};
    b.output("y", b.add("resize", {b.add("resize", {x}, rows)}, columns));
    const auto graph = b.finish();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const PlanReport report = expect_matches_reference(*graph, 1, 0);
    ASSERT_EQ(report.kernels.size(), 1U);
    EXPECT_EQ(report.kernels[0].name, "resize");
    EXPECT_EQ(report.kernels[0].implementation, "own:two axes");
    // No rows between the axes: they are read where they lie.
    EXPECT_EQ(report.arena_bytes, 0);
  }
}

}  // namespace
}  // namespace egret::backends
