// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/shape_draws.h"

#include <iterator>
#include <tuple>

namespace egret::rules {

using base::Random;
using ir::DType;
using ir::TensorType;

namespace {

// A tensor of the application, or any variable so far. Null: the new one resembles none.
const TensorType* draw_model(const Models& models, double probability, Random& random) {
  if (!random.chance(probability)) return nullptr;
  const TensorTypes& from =
      models.operands.empty() || random.chance(0.5) ? models.variables : models.operands;
  return from.empty() ? nullptr : from[random.below(from.size())];
}

}  // namespace

Palette draw_palette(Random& random) {
  Palette palette;
  const std::int64_t count = random.between(1, 10);
  for (int i = 0; i < (count <= 4 ? 1 : (count <= 7 ? 2 : 3)); ++i)
    palette.sizes.push_back(random.between(1, 4));
  const std::uint64_t type = random.below(20);
  palette.main_type = type < 17 ? DType::kF32 : (type < 19 ? DType::kI64 : DType::kBool);
  return palette;
}

std::int64_t draw_size(const Palette& palette, const Models& models, Random& random) {
  constexpr double kZeros = 0.3;
  if (palette.allowed == Sizes::kWithZero && random.chance(kZeros)) return 0;
  if (random.chance(0.2)) return 1;
  const TensorType* model = draw_model(models, 0.35, random);
  if (model != nullptr && model->rank() > 0)
    return model->dims[random.below(model->dims.size())].constant();
  return palette.sizes[random.below(palette.sizes.size())];
}

TensorType draw_type(const Palette& palette, const Models& models,
                     const std::pair<int, DType>* like, std::optional<int> rank, Random& random) {
  static constexpr int kRanks[] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 5};
  int axes = kRanks[random.below(std::size(kRanks))];
  DType dtype = palette.main_type;
  if (palette.rank && random.chance(0.7)) axes = *palette.rank;
  if (random.chance(0.08)) dtype = random.chance(0.5) ? DType::kBool : DType::kI64;
  if (like != nullptr) std::tie(axes, dtype) = *like;
  if (rank) axes = *rank;
  const bool is_fixed = like != nullptr || rank;
  const TensorType* model = draw_model(models, 0.4, random);
  if (model != nullptr && (!is_fixed || model->rank() == axes)) return {dtype, model->dims};
  ir::Dims dims;
  for (int i = 0; i < axes; ++i) dims.emplace_back(draw_size(palette, models, random));
  return {dtype, dims};
}

}  // namespace egret::rules
