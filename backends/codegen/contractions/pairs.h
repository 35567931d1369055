// SPDX-License-Identifier: Apache-2.0
// Instructions that multiply two neighbouring terms at once: of bf16 into f32 (AVX512_BF16), or of
// integers of 16 bits into 32 (AVX512_VNNI). A factor may use them if its values fit these types.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "backends/codegen/contractions/contraction_form.h"
#include "backends/codegen/contractions/contraction_tiles.h"

namespace egret::backends::codegen {

enum class Pairs : std::uint8_t { kNone, kBF16, kInt16 };

// What the processor has for both factors, where sums are of `type`. Bounds of integers are those
// of their stored types, sums and differences. Time: linear in the size of the factors.
Pairs pairs_of(const ContractionForm& form, std::span<const ir::TensorType> inputs,
               const HostProcessor& processor, const std::string& type);

}  // namespace egret::backends::codegen
