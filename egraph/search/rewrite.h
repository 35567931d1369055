// SPDX-License-Identifier: Apache-2.0
// A rewrite rule: a pattern, conditions, the nodes to build, and the equations that then hold.
//
//   Pattern p;                                            // (* ?a 2)
//   const VarId a = p.var("a");
//   const VarId product = p.node(times, {a, p.node(two)});
//   Rewrite rule("shift", std::move(p));                  //   => (<< ?a 1)
//   rule.equate(product, rule.build(shift_left, {a, rule.build(one)}));
//
// Built nodes get variables numbered after those of the pattern. Later steps, conditions and
// callbacks thus refer to matched and built classes alike. A rule may equate several pairs. That is
// how a rule with several outputs is written: either all are applied or none.
//
// Callbacks get a canonical match. Earlier applications may have changed the e-graph, which is not
// rebuilt yet. Callbacks may call find(), data(), lookup() and add(), but must not read the lists.
// They can record what they rely on with EGraph::cite(). Conditions and callbacks should have a
// text, which represents them in proofs.
//
// A match is found once and applied once. That suffices for results that never change. The answer
// of a callback may change with what it reads; see Reads.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "egraph/core/egraph.h"
#include "egraph/core/pattern.h"
#include "egraph/core/rule_form.h"

namespace egret::egraph {

class Rewrite {
 public:
  // Whether the rule may be applied to this match. Called at the moment of application. It may add
  // terms, to ask whether they are equal.
  using Condition = std::function<bool(EGraph&, const Match&)>;
  // An operator computed from the match, for example with attributes derived from captured
  // operators. A failure cancels this application.
  using OpBuilder = std::function<base::Result<OpId>(EGraph&, const Match&)>;
  // A class computed by the client, which may add nodes. A failure cancels this application.
  using ClassBuilder = std::function<base::Result<ClassId>(EGraph&, const Match&)>;

  struct Step {
    std::variant<OpId, OpBuilder, ClassBuilder> make;
    std::vector<VarId> children;  // none for a ClassBuilder
    std::string text;             // what proofs call a builder
  };

  Rewrite(std::string name, Pattern pattern)
      : name_(std::move(name)), pattern_(std::move(pattern)) {}

  // Adds a step of the right-hand side. Steps run in this order. Returns the variable of the built
  // class.
  VarId build(OpId op, std::initializer_list<VarId> children = {});
  VarId build(OpId op, std::span<const VarId> children);
  VarId build(OpBuilder op, std::initializer_list<VarId> children, std::string text = {});
  VarId build(OpBuilder op, std::span<const VarId> children, std::string text = {});
  VarId build(ClassBuilder make, std::string text = {});
  // Adds an equation: applying a match merges a and b.
  void equate(VarId a, VarId b);

  // What callbacks read. It decides which old matches are tried again when the rule runs next:
  // those that a condition rejected or the analysis refused, and all matches of a rule with a
  // builder. A change outside the declared set goes unnoticed.
  enum class Reads : unsigned char {
    kData,        // the match's operators, and id and data of its classes
    kMatched,     // also the nodes in its classes
    kEverything,  // also other parts of the e-graph: tried again each time
  };
  // Adds a condition. All conditions must hold; they are evaluated in this order. Text example:
  // "small(?a)".
  void when(Condition condition, Reads reads = Reads::kEverything, std::string text = {});
  // Declares what OpBuilders, ClassBuilders and a refusing analysis read. The default is
  // kEverything.
  void builders_read(Reads reads) { builders_read_ = reads; }

  const std::string& name() const { return name_; }
  const Pattern& pattern() const { return pattern_; }
  bool has_callbacks() const { return has_builders_ || !conditions_.empty(); }
  std::span<const Step> steps() const { return steps_; }
  std::span<const std::pair<VarId, VarId>> equations() const { return equations_; }
  std::span<const std::string> condition_texts() const { return condition_texts_; }
  // The rule as data, made at the first call. Copies of the rule share it.
  const std::shared_ptr<const RuleForm>& form() const;

  enum class Outcome : unsigned char {
    kChanged,    // something was merged
    kUnchanged,  // it was known already
    kRejected,   // a condition does not hold
    kRefused,    // the analysis or a builder refused; nodes added meanwhile are gone again
  };
  struct Application {
    Outcome outcome;
    base::Status refusal;  // why, when refused
  };
  Application apply(EGraph& egraph, const Match& match) const;
  // The pairs of classes that apply() would merge, one per equation, without merging them: for
  // clients that rewrite one term at a time. Builds missing nodes. Returns nothing, and builds
  // nothing, if apply() would reject or refuse. Does not check whether a pair can be equal.
  std::optional<std::vector<std::pair<ClassId, ClassId>>> sides(EGraph& egraph,
                                                                const Match& match) const;
  // What this outcome depends on, if it may change; empty if the match need not be tried again.
  std::optional<Reads> depends_on(Outcome outcome) const;
  // Whether the rule has no callbacks and no step with more than kMaxPlainChildren children. Such a
  // rule can be applied in blocks; see egraph/search/apply_block.h.
  static constexpr std::size_t kMaxPlainChildren = 8;
  bool is_plain() const { return all_given_ && conditions_.empty(); }
  // The variable whose class the last step's node can join directly, if that is all that remains
  // after the other steps; otherwise invalid.
  VarId only_target() const;
  // Whether the last step's node is the left side of the only equation.
  bool builds_left() const {
    return equations_[0].second.index() + 1 != pattern_.var_count() + steps_.size();
  }

 private:
  struct Row;
  VarId add_step(Step step);
  std::optional<Application> fill(Row& row, std::span<const Step> steps, EGraph& egraph,
                                  const Match& match) const;
  bool conditions_hold(EGraph& egraph, const Match& match) const;
  base::Result<ClassId> run(const Step& step, EGraph& egraph, const Match& match) const;
  base::Result<bool> add_last(ClassId id, EGraph& egraph, const Match& match) const;
  base::Result<OpId> op_of(const Step& step, EGraph& egraph, const Match& match) const;
  base::Result<bool> equate(std::uint32_t equation, EGraph& egraph, const Match& match) const;
  ProofLog::Reason reason(const Match& match, std::uint32_t equation) const;

  std::string name_;
  Pattern pattern_;
  std::vector<Condition> conditions_;
  Reads conditions_read_ = Reads::kData;  // the most of what they read
  Reads builders_read_ = Reads::kEverything;
  bool has_builders_ = false;
  std::vector<Step> steps_;
  bool all_given_ = true;  // no step is a callback, none has very many children
  std::vector<std::pair<VarId, VarId>> equations_;
  std::vector<std::string> condition_texts_;
  mutable std::shared_ptr<const RuleForm> form_;
};

}  // namespace egret::egraph
