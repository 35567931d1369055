// SPDX-License-Identifier: Apache-2.0
#include "verifier/algebra/need.h"

namespace egret::verifier {

Need changed(const Need& need, const Change& change) {
  Need result = need;
  result.argument = changed(need.argument, change);
  result.context = changed(need.context, change);
  for (Literal& guard : result.guards) guard.polynomial = change(guard.polynomial);
  return result;
}

std::string text(const AtomTable& atoms, const Need& need) {
  switch (need.kind) {
    case Need::Kind::kNonZero: return text(atoms, need.argument) + " is not 0";
    case Need::Kind::kPositive: return text(atoms, need.argument) + " > 0";
    case Need::Kind::kNotNegative: return text(atoms, need.argument) + " >= 0";
    case Need::Kind::kInDomain:
      return text(atoms, need.argument) + " is in the domain of " +
             std::string(ir::facts(need.function).name);
    case Need::Kind::kNonEmpty: {
      std::string all = "something satisfies";
      for (const Literal& guard : need.guards) all += " " + text(atoms, guard) + ",";
      return all;
    }
  }
  return "";
}

}  // namespace egret::verifier
