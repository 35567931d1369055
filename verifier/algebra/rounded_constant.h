// SPDX-License-Identifier: Apache-2.0
// Which simple real number a constant is the rounding of: 0.16666666666666666 is meant as 1/6,
// 0.7071067811865476 as sqrt(2)/2. For rules that say of themselves that they hold up to the
// rounding of a constant.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <optional>

namespace egret::verifier {

struct SimpleNumber {
  boost::multiprecision::cpp_rational factor;
  int root_of = 1;  // the number is factor * sqrt(root_of)
};

// The first of few simple numbers that differs from `constant` by at most a relative 2^-24, half a
// unit in the last place of single precision; nullopt where there is none, and for numbers of few
// digits, which mean themselves.
std::optional<SimpleNumber> rounded_from(double constant);

}  // namespace egret::verifier
