// SPDX-License-Identifier: Apache-2.0
// Terms, patterns and rules as text, for those who use the engine by itself.
//
//   term     (+ a (* b 2))            a word is an operator; (f) and f are the same
//   pattern  (+ ?a (* ?b 2))          ?a is a variable; the same name is the same class
//   rule     name: (* ?a 2) => (<< ?a 1) if small(?a) and even(?a)
//   several  ?x = (f ?a), (g ?a) => ?x = (h ?a), (k ?a)
//   dynamic  (subst ?v ?e ?b) => substitute(?v, ?e, ?b)
//
// Words end at white space, parentheses and commas; # begins a comment. A rule's name and its
// condition are optional. Of several sources and targets each is `?variable = term` or a term;
// a target without a variable is equal to the source at its place in the list. A target may be a
// call of a builder instead of a term: a class that the client computes.
//
// Errors name line and column, counted from 1, in the text given.
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
  // Operators that a text names are interned here.
  explicit Syntax(OpTable& ops) : ops_(ops) {}

  // A condition that rules may use: name(?a, ?b) calls it with the classes of a and b. Say what it
  // reads, where it is not everything: then it is not asked again where nothing has changed.
  using Condition = std::function<bool(EGraph&, std::span<const ClassId>)>;
  void define_condition(std::string name, std::size_t arguments, Condition condition,
                        Rewrite::Reads reads = Rewrite::Reads::kEverything);
  // A right side that no template expresses: name(?a, ?b) is the class that this returns. A failure
  // cancels the application. `reads` is also of the analysis, where it refuses what is built.
  using Builder = std::function<base::Result<ClassId>(EGraph&, std::span<const ClassId>)>;
  void define_builder(std::string name, std::size_t arguments, Builder builder,
                      Rewrite::Reads reads = Rewrite::Reads::kEverything);

  base::Result<ClassId> add_term(EGraph& egraph, std::string_view text) const;
  base::Result<Pattern> pattern(std::string_view text) const;
  base::Result<Rewrite> rule(std::string_view text) const;
  // One rule a line; empty lines are skipped. Rules without a name are called "line N".
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
