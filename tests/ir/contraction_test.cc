// SPDX-License-Identifier: Apache-2.0
// Products by packed tiles, of sizes at, below and beyond those of tiles, panels and blocks.
#include "ir/evaluate/contraction.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/operator.h"

namespace egret::ir {
namespace {

void expect_product(std::int64_t rows, std::int64_t depth, std::int64_t columns, bool transposed) {
  base::Random random(static_cast<std::uint64_t>(rows * depth + columns));
  const Tensor a = Tensor::random({DType::kF64, {rows, depth}}, random);
  Tensor b = Tensor::random({DType::kF64, {columns, depth}}, random);
  const Tensor given = b;
  if (transposed) {
    const auto turned =
        evaluate(get_operator("transpose"), {{"perm", Integers{1, 0}}}, {&given, 1});
    ASSERT_TRUE(turned.ok()) << turned.status().message();
    b = *turned;
  } else {
    b = Tensor::random({DType::kF64, {depth, columns}}, random);
  }
  const auto product = evaluate(get_operator("matmul"), {}, std::array{a, b});
  ASSERT_TRUE(product.ok()) << product.status().message();
  const auto x = a.as<double>();
  const auto y = b.as<double>();
  const auto z = product->as<double>();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += x[static_cast<std::size_t>(r * depth + k)] *
               y[static_cast<std::size_t>(k * columns + c)];
      ASSERT_NEAR(z[static_cast<std::size_t>(r * columns + c)], sum,
                  1e-13 * static_cast<double>(depth))
          << rows << "x" << depth << "x" << columns << " at " << r << ", " << c;
    }
  }
}

TEST(Contraction, OfAllSizesAroundTiles) {
  for (const std::int64_t rows : {3, 7, 8, 9, 31, 130}) {
    for (const std::int64_t columns : {8, 23, 24, 25, 95, 100}) {
      for (const std::int64_t depth : {5, 255, 257}) expect_product(rows, depth, columns, false);
    }
  }
}

TEST(Contraction, OfSeveralBlocks) {
  expect_product(129, 300, 970, false);
  expect_product(970, 300, 50, true);
}

TEST(Contraction, OfHalfPrecisionInputs) {
  base::Random random(5);
  const Tensor a = Tensor::random({DType::kF16, {16, 40}}, random);
  const Tensor b = Tensor::random({DType::kF16, {40, 48}}, random);
  const auto product =
      evaluate(get_operator("matmul"), {}, std::array{a, b}, {.precision = Precision::kF64});
  ASSERT_TRUE(product.ok()) << product.status().message();
  double sum = 0;
  for (std::int64_t k = 0; k < 40; ++k) sum += a.f64_at(3 * 40 + k) * b.f64_at(k * 48 + 30);
  EXPECT_NEAR(product->f64_at(3 * 48 + 30), sum, 1e-12);
}

}  // namespace
}  // namespace egret::ir
