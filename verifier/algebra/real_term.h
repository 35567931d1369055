// SPDX-License-Identifier: Apache-2.0
// Real numbers that a rule leaves open, and expressions over them: min(?a, ?b), ?t * splat_of(?s),
// real(elements(?x)). In graphs, each is represented by a distinct number, its stand-in. The
// stand-in and its negative are recognized wherever they occur.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/analysis/sign.h"
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

// a < b if strict, a <= b otherwise.
struct RealFact {
  RealTerm a, b;
  bool strict = false;
};

struct RealNumbers {
  std::map<double, RealTerm> stand_ins{};
  std::vector<RealFact> facts{};  // conditions of the rule: they hold for all its instances
  std::map<std::string, ir::Sign> signs{};  // of all elements of an input, by name
  // If set, constants are read as roundings of simple numbers: p/q and p/q * sqrt(n) for small p, q
  // and n.
  bool rounded = false;
};

}  // namespace egret::verifier
