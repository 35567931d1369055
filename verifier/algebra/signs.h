// SPDX-License-Identifier: Apache-2.0
// The sign and the bounds of a value wherever it is defined, as far as they are known.
#pragma once

#include <optional>
#include <utility>

#include "ir/analysis/sign.h"
#include "verifier/algebra/sum_form.h"

namespace egret::verifier {

using ir::Sign;
Sign sign_of(const Factor& factor);
// The least and the greatest value of a truth value, or of an element of an integer type. Elements
// are within their type; sums and products of them need not be.
std::optional<std::pair<Rational, Rational>> range_of(const Factor& factor);
Sign sign_of(const Sum& sum);

// Whether the value is 0 or 1: a truth value p, or 1 - p.
bool is_truth(const Factor& factor);
bool is_truth(const Sum& sum);

}  // namespace egret::verifier
