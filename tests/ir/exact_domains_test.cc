// SPDX-License-Identifier: Apache-2.0
// The exact domains, and their agreement with the f64 interpreter where f64 is exact.
#include <gtest/gtest.h>

#include "ir/evaluate/exact.h"
#include "ir/evaluate/field.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"

namespace egret::ir {
namespace {

Attrs conv_attrs(Integers strides, Integers pads) {
  return *canonical_attrs(
      get_operator("conv").attrs(),
      {{"strides", std::move(strides)}, {"pads", std::move(pads)}, {"dilations", Integers{1, 1}}});
}

Tensor small_integers(DType dtype, Shape shape, base::Random& random) {
  Tensor result(dtype, shape);
  for (std::int64_t i = 0; i < result.elements(); ++i) result.set_i64(i, random.between(-9, 9));
  return result;
}

// Evaluates in f64, i64, rationals and the field, and expects one answer.
void expect_domains_agree(const Operator& op, const Attrs& attrs, std::vector<Shape> shapes) {
  base::Random random(7);
  std::vector<Tensor> reals;
  std::vector<Tensor> integers;
  std::vector<ExactTensor> exact;
  std::vector<FieldTensor> field;
  for (const Shape& shape : shapes) {
    reals.push_back(small_integers(DType::kF64, shape, random));
    integers.emplace_back(DType::kI64, shape);
    for (std::int64_t i = 0; i < reals.back().elements(); ++i) {
      integers.back().set_i64(i, reals.back().i64_at(i));
    }
    exact.push_back(ExactTensor::of(reals.back()));
    field.push_back(FieldTensor::of(reals.back()));
  }
  const auto in_f64 = evaluate(op, attrs, reals);
  const auto in_i64 = evaluate(op, attrs, integers);
  const auto in_exact = evaluate_exact(op, attrs, exact);
  const auto in_field = evaluate_field(op, attrs, field);
  ASSERT_TRUE(in_f64.ok() && in_i64.ok() && in_exact.ok() && in_field.ok()) << op.name();
  ASSERT_GT(in_f64->elements(), 0);
  EXPECT_EQ(in_i64->dtype(), DType::kI64);
  EXPECT_EQ(*in_exact, ExactTensor::of(*in_f64)) << op.name();
  EXPECT_EQ(*in_field, FieldTensor::of(*in_f64)) << op.name();
  for (std::int64_t i = 0; i < in_f64->elements(); ++i) {
    ASSERT_EQ(in_f64->f64_at(i), static_cast<double>(in_i64->i64_at(i))) << op.name();
  }
}

TEST(Domains, AgreeOnSmallIntegers) {
  expect_domains_agree(get_operator("matmul"), {}, {{2, 3, 4}, {4, 5}});
  expect_domains_agree(get_operator("conv"), conv_attrs({2, 1}, {1, 1, 0, 1}),
                       {{1, 3, 5, 6}, {4, 3, 3, 2}});
  expect_domains_agree(get_operator("mul"), {}, {{2, 1, 4}, {3, 1}});
  expect_domains_agree(get_operator("reduce_sum"),
                       {{"axes", Integers{0, 2}}, {"keepdims", std::int64_t{0}}}, {{2, 3, 4}});
}

TEST(Exact, HasNoRounding) {
  ExactTensor a(TensorType(DType::kF32, {1}));
  ExactTensor b(TensorType(DType::kF32, {1}));
  a[0] = Rational(1, 3);
  b[0] = Rational(1, 7);
  const ExactTensor inputs[] = {a, b};
  EXPECT_EQ((*evaluate_exact(get_operator("add"), {}, inputs))[0], Rational(10, 21));
  b[0] = 0;
  const ExactTensor zero[] = {a, b};
  EXPECT_EQ(evaluate_exact(get_operator("div"), {}, zero).status().message(),
            "div: division by zero");
}

TEST(Exact, ElementsWithoutAValueFailOnlyWhatReadsThem) {
  GraphBuilder b;
  const Value inverse = b.add("reciprocal", {b.input("x", TensorType(DType::kF32, {3}))});
  const Attrs last_two{
      {"axis", std::int64_t{0}}, {"start", std::int64_t{1}}, {"size", std::int64_t{2}}};
  b.output("last", b.add("slice", {inverse}, last_two));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  ExactTensor x(TensorType(DType::kF32, {3}));
  x[1] = 2;
  x[2] = 3;
  const auto without_the_first = interpret_exact(*graph, {&x, 1});
  ASSERT_TRUE(without_the_first.ok()) << without_the_first.status().message();
  EXPECT_EQ(without_the_first->front()[0], Rational(1, 2));
  EXPECT_EQ(without_the_first->front()[1], Rational(1, 3));
  std::swap(x[0], x[2]);
  EXPECT_EQ(interpret_exact(*graph, {&x, 1}).status().message(),
            "slice: reciprocal: division by zero");
}

TEST(Exact, OpaqueFunctionsAreFunctionsWithinTheirRange) {
  ExactTensor x(TensorType(DType::kF32, {3}));
  x[0] = Rational(-5, 3);
  x[1] = Rational(5, 3);
  x[2] = Rational(-10, 6);
  const auto e = evaluate_exact(get_operator("exp"), {}, {&x, 1}, 1);
  ASSERT_TRUE(e.ok()) << e.status().message();
  EXPECT_EQ((*e)[0], (*e)[2]);
  EXPECT_NE((*e)[0], (*e)[1]);
  EXPECT_GT((*e)[0], 0);
  EXPECT_NE((*e)[0], (*evaluate_exact(get_operator("exp"), {}, {&x, 1}, 2))[0]);
  const auto t = evaluate_exact(get_operator("tanh"), {}, {&x, 1}, 1);
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ((*t)[0], -(*t)[1]);
  EXPECT_LT(abs((*t)[0]), 1);
}

TEST(Exact, RoundsAsNumbersDo) {
  ExactTensor x(TensorType(DType::kF32, {4}));
  x[0] = Rational(-5, 2);
  x[1] = Rational(7, 2);
  x[2] = Rational(-1, 3);
  x[3] = 4;
  const auto floor = evaluate_exact(get_operator("floor"), {}, {&x, 1});
  const auto ceil = evaluate_exact(get_operator("ceil"), {}, {&x, 1});
  const auto round = evaluate_exact(get_operator("round"), {}, {&x, 1});
  ASSERT_TRUE(floor.ok() && ceil.ok() && round.ok());
  const int floors[] = {-3, 3, -1, 4};
  const int ceils[] = {-2, 4, 0, 4};
  const int rounds[] = {-2, 4, 0, 4};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ((*floor)[i], floors[i]);
    EXPECT_EQ((*ceil)[i], ceils[i]);
    EXPECT_EQ((*round)[i], rounds[i]);
  }
}

TEST(Field, ElementsOfDyadicNumbersAreExact) {
  EXPECT_EQ(field_element(0), 0U);
  EXPECT_EQ(field_element(3), 3U);
  EXPECT_EQ(field_element(-1), kFieldPrime - 1);
  EXPECT_EQ(field_element(0x1p61), 1U);
  Tensor half = Tensor::scalar(DType::kF64, 0.375);
  const FieldTensor inputs[] = {FieldTensor::of(half),
                                FieldTensor::of(Tensor::scalar(DType::kF64, 8))};
  EXPECT_EQ(evaluate_field(get_operator("mul"), {}, inputs)->values()[0], 3U);
  EXPECT_EQ(evaluate_field(get_operator("div"), {}, inputs)->values()[0], field_element(0.046875));
}

TEST(Field, MaximumIsASemilattice) {
  base::Random random(3);
  const TensorType type(DType::kF32, {64});
  const FieldTensor a = FieldTensor::random(type, random);
  const FieldTensor b = FieldTensor::random(type, random);
  const FieldTensor c = FieldTensor::random(type, random);
  const auto apply = [](const char* op, const FieldTensor& x, const FieldTensor& y) {
    const FieldTensor inputs[] = {x, y};
    return *evaluate_field(get_operator(op), {}, inputs, 11);
  };
  EXPECT_EQ(apply("max", a, b), apply("max", b, a));
  EXPECT_EQ(apply("max", apply("max", a, b), c), apply("max", a, apply("max", b, c)));
  EXPECT_EQ(apply("max", a, apply("min", a, b)), a);
  EXPECT_NE(apply("max", a, b), a);
  EXPECT_NE(apply("max", a, b), apply("min", a, b));
}

TEST(Field, FingerprintsOfEqualGraphsAgree) {
  // (a b) c = a (b c), and not (a c) b.
  const auto product = [](bool left, bool swapped) {
    GraphBuilder builder;
    const Value a = builder.input("a", {DType::kF32, {3, 3}});
    Value b = builder.input("b", {DType::kF32, {3, 3}});
    Value c = builder.input("c", {DType::kF32, {3, 3}});
    if (swapped) std::swap(b, c);
    builder.output("y", left ? builder.add("matmul", {builder.add("matmul", {a, b}), c})
                             : builder.add("matmul", {a, builder.add("matmul", {b, c})}));
    return *builder.finish();
  };
  base::Random random(5);
  std::vector<FieldTensor> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(FieldTensor::random({DType::kF32, {3, 3}}, random));
  const auto left = *interpret_field(product(true, false), inputs);
  EXPECT_EQ(left, *interpret_field(product(false, false), inputs));
  EXPECT_NE(left, *interpret_field(product(true, true), inputs));
}

}  // namespace
}  // namespace egret::ir
