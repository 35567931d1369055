// SPDX-License-Identifier: Apache-2.0
// What an element needs to be a number.
#pragma once

#include <string>
#include <vector>

#include "verifier/algebra/sum_form.h"

namespace egret::verifier {

// A requirement for an element to be a number, wherever a truth value (`context`) is 1.
struct Need {
  enum class Kind : std::uint8_t {
    kNonZero,      // argument, which divides
    kPositive,     // argument, of a logarithm
    kNotNegative,  // argument, of a root
    kInDomain,     // arguments[0] in the domain of the function
    kNonEmpty,     // an extremum has something to choose from: `range` where `guards`
  };
  Kind kind = Kind::kNonZero;
  ir::Function function = ir::Function::kExp;  // kInDomain
  Sum argument{};
  std::vector<AtomId> variables{};  // for all values of these
  Sum context = constant_sum(1);    // the truth value
  std::vector<AtomId> range{};      // kNonEmpty
  Facts guards{};
};
Need changed(const Need& need, const Change& change);
std::string text(const AtomTable& atoms, const Need& need);

// Thrown for values that the sum form cannot express (integer division of elements, for example).
// It never leaves this folder.
struct NotExpressible {
  std::string what;
};

}  // namespace egret::verifier
