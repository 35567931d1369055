// SPDX-License-Identifier: Apache-2.0
// Instructions that multiply several neighbouring terms at once. A factor may use them if its
// values fit the narrow type of their operands.
//
// Pairs and quads are 4 bytes of terms, which a vector's lane multiplies and sums up: of bf16 into
// f32 (vdpbf16ps), of integers of 16 bits (vpdpwssd) or of 8 bits without and with a sign
// (vpdpbusd) into 32 bits. AMX multiplies tiles of 16 rows of 64 bytes of terms with 16 such lanes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "backends/codegen/contractions/contraction_form.h"
#include "backends/codegen/contractions/contraction_tiles.h"

namespace egret::backends::codegen {

struct TermGroups {
  enum class Kind : std::uint8_t { kNone, kBF16, kInt16, kInt8 };

  Kind kind = Kind::kNone;
  bool in_tiles = false;                               // of AMX
  bool left_unsigned = false, right_unsigned = false;  // kInt8

  bool operator==(const TermGroups&) const = default;
  bool any() const { return kind != Kind::kNone; }
  // Terms that lie in 4 bytes.
  int terms() const { return kind == Kind::kNone ? 1 : kind == Kind::kInt8 ? 4 : 2; }
  // Panels hold multiples of this many terms.
  int unit() const { return in_tiles ? 16 * terms() : terms(); }
};

// What the processor has for both factors, where sums are of `type`. Time: linear in the size of
// the factors.
TermGroups term_groups_of(const ContractionForm& form, std::span<const ir::TensorType> inputs,
                          const HostProcessor& processor, const std::string& type);

}  // namespace egret::backends::codegen
