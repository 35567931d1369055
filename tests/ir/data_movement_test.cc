// SPDX-License-Identifier: Apache-2.0
// Shape rules and index maps of the operators that move elements.
#include <gtest/gtest.h>

#include "ir/core/size_reference.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "ir/graph/operator.h"

namespace egret::ir {
namespace {

const Index kN = symbolic_dim("N");
const Index kS = symbolic_dim("S");

base::Result<Denotation> denoted(std::string_view op, const Attrs& given,
                                 std::initializer_list<TensorType> inputs) {
  EGRET_ASSIGN_OR_RETURN(const Attrs attrs, canonical_attrs(get_operator(op).attrs(), given));
  return denote(get_operator(op), attrs, std::span(inputs.begin(), inputs.size()));
}

// "TYPE: VALUE", or the reason why there is none.
std::string meaning(std::string_view op, const Attrs& attrs,
                    std::initializer_list<TensorType> inputs) {
  const auto d = denoted(op, attrs, inputs);
  if (!d.ok()) return d.status().message();
  const std::string names[] = {"x", "y", "z"};
  return to_string(d->type) + ": " + to_string(d->value, names);
}

std::string type_of(std::string_view op, const Attrs& attrs,
                    std::initializer_list<TensorType> inputs) {
  const auto d = denoted(op, attrs, inputs);
  return d.ok() ? to_string(d->type) : d.status().message();
}

TEST(Reshape, ReadsUnchangedAxesAsTheyAre) {
  const TensorType x(DType::kF32, Dims{kN, 6, 4});
  EXPECT_EQ(meaning("reshape", {{"shape", Integers{-2, 2, 3, 4}}}, {x}),
            "f32[N,2,3,4]: x[i0, i1 + i2*3, i3]");
}

TEST(Reshape, FlattensWithoutDivision) {
  const TensorType x(DType::kF32, Dims{2, 3, kS});
  EXPECT_EQ(meaning("reshape", {{"shape", Integers{6, -4}}}, {x}),
            "f32[6,S]: x[div(i0, 3), mod(i0, 3), i1]");
  EXPECT_EQ(meaning("reshape", {{"shape", Integers{2, 1, -1}}}, {x}),
            "f32[2,1,S*3]: x[i0, div(i1, S), mod(i1, S)]");
}

TEST(Reshape, InfersASymbolicSizeByCancelling) {
  const TensorType x(DType::kF32, Dims{kN, kS, 768});
  EXPECT_EQ(type_of("reshape", {{"shape", Integers{-2, -1, 12, 64}}}, {x}), "f32[N,S,12,64]");
  EXPECT_EQ(type_of("reshape", {{"shape", Integers{-1, 768}}}, {x}), "f32[N*S,768]");
}

TEST(Reshape, RefusesAnotherNumberOfElements) {
  const TensorType x(DType::kF32, {2, 3});
  EXPECT_EQ(type_of("reshape", {{"shape", Integers{4}}}, {x}),
            "reshape: f32[2,3] has not as many elements as the target f32[4]");
  EXPECT_EQ(type_of("reshape", {{"shape", Integers{-1, 4}}}, {x}),
            "reshape: the elements of f32[2,3] do not fill [-1, 4]");
  EXPECT_EQ(type_of("reshape", {{"shape", Integers{-1, -1}}}, {x}),
            "reshape: only one size can be inferred");
  EXPECT_EQ(type_of("reshape", {{"shape", Integers{1LL << 40, 1LL << 40}}}, {x}),
            "reshape: the target shape is too large");
}

TEST(Reshape, KeepsEmptyTensorsEmpty) {
  const TensorType x(DType::kF32, {0, 3});
  EXPECT_EQ(type_of("reshape", {{"shape", Integers{3, 0, 5}}}, {x}), "f32[3,0,5]");
  EXPECT_EQ(type_of("reshape", {{"shape", Integers{3, 1}}}, {x}),
            "reshape: the input and the target differ in elements");
}

TEST(SizeReference, ResolvesToNumbersWhereSizesAreKnown) {
  const TensorType x(DType::kF32, Dims{kN, 6, 4});
  EXPECT_EQ(resolved_target(x, {-2, -1}), (Integers{-2, 24}));
  EXPECT_EQ(resolved_target({DType::kF32, {2, 6, 4}}, {-2, -1}), (Integers{2, 24}));
  EXPECT_EQ(target_of_axes(x, 1, 3), 24);
  EXPECT_EQ(target_of_axes(x, 0, 1), size_of_axis(0));
  EXPECT_EQ(target_of_axes(x, 0, 2), kInferredSize);
}

TEST(Broadcast, RepeatsSizesOfOne) {
  const TensorType x(DType::kF32, Dims{kN, 1});
  EXPECT_EQ(meaning("broadcast", {{"shape", Integers{5, -2, 3}}}, {x}), "f32[5,N,3]: x[i0, 0]");
  EXPECT_EQ(type_of("broadcast", {{"shape", Integers{4}}}, {{DType::kF32, {3}}}),
            "broadcast: f32[3] does not broadcast to f32[4]");
}

TEST(Slice, StaysInRange) {
  const TensorType x(DType::kF32, {10});
  const auto slice = [&](std::int64_t start, std::int64_t size, std::int64_t step) {
    return type_of("slice", {{"axis", 0}, {"start", start}, {"size", size}, {"step", step}}, {x});
  };
  EXPECT_EQ(slice(1, 3, 3), "f32[3]");
  EXPECT_EQ(slice(9, 10, -1), "f32[10]");
  EXPECT_EQ(slice(0, 0, 1), "f32[0]");
  EXPECT_EQ(slice(1, 4, 3), "slice: 4 elements from 1 by 3 leave an axis of size 10");
  EXPECT_EQ(slice(9, 11, -1), "slice: 11 elements from 9 by -1 leave an axis of size 10");
}

TEST(Concat, AddsSizesAlongItsAxis) {
  const TensorType a(DType::kF32, Dims{kN, 3});
  const TensorType b(DType::kF32, Dims{kN, 4});
  EXPECT_EQ(meaning("concat", {{"axis", 1}}, {a, b}),
            "f32[N,7]: select(i0 < 3, x[i1, i0], y[i1, i0 - 3])");
  EXPECT_EQ(type_of("concat", {{"axis", 0}}, {a, b}),
            "concat: input 1 has size 4 in axis 1, not 3");
}

TEST(Pad, GuardsConstantsAndMirrorsReflections) {
  const TensorType x(DType::kF32, Dims{kN});
  EXPECT_EQ(meaning("pad", {{"before", Integers{1}}, {"after", Integers{2}}}, {x}),
            "f32[N + 3]: select(0 <= i0 - 1 and i0 <= N, x[i0 - 1], 0)");
  EXPECT_EQ(
      type_of("pad",
              {{"before", Integers{1}}, {"after", Integers{0}}, {"mode", std::string("edge")}},
              {{DType::kF32, {0}}}),
      "pad: mode edge pads an empty axis");
}

TEST(Pad, RemovesElementsWhereItIsNegative) {
  const TensorType x(DType::kF32, Dims{kN});
  EXPECT_EQ(meaning("pad", {{"before", Integers{-1}}, {"after", Integers{1}}}, {x}),
            "f32[N]: select(0 <= i0 + 1 and i0 + 2 <= N, x[i0 + 1], 0)");
  const auto type = [](std::int64_t before, std::int64_t after, const char* mode) {
    return type_of(
        "pad",
        {{"before", Integers{before}}, {"after", Integers{after}}, {"mode", std::string(mode)}},
        {{DType::kF32, {5}}});
  };
  EXPECT_EQ(type(-2, -3, "constant"), "f32[0]");
  EXPECT_EQ(type(-2, 7, "constant"), "f32[10]");
  EXPECT_EQ(type(-2, -4, "constant"), "pad: negative padding removes more than the axis has");
  EXPECT_EQ(type(-1, 0, "edge"), "pad: mode edge adds elements at the ends alone");
}

TEST(Pad, AddsElementsBetweenOthers) {
  const auto type = [](std::int64_t size, const Integers& interior, const char* mode) {
    return type_of("pad",
                   {{"before", Integers{1}},
                    {"after", Integers{-2}},
                    {"interior", interior},
                    {"mode", std::string(mode)}},
                   {{DType::kF32, {size}}});
  };
  EXPECT_EQ(type(4, {2}, "constant"), "f32[9]");
  EXPECT_EQ(type(1, {9}, "constant"), "f32[0]");
  EXPECT_EQ(type(4, {-1}, "constant"), "pad: interior padding must not be negative");
  EXPECT_EQ(type(4, {2, 2}, "constant"), "pad: interior takes one number an axis, or none at all");
  EXPECT_EQ(type(4, {2}, "wrap"), "pad: mode wrap adds elements at the ends alone");
  Tensor x(TensorType(DType::kF32, {3}));
  for (int i = 0; i < 3; ++i) x.set_f64(i, i + 1);
  const Attrs attrs{{"before", Integers{1}},
                    {"after", Integers{-1}},
                    {"interior", Integers{2}},
                    {"mode", std::string("constant")},
                    {"value", 9.0}};
  const auto y = evaluate(get_operator("pad"), attrs, std::vector{x});
  ASSERT_TRUE(y.ok()) << y.status().message();
  // 9 | 1 9 9 2 9 9 3, without the last one
  const double expected[] = {9, 1, 9, 9, 2, 9, 9};
  ASSERT_EQ(y->elements(), std::ssize(expected));
  for (std::int64_t i = 0; i < y->elements(); ++i) EXPECT_EQ(y->f64_at(i), expected[i]) << i;
}

TEST(Gather, CountsModuloTheAxis) {
  const TensorType x(DType::kF32, Dims{kN, 4});
  const TensorType indices(DType::kI64, Dims{3, 2});
  EXPECT_EQ(meaning("gather", {{"axis", 0}}, {x, indices}),
            "f32[3,2,4]: x[mod(index(y[i0, i1]), N), i2]");
  EXPECT_EQ(type_of("gather", {{"axis", 0}}, {x, x}),
            "gather: input 1 must be of integers, not f32");
}

TEST(GatherNd, TakesTuplesFromTheLastAxis) {
  const TensorType x(DType::kF32, Dims{5, 6, 7});
  EXPECT_EQ(type_of("gather_nd", {}, {x, {DType::kI64, {3, 2}}}), "f32[3,7]");
  EXPECT_EQ(type_of("gather_nd", {{"batch_dims", 1}}, {x, {DType::kI64, {5, 2}}}), "f32[5]");
  EXPECT_EQ(type_of("gather_nd", {}, {x, {DType::kI64, {3, 4}}}),
            "gather_nd: indices have more parts than x has axes");
}

TEST(Scatter, WritesTheLastUpdateOrCombinesAll) {
  const TensorType x(DType::kF32, Dims{kN});
  const TensorType i(DType::kI64, {3});
  const TensorType u(DType::kF32, {3});
  EXPECT_EQ(meaning("scatter_elements", {{"reduction", std::string("add")}}, {x, i, u}),
            "f32[N]: x[i0] + (sum i1 < 3 where i0 == mod(index(y[i1]), N). z[i1])");
  EXPECT_EQ(type_of("scatter_nd", {},
                    {{DType::kF32, {4, 5}}, {DType::kI64, {2, 1}}, {DType::kF32, {2, 5}}}),
            "f32[4,5]");
  EXPECT_EQ(type_of("scatter_nd", {},
                    {{DType::kF32, {4, 5}}, {DType::kI64, {2, 1}}, {DType::kF32, {2, 4}}}),
            "scatter_nd: x and updates differ in axis 1 of x");
}

TEST(DepthToSpace, KeepsASymbolicBatch) {
  const TensorType x(DType::kF32, Dims{kN, 8, 2, 3});
  const auto type = infer_type(get_operator("depth_to_space"),
                               {{"blocksize", 2}, {"mode", std::string("CRD")}}, std::span(&x, 1));
  ASSERT_TRUE(type.ok()) << type.status().message();
  EXPECT_EQ(to_string(*type), "f32[N,2,4,6]");
  const auto back =
      infer_type(get_operator("space_to_depth"), {{"blocksize", 2}}, std::span(&*type, 1));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, x);
}

TEST(Shape, IsKnownOfSymbolicSizes) {
  const TensorType x(DType::kF32, Dims{kN, 4, kS});
  EXPECT_EQ(meaning("shape", {{"start", 0}, {"end", 2}}, {x}),
            "i64[2]: select(i0 == 0, scalar(N), 4)");
  EXPECT_EQ(meaning("size", {}, {x}), "i64[]: scalar(N*S*4)");
}

TEST(Makers, NeedNoInput) {
  EXPECT_EQ(meaning("eye", {{"rows", 2}, {"columns", 3}, {"dtype", std::string("f32")}}, {}),
            "f32[2,3]: select(i0 == i1, 1, 0)");
  EXPECT_EQ(meaning("iota", {{"size", 5}, {"step", 2.0}, {"dtype", std::string("i64")}}, {}),
            "i64[5]: 2*scalar(i0)");
  EXPECT_EQ(
      meaning("fill", {{"shape", Integers{2}}, {"value", 0.5}, {"dtype", std::string("f64")}}, {}),
      "f64[2]: 0.5");
  EXPECT_EQ(
      type_of("fill", {{"shape", Integers{2}}, {"value", 0.5}, {"dtype", std::string("q")}}, {}),
      "fill: there is no element type 'q'");
}

TEST(Patch, ReplacesABox) {
  const TensorType x(DType::kF32, Dims{kN, 6});
  EXPECT_EQ(meaning("patch", {{"start", Integers{0, 2}}}, {x, {DType::kF32, {kN, 3}}}),
            "f32[N,6]: select(0 <= i0 - 2 and i0 - 1 <= 3, y[i1, i0 - 2], x[i1, i0])");
  EXPECT_EQ(type_of("patch", {{"start", Integers{0, 4}}}, {x, {DType::kF32, {kN, 3}}}),
            "patch: the patch leaves axis 1");
  EXPECT_EQ(type_of("patch", {{"start", Integers{0}}}, {x, x}),
            "patch: start takes one number an axis");
}

}  // namespace
}  // namespace egret::ir
