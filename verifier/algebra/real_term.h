// SPDX-License-Identifier: Apache-2.0
// Real numbers that a rule leaves open, and what it computes from them: min(?a, ?b), ?t *
// splat_of(?s), real(elements(?x)). In graphs each stands as a number of its own, its stand-in,
// which is recognized wherever it or its negative comes back.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/core/denotation.h"

namespace egret::verifier {

struct RealTerm {
  enum class Kind : std::uint8_t {
    kUnknown,  // name
    kNumber,   // number
    kIndex,    // index: a size, as a number
    kSum,      // of two arguments, as all below
    kDifference,
    kProduct,
    kQuotient,
    kMinimum,
    kMaximum,
  };
  Kind kind = Kind::kNumber;
  std::string name{};
  double number = 0;
  ir::Index index{};
  std::vector<RealTerm> arguments{};
};

// a < b when strict, a <= b otherwise.
struct RealFact {
  RealTerm a, b;
  bool strict = false;
};

struct RealNumbers {
  std::map<double, RealTerm> stand_ins{};
  std::vector<RealFact> facts{};  // conditions of the rule: they hold for all its instances
  // Constants are roundings of simple numbers, and those are meant: p/q and p/q * sqrt(n) for small
  // p, q and n.
  bool rounded = false;
};

}  // namespace egret::verifier
