// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/tensor_core_tiles.h"

#include <algorithm>

#include "backends/codegen/contractions/contraction_text.h"
#include "backends/codegen/contractions/narrow_values.h"

namespace egret::backends::codegen {
namespace {

// Stages of all shapes fit 48 KiB, which a block has without asking for more.
constexpr TensorCoreTiles kShapes[] = {
    {128, 128, 64, 32, 2}, {128, 64, 32, 32, 3}, {64, 128, 32, 32, 3}, {64, 64, 32, 32, 4},
    {32, 64, 16, 32, 4},   {32, 32, 16, 16, 4},  {16, 128, 16, 32, 4}, {16, 64, 16, 16, 4},
};
constexpr std::int64_t kMultiprocessors = 132;
// Products that a multiprocessor does in the time of loading one term.
constexpr double kProductsOfALoad = 32;

double expected(const ContractionForm& form, const TensorCoreTiles& tiles) {
  const std::int64_t blocks =
      form.batch * ceil_div(form.rows, tiles.rows) * ceil_div(form.columns, tiles.columns);
  const double products = static_cast<double>(tiles.rows) * tiles.columns;
  const double loads = kProductsOfALoad * (tiles.rows + tiles.columns);
  return static_cast<double>(ceil_div(blocks, kMultiprocessors)) * (products + loads);
}

}  // namespace

int term_bytes(Fragments fragments) {
  switch (fragments) {
    case Fragments::kF16:
    case Fragments::kBF16: return 2;
    case Fragments::kTF32: return 4;
    default: return 1;
  }
}

bool is_integer(Fragments fragments) { return term_bytes(fragments) == 1; }

Fragments fragments_of(const ContractionForm& form, std::span<const ir::TensorType> inputs,
                       ir::DType output, const TensorCores& cores) {
  if (!cores.has || term_type(form.type, false) == "u64") return Fragments::kNone;
  const NarrowValues left(form.left, inputs), right(form.right, inputs);
  if (form.type != ir::DType::kF64) {
    const auto sign = [](const NarrowValues& values) {
      return values.are_within(-128, 127) ? 0 : values.are_within(0, 255) ? 1 : -1;
    };
    const int a = sign(left), b = sign(right);
    if (a < 0 || b < 0) return Fragments::kNone;
    if (a == 0) return b == 0 ? Fragments::kS8S8 : Fragments::kS8U8;
    return b == 0 ? Fragments::kU8S8 : Fragments::kU8U8;
  }
  if (computes_in_double(inputs, output)) return Fragments::kNone;
  for (const auto& [type, fragments] :
       {std::pair{ir::DType::kF16, Fragments::kF16}, {ir::DType::kBF16, Fragments::kBF16}}) {
    if (left.are(type) && right.are(type)) return fragments;
  }
  return cores.tf32 ? Fragments::kTF32 : Fragments::kNone;
}

std::vector<TensorCoreTiles> tensor_core_tiles(const ContractionForm& form) {
  std::vector<TensorCoreTiles> all(std::begin(kShapes), std::end(kShapes));
  std::ranges::stable_sort(all, {}, [&](const auto& tiles) { return expected(form, tiles); });
  return all;
}

}  // namespace egret::backends::codegen
