// SPDX-License-Identifier: Apache-2.0
// The sign of a value wherever it is defined, as far as it is known.
#pragma once

#include "verifier/algebra/sum_form.h"

namespace egret::verifier {

enum class Sign : std::uint8_t { kUnknown, kNotNegative, kPositive };
Sign sign_of(const Factor& factor);
Sign sign_of(const Sum& sum);

}  // namespace egret::verifier
