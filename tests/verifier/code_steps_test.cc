// SPDX-License-Identifier: Apache-2.0
// Steps of certificates that are recomputed, and terms with their facts.
#include "verifier/replay/code_steps.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ir/graph/builder.h"

namespace egret::verifier {
namespace {

using ir::Integers;
using ir::Value;

class CodeStepsTest : public testing::Test {
 protected:
  Value input(std::initializer_list<std::int64_t> shape) {
    return b_.input("x" + std::to_string(inputs_++), {ir::DType::kF32, shape});
  }
  Value transpose(Value x, Integers perm) {
    return b_.add("transpose", {x}, {{"perm", std::move(perm)}});
  }
  Value concat(std::initializer_list<Value> parts, std::int64_t axis = 0) {
    return b_.add("concat", parts, {{"axis", axis}});
  }

  // The verdict on a step between two values: empty, or the reason against it.
  std::string check(std::string_view name, Value left, Value right) {
    EXPECT_TRUE(b_.ok()) << b_.status().message();
    const auto terms = terms_.add(b_.graph());
    EXPECT_TRUE(terms.ok()) << terms.status().message();
    const auto status =
        CodeSteps(terms_).check(name, (*terms)[left.id.index()], (*terms)[right.id.index()]);
    return status.ok() ? "" : status.message();
  }

  ir::GraphBuilder b_;
  ReplayTerms terms_;
  int inputs_ = 0;
};

TEST_F(CodeStepsTest, NestedConcatenationsJoinTheSameOperands) {
  const Value a = input({2, 3}), b = input({2, 3}), c = input({2, 3});
  const Value flat = concat({a, b, c});
  EXPECT_EQ(check("concat-nest", flat, concat({concat({a, b}), c})), "");
  EXPECT_EQ(check("concat-flatten", concat({a, concat({b, c})}), flat), "");
  EXPECT_EQ(check("concat-nest", flat, concat({concat({b, a}), c})),
            "the sides join other operands");
  // Along another axis, operands are other parts.
  const Value across = concat({concat({a, b}, 1), concat({c, a}, 1)});
  EXPECT_EQ(check("concat-nest", across, concat({concat({a, c}), concat({b, a})}, 1)),
            "the sides are no concatenations along one axis");
  EXPECT_EQ(check("concat-nest", a, b), "the sides are no concatenations along one axis");
}

TEST_F(CodeStepsTest, TransposesPassElementwiseOperators) {
  const Value x = input({2, 3}), y = input({3});
  const Value sum = transpose(b_.add("add", {x, y}), {1, 0});
  const Value row = b_.add("reshape", {y}, {{"shape", Integers{1, 3}}});
  const Value moved = b_.add("add", {transpose(x, {1, 0}), transpose(row, {1, 0})});
  EXPECT_EQ(check("transpose-into-elementwise", sum, moved), "");
  const Value swapped = b_.add("add", {transpose(row, {1, 0}), transpose(x, {1, 0})});
  EXPECT_EQ(check("transpose-into-elementwise", sum, swapped),
            "the right side is not the operator on transposes");
  const Value total =
      b_.add("reduce_sum", {x}, {{"axes", Integers{0}}, {"keepdims", std::int64_t{1}}});
  EXPECT_EQ(check("transpose-into-elementwise", transpose(total, {1, 0}), transpose(total, {1, 0})),
            "what is transposed is not elementwise");
}

TEST_F(CodeStepsTest, TransposesLeaveElementwiseOperators) {
  const Value x = input({2, 3}), c = input({3, 2}), one = input({1});
  const Value outside = b_.add("mul", {transpose(x, {1, 0}), c});
  const Value inside = transpose(b_.add("mul", {x, transpose(c, {1, 0})}), {1, 0});
  EXPECT_EQ(check("transpose-out-of-elementwise", outside, inside), "");
  const Value scalar = b_.add("reshape", {one}, {{"shape", Integers{}}});
  EXPECT_EQ(check("transpose-out-of-elementwise", b_.add("mul", {transpose(x, {1, 0}), one}),
                  transpose(b_.add("mul", {x, scalar}), {1, 0})),
            "");
  const Value z = input({2, 3});
  EXPECT_EQ(check("transpose-out-of-elementwise", outside,
                  transpose(b_.add("mul", {z, transpose(c, {1, 0})}), {1, 0})),
            "operand 0 is not moved by the transpose");
  EXPECT_EQ(check("transpose-out-of-elementwise", outside,
                  transpose(b_.add("add", {x, transpose(c, {1, 0})}), {1, 0})),
            "what is transposed is another operator");
}

TEST_F(CodeStepsTest, CompositesAreTheirBodies) {
  const Value x = input({2, 3});
  const Value soft = b_.add("softmax", {x}, {{"axis", std::int64_t{1}}});
  const auto terms = terms_.add(b_.graph());
  ASSERT_TRUE(terms.ok());
  CodeSteps steps(terms_);
  const TermRef whole = (*terms)[soft.id.index()];
  const auto body = steps.expanded(whole);
  ASSERT_TRUE(body.ok()) << body.status().message();
  EXPECT_TRUE(terms_.is(*body, "div"));
  EXPECT_TRUE(steps.check("expand-composites", whole, *body).ok());
  EXPECT_EQ(steps.check("expand-composites", whole, (*terms)[x.id.index()]).message(),
            "the right side is not the operator's body");
  EXPECT_EQ(steps.check("no-such-step", whole, *body).message(),
            "there is no step called 'no-such-step'");
}

TEST_F(CodeStepsTest, TermsKnowWhatConditionsRead) {
  const Value two = b_.constant(ir::Tensor::filled({ir::DType::kF32, {2, 2}}, 2));
  const Value three = b_.scalar(ir::DType::kF32, 3);
  const Value moved = transpose(two, {1, 0});
  const Value nine = b_.add("mul", {three, three});
  const Value x = input({2, 2});
  const Value positive = b_.add("exp", {x});
  const auto terms = terms_.add(b_.graph());
  ASSERT_TRUE(terms.ok()) << terms.status().message();
  const auto facts = [&](Value value) { return terms_.facts((*terms)[value.id.index()]); };
  EXPECT_EQ(facts(moved).splat, 2);
  EXPECT_EQ(facts(nine).splat, 9);
  EXPECT_TRUE(facts(nine).constant);
  EXPECT_FALSE(facts(x).constant);
  EXPECT_EQ(facts(positive).sign, ir::Sign::kPositive);
  EXPECT_EQ(facts(x).sign, ir::Sign::kUnknown);
  // The same terms have the same numbers, and ill-typed ones are refused.
  const auto again = terms_.add(b_.graph());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *terms);
  const TermRef operands[] = {(*terms)[x.id.index()], (*terms)[x.id.index()]};
  EXPECT_FALSE(terms_.make(terms_.symbol_of((*terms)[positive.id.index()]), operands).ok());
}

}  // namespace
}  // namespace egret::verifier
