// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/batch_slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ir/evaluate/interpreter.h"
#include "tests/parallel/model.h"

namespace egret::parallel {
namespace {

// Rows [first, first + rows) of the first axis.
ir::Tensor rows_of(const ir::Tensor& whole, std::int64_t first, std::int64_t rows) {
  ir::Shape shape = whole.shape();
  const std::int64_t row = whole.elements() / shape[0];
  shape[0] = rows;
  ir::Tensor part(whole.dtype(), shape);
  for (std::int64_t i = 0; i < part.elements(); ++i) part.set_f64(i, whole.f64_at(first * row + i));
  return part;
}

// Slice after slice the program computes what it computes of all of them.
void expect_equal_slices(const ir::Graph& whole, std::int64_t count) {
  const auto slices = batch_slices(whole);
  ASSERT_TRUE(slices.has_value());
  ASSERT_EQ(slices->count, count);
  ASSERT_EQ(slices->slice.check_invariants().message(), "");
  ASSERT_EQ(slices->slice.size(), whole.size());
  base::Random random(3);
  std::vector<ir::Tensor> inputs;
  for (const ir::NodeId id : whole.inputs())
    inputs.push_back(ir::Tensor::random(whole.node(id).type, random));
  const auto expected = ir::interpret(whole, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  for (std::int64_t s = 0; s < count; ++s) {
    std::vector<ir::Tensor> parts;
    for (const ir::Tensor& input : inputs) {
      const std::int64_t rows = input.shape()[0] / count;
      parts.push_back(rows_of(input, s * rows, rows));
    }
    const auto actual = ir::interpret(slices->slice, parts);
    ASSERT_TRUE(actual.ok()) << actual.status().message();
    for (std::size_t k = 0; k < expected->size(); ++k) {
      const std::int64_t rows = (*expected)[k].shape()[0] / count;
      const ir::Tensor part = rows_of((*expected)[k], s * rows, rows);
      ASSERT_EQ((*actual)[k].type(), part.type());
      for (std::int64_t i = 0; i < part.elements(); ++i)
        ASSERT_NEAR((*actual)[k].f64_at(i), part.f64_at(i), 1e-12) << "slice " << s;
    }
  }
}

TEST(BatchSlices, AConvolutionalNet) {
  Model m;
  const ir::Value x = m.input("x", {3, 4, 6, 6});
  const ir::Attrs windows{{"strides", ir::Integers{1, 1}},
                          {"pads", ir::Integers{1, 1, 1, 1}},
                          {"dilations", ir::Integers{1, 1}}};
  const ir::Value conv = m("relu", {m("conv", {x, m.weight("w", {5, 4, 3, 3})}, windows)});
  const ir::Value pool = m("reduce_mean", {conv}, {{"axes", ir::Integers{2, 3}}});
  const ir::Value flat = m("reshape", {pool}, {{"shape", ir::Integers{3, 5}}});
  expect_equal_slices(m.finish(m("matmul", {flat, m.weight("v", {5, 7})})), 3);
}

TEST(BatchSlices, RowsOfASampleLieBehindOneAnother) {
  Model m;
  const ir::Value x = m.input("x", {2, 6, 4});
  const ir::Value rows = m("reshape", {x}, {{"shape", ir::Integers{12, 4}}});
  const ir::Value product = m("matmul", {rows, m.weight("w", {4, 8})});
  const ir::Value heads = m("reshape", {product}, {{"shape", ir::Integers{2, 6, 2, 4}}});
  const ir::Value q = m("transpose", {heads}, {{"perm", ir::Integers{0, 2, 1, 3}}});
  const ir::Value k = m("transpose", {heads}, {{"perm", ir::Integers{0, 2, 3, 1}}});
  expect_equal_slices(m.finish(m("softmax", {m("matmul", {q, k})}, {{"axis", std::int64_t{3}}})),
                      2);
}

TEST(BatchSlices, SamplesAlongAnotherAxisInBetween) {
  Model m;
  const ir::Value x = m.input("x", {4, 3});
  const ir::Value columns = m("transpose", {x}, {{"perm", ir::Integers{1, 0}}});
  const ir::Value product = m("matmul", {m.weight("w", {5, 3}), columns});
  expect_equal_slices(m.finish(m("transpose", {product}, {{"perm", ir::Integers{1, 0}}})), 4);
}

TEST(BatchSlices, SlicesOfSeveralSamples) {
  const ir::Graph whole = mlp(12, 6, 10);
  const auto slices = batch_slices(whole, 4);
  ASSERT_TRUE(slices.has_value());
  EXPECT_EQ(slices->count, 4);
  base::Random random(3);
  const ir::Tensor x = ir::Tensor::random(whole.node(whole.inputs()[0]).type, random);
  const std::vector<ir::Tensor> expected = ir::interpret(whole, std::vector{x}).value();
  for (std::int64_t s = 0; s < 4; ++s) {
    const auto part = ir::interpret(slices->slice, std::vector{rows_of(x, 3 * s, 3)}).value();
    ASSERT_EQ(part[0].shape(), (ir::Shape{3, 6}));
    const ir::Tensor rows = rows_of(expected[0], 3 * s, 3);
    for (std::int64_t i = 0; i < rows.elements(); ++i)
      EXPECT_NEAR(part[0].f64_at(i), rows.f64_at(i), 1e-5);
  }
  EXPECT_FALSE(batch_slices(whole, 5).has_value());
  EXPECT_EQ(batch_slices(whole, 1)->slice.size(), whole.size());
}

TEST(BatchSlices, NoneOfOneSample) {
  Model m;
  EXPECT_FALSE(batch_slices(m.finish(m("relu", {m.input("x", {1, 4})}))).has_value());
}

TEST(BatchSlices, NoneWhereSamplesMix) {
  {
    Model m;
    const ir::Value x = m.input("x", {4, 3});
    EXPECT_FALSE(
        batch_slices(m.finish(m("softmax", {x}, {{"axis", std::int64_t{0}}}))).has_value());
  }
  {
    Model m;
    const ir::Value x = m.input("x", {4, 4});
    EXPECT_FALSE(batch_slices(m.finish(m("matmul", {m.weight("w", {4, 4}), x}))).has_value());
  }
  {
    Model m;  // cut along the second axis when it comes out
    const ir::Value x = m.input("x", {4, 4});
    EXPECT_FALSE(
        batch_slices(m.finish(m("transpose", {x}, {{"perm", ir::Integers{1, 0}}}))).has_value());
  }
}

TEST(BatchSlices, NoneWhereAnInputIsForAllSamples) {
  Model m;
  const ir::Value x = m.input("x", {4, 3});
  const ir::Value bias = m.input("bias", {3});
  EXPECT_FALSE(batch_slices(m.finish(m("add", {x, bias}))).has_value());
}

}  // namespace
}  // namespace egret::parallel
