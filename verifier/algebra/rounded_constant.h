// SPDX-License-Identifier: Apache-2.0
// The simple real number that a constant is a rounding of: 0.16666666666666666 means 1/6,
// 0.7071067811865476 means sqrt(2)/2. For rules that declare that they hold up to rounding of a
// constant.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <optional>

namespace egret::verifier {

struct SimpleNumber {
  boost::multiprecision::cpp_rational factor;
  int root_of = 1;  // the number is factor * sqrt(root_of)
};

// The first of a few simple numbers that differs from `constant` by a relative error of at most
// 2^-24, half a unit in the last place of single precision. nullopt if there is none, and for
// constants with few digits, which are taken literally.
std::optional<SimpleNumber> rounded_from(double constant);

}  // namespace egret::verifier
