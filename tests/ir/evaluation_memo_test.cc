// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/evaluation_memo.h"

#include <gtest/gtest.h>

#include <thread>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"

namespace egret::ir {
namespace {

struct Case {
  const char* op;
  Attrs attrs;
  std::vector<TensorType> inputs;
};

std::vector<Case> cases() {
  const auto f32 = [](std::initializer_list<std::int64_t> shape) {
    return TensorType(DType::kF32, shape);
  };
  return {
      {"add", {}, {f32({2, 3}), f32({3})}},
      {"add", {}, {f32({2, 3}), f32({2, 3})}},
      {"matmul", {}, {f32({3, 40}), f32({40, 5})}},
      {"softmax", {{"axis", std::int64_t{1}}}, {f32({2, 3})}},
      {"concat", {{"axis", std::int64_t{0}}}, {f32({2}), f32({3})}},
      {"relu", {}, {f32({0, 3})}},
      {"conv",
       {{"dilations", Integers{1, 1}}, {"pads", Integers{1, 1, 1, 1}}, {"strides", Integers{1, 1}}},
       {f32({1, 2, 5, 5}), f32({4, 2, 3, 3})}}};
}

void expect_same(const Case& what, const InterpretOptions& plain, EvaluationMemo& memo,
                 std::uint64_t seed) {
  const Operator& op = get_operator(what.op);
  const auto attrs = canonical_attrs(op.attrs(), what.attrs);
  ASSERT_TRUE(attrs.ok()) << attrs.status().message();
  base::Random random(seed);
  std::vector<Tensor> inputs;
  for (const TensorType& type : what.inputs) inputs.push_back(Tensor::random(type, random));
  InterpretOptions remembering = plain;
  remembering.memo = &memo;
  const auto expected = evaluate(op, *attrs, inputs, plain);
  const auto actual = evaluate(op, *attrs, inputs, remembering);
  ASSERT_TRUE(expected.ok() && actual.ok()) << what.op;
  ASSERT_EQ(to_string(actual->type()), to_string(expected->type())) << what.op;
  for (std::int64_t i = 0; i < expected->elements(); ++i)
    ASSERT_EQ(actual->f64_at(i), expected->f64_at(i)) << what.op << " element " << i;
}

TEST(EvaluationMemo, ChangesNoResultTheSecondTimeEither) {
  EvaluationMemo memo;
  for (const Precision precision : {Precision::kF64, Precision::kF32}) {
    for (const double perturbation : {0.0, 1e-3}) {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        for (const Case& what : cases())
          expect_same(what, {.precision = precision, .perturbation = perturbation, .seed = seed},
                      memo, seed);
      }
    }
  }
}

TEST(EvaluationMemo, PlansACallOnce) {
  EvaluationMemo memo;
  const Operator& add = get_operator("add");
  const std::vector<TensorType> types(2, TensorType(DType::kF32, {2, 3}));
  const auto first = memo.plan(add, {}, types, Precision::kF64);
  const auto again = memo.plan(add, {}, types, Precision::kF64);
  const auto narrow = memo.plan(add, {}, types, Precision::kF32);
  ASSERT_TRUE(first.ok() && again.ok() && narrow.ok());
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *narrow);
  EXPECT_EQ((*narrow)->type, DType::kF32);
}

TEST(EvaluationMemo, FailsAsEvaluationWithoutItDoes) {
  EvaluationMemo memo;
  const Tensor inputs[] = {Tensor(TensorType(DType::kF32, {2})),
                           Tensor(TensorType(DType::kF32, {3}))};
  InterpretOptions remembering;
  remembering.memo = &memo;
  const auto plain = evaluate(get_operator("add"), {}, inputs);
  const auto remembered = evaluate(get_operator("add"), {}, inputs, remembering);
  ASSERT_FALSE(plain.ok());
  EXPECT_EQ(remembered.status().message(), plain.status().message());
}

TEST(EvaluationMemo, IsSharedByThreads) {
  EvaluationMemo memo;
  std::vector<std::jthread> threads;
  for (std::uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&memo, i] {
      for (const Case& what : cases()) expect_same(what, {}, memo, i);
    });
  }
}

}  // namespace
}  // namespace egret::ir
