// SPDX-License-Identifier: Apache-2.0
// Terms, patterns and rules as text, for clients that use the engine by itself.
//
//   term     (+ a (* b 2))            a word is an operator; (f) and f are the same
//   pattern  (+ ?a (* ?b 2))          ?a is a variable; the same name is the same class
//   rule     name: (* ?a 2) => (<< ?a 1) if small(?a) and even(?a)
//   several  ?x = (f ?a), (g ?a) => ?x = (h ?a), (k ?a)
//   dynamic  (subst ?v ?e ?b) => substitute(?v, ?e, ?b)
//
// Words end at white space, parentheses and commas; # begins a comment. A rule's name and condition
// are optional. Each source and target is `?variable = term` or a term. A target without a variable
// is equated with the source at the same position. A target may be a builder call instead of a
// term: the client then computes the class.
//
// Errors name line and column, counted from 1.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "egraph/core/egraph.h"
#include "egraph/search/rewrite.h"

namespace egret::egraph {

class Syntax {
 public:
  // Operators in parsed texts are interned into `ops`.
  explicit Syntax(OpTable& ops) : ops_(ops) {}

  // Defines a condition for rules: name(?a, ?b) calls it with the classes of a and b. A declared
  // `reads` below kEverything avoids re-evaluation where nothing changed.
  using Condition = std::function<bool(EGraph&, std::span<const ClassId>)>;
  void define_condition(std::string name, std::size_t arguments, Condition condition,
                        Rewrite::Reads reads = Rewrite::Reads::kEverything);
  // Defines a builder for right sides that no template expresses: name(?a, ?b) is the class that it
  // returns. A failure cancels the application. `reads` also covers the analysis, if that refuses
  // what is built.
  using Builder = std::function<base::Result<ClassId>(EGraph&, std::span<const ClassId>)>;
  void define_builder(std::string name, std::size_t arguments, Builder builder,
                      Rewrite::Reads reads = Rewrite::Reads::kEverything);

  base::Result<ClassId> add_term(EGraph& egraph, std::string_view text) const;
  base::Result<Pattern> pattern(std::string_view text) const;
  base::Result<Rewrite> rule(std::string_view text) const;
  // Parses one rule per line; empty lines are skipped. A rule without a name is called "line N".
  base::Result<std::vector<Rewrite>> rules(std::string_view text) const;

 private:
  friend class RuleParser;
  template <typename Function>
  struct Named {
    std::size_t arguments;
    Function function;
    Rewrite::Reads reads = Rewrite::Reads::kEverything;
  };
  template <typename Function>
  using ByName = std::map<std::string, Named<Function>, std::less<>>;

  OpTable& ops_;
  ByName<Condition> conditions_;
  ByName<Builder> builders_;
};

}  // namespace egret::egraph
