// SPDX-License-Identifier: Apache-2.0
// What is known of the sign of a value wherever it is defined.
#pragma once

#include "verifier/algebra/sum_form.h"

namespace egret::verifier {

enum class Sign : std::uint8_t { kUnknown, kNotNegative, kPositive };
Sign sign_of(const Factor& factor);
Sign sign_of(const Sum& sum);

}  // namespace egret::verifier
