// SPDX-License-Identifier: Apache-2.0
// A rule: what to look for, when it holds, what to build, and what is then equal.
//
//   Pattern p;                                            // (* ?a 2)
//   const VarId a = p.var("a");
//   const VarId product = p.node(times, {a, p.node(two)});
//   Rewrite rule("shift", std::move(p));                  //   => (<< ?a 1)
//   rule.equate(product, rule.build(shift_left, {a, rule.build(one)}));
//
// What is built gets variables that go on after the pattern's, so that later steps, conditions and
// callbacks speak of matched and built classes alike. A rule may equate any number of pairs, which
// is how a rule with several outputs is written: both or none.
//
// Callbacks get a canonical match on an e-graph that earlier applications may have changed already
// and that is not rebuilt: they may call find(), data(), lookup(), add(), not the lists. What they
// rely on can be told to EGraph::cite(). Give conditions and callbacks a text: it stands for them
// where proofs name the rule.
//
// A match is found once and applied once. That is enough where what was said stays said; but an
// answer of a callback may change with what it looks at. See Reads.
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
  // Whether the rule may be applied to this match, asked at the moment of application. It may add
  // terms to ask whether they are equal.
  using Condition = std::function<bool(EGraph&, const Match&)>;
  // An operator computed from the match, say with attributes made of those of captured operators.
  // A failure cancels this application.
  using OpBuilder = std::function<base::Result<OpId>(EGraph&, const Match&)>;
  // A class computed by the client, who adds what it likes. A failure cancels this application.
  using ClassBuilder = std::function<base::Result<ClassId>(EGraph&, const Match&)>;

  struct Step {
    std::variant<OpId, OpBuilder, ClassBuilder> make;
    std::vector<VarId> children;  // none for a ClassBuilder
    std::string text;             // what proofs call a builder
  };

  Rewrite(std::string name, Pattern pattern)
      : name_(std::move(name)), pattern_(std::move(pattern)) {}

  // Steps of the right-hand side, run in this order; the variable of the class that is built.
  VarId build(OpId op, std::initializer_list<VarId> children = {});
  VarId build(OpId op, std::span<const VarId> children);
  VarId build(OpBuilder op, std::initializer_list<VarId> children, std::string text = {});
  VarId build(OpBuilder op, std::span<const VarId> children, std::string text = {});
  VarId build(ClassBuilder make, std::string text = {});
  // All pairs are merged when a match is applied.
  void equate(VarId a, VarId b);

  // What callbacks look at, and so which matches are worth another try when their rule runs again:
  // those that a condition rejected or the analysis refused, and all of a rule with a builder. What
  // is understated here will not be noticed.
  enum class Reads : unsigned char {
    kData,        // the match's operators, and id and data of its classes
    kMatched,     // also the nodes in its classes
    kEverything,  // also other parts of the e-graph: tried again each time
  };
  // Conditions are asked in the order given; all must hold. The text reads "small(?a)".
  void when(Condition condition, Reads reads = Reads::kEverything, std::string text = {});
  // Of OpBuilders, ClassBuilders and of the analysis when it refuses a node; kEverything otherwise.
  void builders_read(Reads reads) { builders_read_ = reads; }

  const std::string& name() const { return name_; }
  const Pattern& pattern() const { return pattern_; }
  bool has_callbacks() const { return has_builders_ || !conditions_.empty(); }
  std::span<const Step> steps() const { return steps_; }
  std::span<const std::pair<VarId, VarId>> equations() const { return equations_; }
  std::span<const std::string> condition_texts() const { return condition_texts_; }
  // The rule as data, made when first asked for. Copies of the rule share it.
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
  // The classes that apply() would merge, one pair an equation in its order, without merging them:
  // for who rewrites one term at a time. Builds what is missing; nothing, and builds nothing, where
  // apply() would reject or refuse. Whether the two of a pair can be equal is not asked.
  std::optional<std::vector<std::pair<ClassId, ClassId>>> sides(EGraph& egraph,
                                                                const Match& match) const;
  // What this outcome came of, if it may become another; nothing when a match is done with.
  std::optional<Reads> depends_on(Outcome outcome) const;
  // A rule without callbacks and of usual size can be applied without detours; see
  // egraph/search/apply_block.h.
  static constexpr std::size_t kMaxPlainChildren = 8;
  bool is_plain() const { return all_given_ && conditions_.empty(); }
  // The variable to whose class the last step's node can be added at once, if that is all there is
  // to do after the other steps.
  VarId only_target() const;
  // Whether that node is the left side of the only equation.
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
