// SPDX-License-Identifier: Apache-2.0
// Rules as text, together with the definitions that they refer to. It is all that a test, a
// workload or a program needs to start.
//
//   const Theory theory{"zero: (+ ?a 0) => ?a\n"};
//   OpTable ops;
//   Syntax syntax(ops);
//   const auto analysis = theory.make_analysis(ops, syntax);
//   EGraph egraph(ops, analysis.get());
//   const auto rules = *syntax.rules(theory.rules);
#pragma once

#include <memory>
#include <string_view>

#include "egraph/core/analysis.h"
#include "egraph/search/syntax.h"

namespace egret::egraph {

struct Theory {
  // Makes the analysis of a new e-graph and defines the conditions and builders that the rules
  // name. Both arguments must outlive the analysis.
  using Prepare = std::unique_ptr<Analysis> (*)(OpTable&, Syntax&);

  std::string_view rules;  // Syntax::rules() text; not owned
  Prepare prepare = nullptr;

  // Null if the rules need no analysis.
  std::unique_ptr<Analysis> make_analysis(OpTable& ops, Syntax& syntax) const {
    return prepare == nullptr ? nullptr : prepare(ops, syntax);
  }
};

}  // namespace egret::egraph
