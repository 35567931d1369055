// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/rewrite.h"

#include <algorithm>

#include "base/check.h"
#include "base/small_vector.h"

namespace egret::egraph {

using base::Result;
using base::Status;

// Steps only refer to earlier ones, so one pass in order can run them, and the right side has no
// cycle. The variable of a step follows the variables of the pattern.
VarId Rewrite::add_step(Step step) {
  form_.reset();
  const std::size_t var = pattern_.var_count() + steps_.size();
  for (const VarId child : step.children) {
    EGRET_CHECK(child.index() < var, "a child must be matched or built before");
  }
  has_builders_ = has_builders_ || !std::holds_alternative<OpId>(step.make);
  all_given_ = all_given_ && std::holds_alternative<OpId>(step.make) &&
               step.children.size() <= kMaxPlainChildren;
  steps_.push_back(std::move(step));
  return VarId(var);
}

VarId Rewrite::build(OpId op, std::initializer_list<VarId> children) {
  return add_step({op, children, {}});
}

VarId Rewrite::build(OpId op, std::span<const VarId> children) {
  return add_step({op, {children.begin(), children.end()}, {}});
}

VarId Rewrite::build(OpBuilder op, std::initializer_list<VarId> children, std::string text) {
  return add_step({std::move(op), children, std::move(text)});
}

VarId Rewrite::build(OpBuilder op, std::span<const VarId> children, std::string text) {
  return add_step({std::move(op), {children.begin(), children.end()}, std::move(text)});
}

VarId Rewrite::build(ClassBuilder make, std::string text) {
  return add_step({std::move(make), {}, std::move(text)});
}

void Rewrite::equate(VarId a, VarId b) {
  const std::size_t vars = pattern_.var_count() + steps_.size();
  EGRET_CHECK(a.index() < vars && b.index() < vars);
  form_.reset();
  equations_.emplace_back(a, b);
}

void Rewrite::when(Condition condition, Reads reads, std::string text) {
  form_.reset();
  conditions_.push_back(std::move(condition));
  conditions_read_ = std::max(conditions_read_, reads);
  condition_texts_.push_back(std::move(text));
}

const std::shared_ptr<const RuleForm>& Rewrite::form() const {
  if (form_ == nullptr) form_ = std::make_shared<const RuleForm>(*this);
  return form_;
}

// What the outcome of another try depends on. A rejection depends on the conditions. A match that
// was applied without builders cannot give anything new (nullopt). All others depend on conditions
// and builders.
std::optional<Rewrite::Reads> Rewrite::depends_on(Outcome outcome) const {
  const bool repeatable = outcome == Outcome::kChanged || outcome == Outcome::kUnchanged;
  if (outcome == Outcome::kRejected) return conditions_read_;
  if (repeatable && !has_builders_) return {};
  return std::max(conditions_read_, builders_read_);
}

bool Rewrite::conditions_hold(EGraph& egraph, const Match& match) const {
  return std::ranges::all_of(conditions_,
                             [&](const Condition& condition) { return condition(egraph, match); });
}

// A match extended by the built classes, and the savepoint before building.
struct Rewrite::Row {
  base::SmallVector<ClassId, 16> classes;
  std::span<const OpId> ops;
  EGraph::Savepoint before;

