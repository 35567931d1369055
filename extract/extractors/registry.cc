// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "extract/core/extractor.h"

namespace egret::extract {

namespace extracting {
#define EGRET_EXTRACTOR(name) ExtractorRow name();
#include "extract/extractors/extractors.def"
#undef EGRET_EXTRACTOR
}  // namespace extracting

std::span<const ExtractorRow> extractors() {
  static const std::array kRows = {
#define EGRET_EXTRACTOR(name) extracting::name(),
#include "extract/extractors/extractors.def"
#undef EGRET_EXTRACTOR
  };
  return kRows;
}

const ExtractorRow* find_extractor(std::string_view name) {
  const auto rows = extractors();
  const auto row = std::ranges::find(rows, name, &ExtractorRow::name);
  return row != rows.end() ? &*row : nullptr;
}

}  // namespace egret::extract
