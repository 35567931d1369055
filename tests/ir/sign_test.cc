// SPDX-License-Identifier: Apache-2.0
#include "ir/analysis/sign.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/operator.h"

namespace egret::ir {
namespace {

// Of an operator's output, if all elements of its inputs have this sign.
Sign sign_of_operator(std::string_view op, const std::vector<TensorType>& types, Sign sign,
                      const Attrs& attrs = {}) {
  const auto canonical = canonical_attrs(get_operator(op).attrs(), attrs);
  EXPECT_TRUE(canonical.ok()) << canonical.status().message();
  const auto denotation = denote(get_operator(op), *canonical, types);
  EXPECT_TRUE(denotation.ok()) << denotation.status().message();
  std::vector<SignedInput> inputs;
  inputs.reserve(types.size());
  for (const TensorType& type : types) inputs.push_back({type.dtype, sign});
  return sign_of(*denotation, inputs);
}

const TensorType kFloats(DType::kF32, {2, 3});
const TensorType kWhole(DType::kI32, {2, 3});

TEST(Sign, FollowsFromDefinitions) {
  EXPECT_EQ(sign_of_operator("exp", {kFloats}, Sign::kUnknown), Sign::kPositive);
  EXPECT_EQ(sign_of_operator("relu", {kFloats}, Sign::kUnknown), Sign::kNotNegative);
  EXPECT_EQ(sign_of_operator("sigmoid", {kFloats}, Sign::kUnknown), Sign::kPositive);
  EXPECT_EQ(sign_of_operator("sub", {kFloats, kFloats}, Sign::kPositive), Sign::kUnknown);
  EXPECT_EQ(sign_of_operator("add", {kFloats, kFloats}, Sign::kNotNegative), Sign::kNotNegative);
  EXPECT_EQ(sign_of_operator("add", {kFloats, kFloats}, Sign::kPositive), Sign::kPositive);
  EXPECT_EQ(sign_of_operator("mul", {kFloats, kFloats}, Sign::kUnknown), Sign::kUnknown);
  EXPECT_EQ(
      sign_of_operator("matmul", {{DType::kF32, {2, 3}}, {DType::kF32, {3, 4}}}, Sign::kPositive),
      Sign::kNotNegative);
  EXPECT_EQ(sign_of_operator("reduce_max", {kFloats}, Sign::kPositive, {{"axes", Integers{1}}}),
            Sign::kPositive);
}

TEST(Sign, OfIntegersMindsThatTheyAreCutOff) {
  EXPECT_EQ(sign_of_operator("div", {kFloats, kFloats}, Sign::kPositive), Sign::kPositive);
  EXPECT_EQ(sign_of_operator("div", {kWhole, kWhole}, Sign::kPositive), Sign::kNotNegative);
  EXPECT_EQ(sign_of_operator("pow", {kFloats, kFloats}, Sign::kPositive), Sign::kPositive);
  EXPECT_EQ(sign_of_operator("cast", {kFloats}, Sign::kPositive, {{"to", std::string("i32")}}),
            Sign::kUnknown);
  EXPECT_EQ(sign_of_operator("cast", {kFloats}, Sign::kUnknown, {{"to", std::string("u8")}}),
            Sign::kNotNegative);
}

// 46341 * 46341 is -2147479015 as i32, and the magnitude of the least integer is negative.
TEST(Sign, IsUnknownWhereIntegersWrapAround) {
  const TensorType tiny(DType::kI8, {2, 3});
  for (const char* const op : {"add", "mul", "pow"})
    EXPECT_EQ(sign_of_operator(op, {kWhole, kWhole}, Sign::kPositive), Sign::kUnknown) << op;
  EXPECT_EQ(sign_of_operator("abs", {tiny}, Sign::kUnknown), Sign::kUnknown);
  EXPECT_EQ(sign_of_operator("reduce_sum", {kWhole}, Sign::kPositive, {{"axes", Integers{1}}}),
            Sign::kUnknown);
  EXPECT_EQ(sign_of_operator("reduce_max", {kWhole}, Sign::kPositive, {{"axes", Integers{1}}}),
            Sign::kPositive);
  EXPECT_EQ(sign_of_operator("add", {{DType::kU8, {2}}, {DType::kU8, {2}}}, Sign::kPositive),
            Sign::kNotNegative);
}

TEST(Sign, OfATensorIsThatOfItsLeastElement) {
  Tensor tensor = Tensor::filled(kFloats, 2);
  EXPECT_EQ(sign_of(tensor), Sign::kPositive);
  tensor.set_f64(5, 0);
  EXPECT_EQ(sign_of(tensor), Sign::kNotNegative);
  tensor.set_f64(4, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(sign_of(tensor), Sign::kUnknown);
  tensor.set_f64(4, -1);
  EXPECT_EQ(sign_of(tensor), Sign::kUnknown);
}

// Each sign that is claimed holds for the elements that the interpreter computes.
TEST(Sign, HoldsForAllOperatorsOnRandomInputs) {
  base::Random random(5);
  int claims = 0;
  for (const Operator* op : all_operators()) {
    if (op->is_composite() || op->min_inputs() > 2) continue;
    for (const TensorType& type : {kFloats, kWhole, TensorType(DType::kU8, {2, 3})}) {
      const std::vector<TensorType> types(static_cast<std::size_t>(op->min_inputs()), type);
      const auto attrs = canonical_attrs(op->attrs(), {});
      if (!attrs.ok() || types.empty()) continue;
      const auto denotation = denote_concrete(*op, *attrs, types);
      if (!denotation.ok()) continue;
      for (const Sign sign : {Sign::kUnknown, Sign::kNotNegative, Sign::kPositive}) {
        const std::vector<SignedInput> inputs(types.size(), {type.dtype, sign});
        const Sign claimed = sign_of(*denotation, inputs);
        if (claimed == Sign::kUnknown) continue;
        std::vector<Tensor> values;
        for (std::size_t i = 0; i < types.size(); ++i) {
          Tensor value(type);
          const bool any = sign == Sign::kUnknown && sign_of(type.dtype) == Sign::kUnknown;
          for (std::int64_t k = 0; k < value.elements(); ++k) {
            const double small = static_cast<double>(
                random.between(any ? -3 : (sign == Sign::kPositive ? 1 : 0), 3));
            // Near the ends of the type, sums and products wrap around.
            const double large = type == kWhole ? 0x1p31 - 4 : 250;
            const bool near_end = is_integer(type.dtype) && random.chance(0.4);
            value.set_f64(k, near_end ? (small < 0 ? small - large : small + large) : small);
          }
          values.push_back(std::move(value));
        }
        const auto result = evaluate(*op, *attrs, values);
        if (!result.ok()) continue;
        ++claims;
        for (std::int64_t k = 0; k < result->elements(); ++k) {
          const double element = result->f64_at(k);
          if (std::isnan(element)) continue;
          EXPECT_GE(sign_of(element), claimed) << op->name() << ' ' << to_string(type);
        }
      }
    }
  }
  EXPECT_GT(claims, 60);
}

}  // namespace
}  // namespace egret::ir