  Match match() const { return {{classes.data(), classes.size()}, ops}; }
};

// Evaluates the conditions and runs the steps. On rejection or refusal, returns that outcome and
// removes everything built.
std::optional<Rewrite::Application> Rewrite::fill(Row& row, std::span<const Step> steps,
                                                  EGraph& egraph, const Match& match) const {
  for (const ClassId id : match.classes()) row.classes.push_back(egraph.find(id));
  row.ops = match.ops();
  if (!conditions_hold(egraph, row.match())) return Application{Outcome::kRejected, {}};
  row.before = egraph.savepoint();
  for (const Step& step : steps) {
    const Result<ClassId> made = run(step, egraph, row.match());
    if (!made.ok()) {
      egraph.rollback(row.before);
      return Application{Outcome::kRefused, made.status()};
    }
    row.classes.push_back(*made);
  }
  return {};
}

// If the last step builds one side of the only equation, its node is added to the class of the
// other side directly. This saves a class and a merge.
Rewrite::Application Rewrite::apply(EGraph& egraph, const Match& match) const {
  if (ProofLog* const proofs = egraph.proofs(); proofs != nullptr) proofs->begin_application();
  const VarId target = only_target();
  Row row;
  auto failed =
      fill(row, target.valid() ? steps().first(steps_.size() - 1) : steps(), egraph, match);
  if (failed) return *std::move(failed);
  const auto refused = [&](const Status& why) -> Application {
    egraph.rollback(row.before);
    return {Outcome::kRefused, why};
  };
  bool changed = false;
  if (target.valid()) {
    const Result<bool> added = add_last(row.classes[target.index()], egraph, row.match());
    if (!added.ok()) return refused(added.status());
    changed = *added;
  } else {
    for (std::uint32_t i = 0; i < equations_.size(); ++i) {
      const Result<bool> merged = equate(i, egraph, row.match());
      if (!merged.ok()) return refused(merged.status());
      changed |= *merged;
    }
  }
  return {changed ? Outcome::kChanged : Outcome::kUnchanged, {}};
}

// Builds both sides of each equation but merges nothing. The nodes that were built stay.
std::optional<std::vector<std::pair<ClassId, ClassId>>> Rewrite::sides(EGraph& egraph,
                                                                       const Match& match) const {
  Row row;
  if (fill(row, steps_, egraph, match)) return {};
  std::vector<std::pair<ClassId, ClassId>> result;
  for (const auto& [a, b] : equations_)
    result.emplace_back(row.classes[a.index()], row.classes[b.index()]);
  return result;
}

// The class to which the last step's node may be added directly; invalid if there is none. A class
// that a builder makes is no single node, and a rule with several equations may need its class for
// another one.
VarId Rewrite::only_target() const {
  if (steps_.empty() || equations_.size() != 1) return {};
  if (std::holds_alternative<ClassBuilder>(steps_.back().make)) return {};
  const VarId last(pattern_.var_count() + steps_.size() - 1);
  const auto& [a, b] = equations_[0];
  if (a == b) return {};
  return b == last ? a : a == last ? b : VarId();
}

// The reason for a merge by this rule, as views of the match.
ProofLog::Reason Rewrite::reason(const Match& match, std::uint32_t equation) const {
  ProofLog::Reason made;
  made.kind = ProofLog::Kind::kRule;
  made.classes = match.classes();
  made.ops = match.ops();
  made.rule = &form();
  made.equation = equation;
  return made;
}

Result<bool> Rewrite::equate(std::uint32_t equation, EGraph& egraph, const Match& match) const {
  const auto& [a, b] = equations_[equation];
  if (egraph.proofs() == nullptr) return egraph.merge(match[a], match[b]);
  const ProofLog::Reason why = reason(match, equation);
  return egraph.merge(match[a], match[b], &why);
}

Result<OpId> Rewrite::op_of(const Step& step, EGraph& egraph, const Match& match) const {
  const auto* builder = std::get_if<OpBuilder>(&step.make);
  if (builder == nullptr) return std::get<OpId>(step.make);
  EGRET_ASSIGN_OR_RETURN(const OpId op, (*builder)(egraph, match));
  if (egraph.ops().arity(op) != step.children.size()) {
    return base::internal_error("rule '" + name_ + "': the computed operator " +
                                egraph.ops().text(op) + " has another arity than its node");
  }
  if (egraph.proofs() != nullptr) egraph.proofs()->add_computed_op(op);
  return op;
}

Result<ClassId> Rewrite::run(const Step& step, EGraph& egraph, const Match& match) const {
  if (const auto* make = std::get_if<ClassBuilder>(&step.make)) return (*make)(egraph, match);
  EGRET_ASSIGN_OR_RETURN(const OpId op, op_of(step, egraph, match));
  base::SmallVector<ClassId, 8> children;
  for (const VarId child : step.children) children.push_back(match[child]);
  return egraph.insert(op, {children.data(), children.size()});
}

// Runs the last step and adds its node directly to an existing class.
Result<bool> Rewrite::add_last(ClassId id, EGraph& egraph, const Match& match) const {
  EGRET_ASSIGN_OR_RETURN(const OpId op, op_of(steps_.back(), egraph, match));
  base::SmallVector<ClassId, 8> children;
  for (const VarId child : steps_.back().children) children.push_back(match[child]);
  const std::span<const ClassId> kids(children.data(), children.size());
  if (egraph.proofs() == nullptr) return egraph.add_to(id, op, kids);
  ProofLog::Reason why = reason(match, 0);
  why.built_left = builds_left();
  return egraph.add_to(id, op, kids, &why);
}

}  // namespace egret::egraph
