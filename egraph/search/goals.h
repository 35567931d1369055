// SPDX-License-Identifier: Apache-2.0
// What a run is meant to show: terms or patterns that one class must come to contain. As a hook
// they end the run as soon as all are there.
//
//   Goals goals = *Goals::parse(syntax, {"(<< ?x 1)"});
//   runner.hooks().before_iteration = [&](EGraph& egraph, const RunReport&) {
//     return !goals.reached(egraph, root);
//   };
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "egraph/core/egraph.h"
#include "egraph/core/pattern.h"
#include "egraph/search/syntax.h"

namespace egret::egraph {

class Goals {
 public:
  // One pattern each, in the words of egraph/search/syntax.h.
  static base::Result<Goals> parse(const Syntax& syntax, std::span<const std::string_view> texts);
  static base::Result<Goals> parse(const Syntax& syntax,
                                   std::initializer_list<std::string_view> texts) {
    return parse(syntax, std::span<const std::string_view>(texts.begin(), texts.size()));
  }

  // Looks in the class for what was not found yet; whether all is found now. Equal terms stay
  // equal, so a goal is looked for until it is found. The e-graph must be clean().
  bool reached(const EGraph& egraph, ClassId id);

  std::size_t size() const { return goals_.size(); }
  std::size_t found() const;
  // The texts of the others, in order.
  std::vector<std::string> missing() const;

 private:
  struct Goal {
    std::string text;
    Pattern pattern;
    bool found = false;
  };
  std::vector<Goal> goals_;
};

// Whether the class contains an instance of a pattern of one term (what Syntax::pattern() gives).
// Backtracks from the root down, without the indices of a search over the whole e-graph.
bool matches_in_class(const EGraph& egraph, const Pattern& pattern, ClassId id);

}  // namespace egret::egraph
