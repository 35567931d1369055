// SPDX-License-Identifier: Apache-2.0
// The CPU backend's loops against plain ones.
#include <gtest/gtest.h>

#include <bit>
#include <numeric>
#include <string>
#include <vector>

#include "backends/cpu/loops/block_transpose.h"
#include "backends/cpu/loops/row_panel_loops.h"
#include "base/random.h"

namespace egret::backends::cpu {
namespace {

TEST(BlockTranspose, PutsEveryBlockWhereTheTransposedMatrixHasIt) {
  for (const std::int64_t rows : {1, 2, 3, 5, 16, 30}) {
    for (const std::int64_t columns : {1, 2, 4, 7, 12, 33}) {
      for (const std::int64_t block : {1, 3, 64}) {
        std::vector<float> data(static_cast<std::size_t>(rows * columns * block));
        std::iota(data.begin(), data.end(), 0.0F);
        transpose_blocks(data, rows, columns, block);
        for (std::int64_t i = 0; i < rows * columns * block; ++i) {
          const std::int64_t c = i / block / rows, r = i / block % rows;
          const auto expected = static_cast<float>((r * columns + c) * block + i % block);
          ASSERT_EQ(data[static_cast<std::size_t>(i)], expected)
              << rows << " x " << columns << " blocks of " << block << ", at " << i;
        }
      }
    }
  }
}

struct PanelVariant {
  std::string name;
  PanelFunction f32, bf16;
};
std::vector<PanelVariant> panels_of_this_processor() {
  std::vector<PanelVariant> variants{{"generic", multiply<F32Weights>, multiply<Bf16Weights>},
                                     {"chosen", best_panel(), best_bf16_panel()}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    variants.push_back({"v3", f32_panel_v3, bf16_panel_v3});
#endif
  return variants;
}

struct PackedWeights {
  std::vector<float> f32, bf16;  // the same weights as lines of one row and of two
};
PackedWeights pack(const std::vector<float>& weights, std::int64_t rows, std::int64_t columns) {
  PackedWeights packed{weights, {}};
  for (std::int64_t row = 0; row < rows; row += 2) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto bits = [&](std::int64_t r) {
        return r < rows ? std::bit_cast<std::uint32_t>(
                              weights[static_cast<std::size_t>(r * columns + c)])
                        : 0;
      };
      packed.bf16.push_back(
          std::bit_cast<float>((bits(row) >> 16) | (bits(row + 1) & 0xffff0000U)));
    }
  }
  return packed;
}

// Small integers: every sum is exact, in any order.
TEST(RowPanels, OfAllInstructionSetsMultiplyEqually) {
  base::Random random(1);
  const auto integers = [&](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = static_cast<float>(random.below(17)) - 8;
    return values;
  };
  for (const int vectors : {1, 2, 4}) {
    const std::int64_t columns = vectors * kLanes;
    for (const std::int64_t rows : {1, 2, 3, 127, 128, 129, 130, 383}) {
      const std::vector<float> weights = integers(rows * columns);
      const PackedWeights packed = pack(weights, rows, columns);
      for (std::int64_t count = 1; count <= 8; ++count) {
        std::vector<float> x = integers(count * rows);
        std::vector<float> expected(static_cast<std::size_t>(count * columns));
        for (std::int64_t i = 0; i < count * columns; ++i) {
          for (std::int64_t k = 0; k < rows; ++k) {
            expected[static_cast<std::size_t>(i)] +=
                x[static_cast<std::size_t>(i / columns * rows + k)] *
                weights[static_cast<std::size_t>(k * columns + i % columns)];
          }
        }
        const auto product = [&](PanelFunction panel, const std::vector<float>& words) {
          std::vector<float> y(expected.size());
          panel(vectors, {x.data(), rows}, words.data(), rows, {y.data(), columns}, count);
          return y;
        };
        for (const PanelVariant& variant : panels_of_this_processor()) {
          ASSERT_EQ(product(variant.f32, packed.f32), expected)
              << variant.name << ", " << count << " x " << rows << " x " << columns;
          ASSERT_EQ(product(variant.bf16, packed.bf16), expected)
              << variant.name << ", bf16, " << count << " x " << rows << " x " << columns;
        }
      }
    }
  }
}

TEST(KeyDots, OfAllInstructionSetsAreThoseOfPlainLoops) {
  std::vector<DotsFunction> variants{dots, best_dots()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) variants.push_back(dots_v3);
#endif
  base::Random random(5);
  for (const std::int64_t width : {1, 3, 16, 17, 40, 128}) {
    for (const std::int64_t count : {1, 3, 4, 5, 11}) {
      const std::int64_t stride = width + 3;
      std::vector<float> query(static_cast<std::size_t>(width)),
          keys(static_cast<std::size_t>((count - 1) * stride + width));
      for (float& x : query) x = static_cast<float>(random.uniform(-1, 1));
      for (float& x : keys) x = static_cast<float>(random.uniform(-1, 1));
      for (std::size_t v = 0; v < variants.size(); ++v) {
        std::vector<float> scores(static_cast<std::size_t>(count) + 1, 7.0F);
        std::vector<float> alone = scores, squares = scores;
        variants[v](query.data(), width, keys.data(), stride, count, scores.data(), squares.data());
        variants[v](query.data(), width, keys.data(), stride, count, alone.data(), nullptr);
        ASSERT_EQ(alone, scores);
        for (std::int64_t k = 0; k < count; ++k) {
          double sum = 0, of_key = 0;
          for (std::int64_t i = 0; i < width; ++i) {
            const double key{keys[static_cast<std::size_t>(k * stride + i)]};
            sum += double{query[static_cast<std::size_t>(i)]} * key;
            of_key += key * key;
          }
          ASSERT_NEAR(scores[static_cast<std::size_t>(k)], sum, 1e-5)
              << "variant " << v << ", width " << width << ", key " << k << " of " << count;
          ASSERT_NEAR(squares[static_cast<std::size_t>(k)], of_key, 1e-5 * of_key)
              << "variant " << v << ", width " << width << ", key " << k << " of " << count;
        }
        ASSERT_EQ(scores.back(), 7.0F) << "nothing behind the scores is written";
        ASSERT_EQ(squares.back(), 7.0F) << "nor behind the squares";
      }
    }
  }
}

}  // namespace
}  // namespace egret::backends::cpu
