// SPDX-License-Identifier: Apache-2.0
#include "ir/analysis/elementwise.h"

#include <gtest/gtest.h>

#include <vector>

namespace egret::ir {
namespace {

constexpr DType kReal = DType::kF32;

bool is(const char* name, std::vector<DType> dtypes, const Attrs& attrs = {}) {
  const Operator& op = get_operator(name);
  const auto canonical = canonical_attrs(op.attrs(), attrs);
  EXPECT_TRUE(canonical.ok()) << name << ": " << canonical.status().message();
  return canonical.ok() && is_elementwise(op, *canonical, dtypes);
}

TEST(Elementwise, OperatorsReadTheirOperandsAtOnePlace) {
  for (const char* unary : {"relu", "exp", "neg", "identity", "gelu", "hard_swish", "mish"})
    EXPECT_TRUE(is(unary, {kReal})) << unary;
  for (const char* binary : {"add", "sub", "mul", "div", "max", "pow", "prelu", "less"})
    EXPECT_TRUE(is(binary, {kReal, kReal})) << binary;
  EXPECT_TRUE(is("where", {DType::kBool, kReal, kReal}));
  EXPECT_TRUE(is("clip", {kReal}, Attrs{{"min", 0.0}, {"max", 6.0}}));
  EXPECT_TRUE(is("cast", {kReal}, Attrs{{"to", std::string("i64")}}));
  EXPECT_TRUE(
      is("fill", {}, Attrs{{"shape", Integers{}}, {"value", 2.0}, {"dtype", std::string("f32")}}));
}

TEST(Elementwise, OperatorsThatDependOnPlacesAreNot) {
  EXPECT_FALSE(is("matmul", {kReal, kReal}));
  EXPECT_FALSE(is("softmax", {kReal}, Attrs{{"axis", std::int64_t{0}}}));
  EXPECT_FALSE(is("log_softmax", {kReal}, Attrs{{"axis", std::int64_t{0}}}));
  EXPECT_FALSE(is("transpose", {kReal}, Attrs{{"perm", Integers{}}}));
  EXPECT_FALSE(is("concat", {kReal, kReal}, Attrs{{"axis", std::int64_t{0}}}));
  EXPECT_FALSE(is("iota", {}, Attrs{{"size", std::int64_t{1}}, {"dtype", std::string("f32")}}));
  EXPECT_FALSE(is("cum_sum", {kReal}, Attrs{{"axis", std::int64_t{0}}}));
  EXPECT_FALSE(is("reduce_sum", {kReal}, Attrs{{"axes", Integers{0}}}));
  EXPECT_FALSE(is("layer_norm", {kReal, kReal, kReal}, Attrs{{"axis", std::int64_t{0}}}));
}

}  // namespace
}  // namespace egret::ir
