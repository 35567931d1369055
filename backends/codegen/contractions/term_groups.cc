// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/term_groups.h"

#include "backends/codegen/contractions/narrow_values.h"

namespace egret::backends::codegen {
namespace {

// A tile of fewer terms, rows or columns would be mostly zeros.
constexpr std::int64_t kLeastOfTile = 8;

}  // namespace

TermGroups term_groups_of(const ContractionForm& form, std::span<const ir::TensorType> inputs,
                          const HostProcessor& processor, const std::string& type) {
  using Kind = TermGroups::Kind;
  if (form.depth < 2) return {};
  const NarrowValues left(form.left, inputs), right(form.right, inputs);
  const bool fills_tiles =
      form.rows >= kLeastOfTile && form.columns >= kLeastOfTile && form.depth >= kLeastOfTile;
  if (type == "float") {
    const bool tiles = processor.has_bf16_tiles && fills_tiles;
    if ((tiles || processor.has_bf16_pairs) && left.are(ir::DType::kBF16) &&
        right.are(ir::DType::kBF16))
      return {Kind::kBF16, tiles};
    return {};
  }
  if (type != "unsigned int") return {};
  const auto fits_8 = [](const NarrowValues& values) {
    return values.are_within(-128, 127) || values.are_within(0, 255);
  };
  if (fits_8(left) && fits_8(right)) {
    const bool tiles = processor.has_int8_tiles && fills_tiles;
    // Values from 0 to 127 have either sign.
    const bool left_signed = left.are_within(-128, 127), right_signed = right.are_within(-128, 127);
    if (tiles) return {Kind::kInt8, true, !left_signed, !right_signed};
    if (processor.has_int8_quads && left.are_within(0, 255) && right_signed)
      return {Kind::kInt8, false, true, false};
    if (processor.has_int8_quads && left_signed && right.are_within(0, 255))
      return {Kind::kInt8, false, false, true};
  }
  if (processor.has_int16_pairs && left.are_within(-32768, 32767) &&
      right.are_within(-32768, 32767))
    return {Kind::kInt16};
  return {};
}

}  // namespace egret::backends::codegen
