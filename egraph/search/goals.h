// SPDX-License-Identifier: Apache-2.0
// The goals of a run: terms or patterns that one class must come to contain. As a hook, they end
// the run once all are reached.
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
  // Parses one pattern per text (egraph/search/syntax.h).
  static base::Result<Goals> parse(const Syntax& syntax, std::span<const std::string_view> texts);
  static base::Result<Goals> parse(const Syntax& syntax,
                                   std::initializer_list<std::string_view> texts) {
    return parse(syntax, std::span<const std::string_view>(texts.begin(), texts.size()));
  }

  // Looks in the class for the goals not found yet; returns whether all are found now. Equal terms
  // stay equal, so a found goal is not searched again. The e-graph must be clean().
  bool reached(const EGraph& egraph, ClassId id);

  std::size_t size() const { return goals_.size(); }
  std::size_t found() const;
  // The texts of the goals not found, in order.
  std::vector<std::string> missing() const;

 private:
  struct Goal {
    std::string text;
    Pattern pattern;
    bool found = false;
  };
  std::vector<Goal> goals_;
};

// Whether the class contains an instance of a pattern of one term (as Syntax::pattern() gives).
// Backtracks from the root down, without the indices of a search over the whole e-graph.
bool matches_in_class(const EGraph& egraph, const Pattern& pattern, ClassId id);

}  // namespace egret::egraph
