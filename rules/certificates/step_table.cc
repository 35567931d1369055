// SPDX-License-Identifier: Apache-2.0
#include "rules/certificates/step_table.h"

#include <algorithm>
#include <utility>

namespace egret::rules {

using base::Result;
using base::Status;
using verifier::Certificate;
using verifier::ReplaySymbol;
using verifier::SymbolRef;
using verifier::TermRef;

namespace {

std::vector<std::int64_t> key_of(const Certificate::Step& step) {
  std::vector<std::int64_t> key{static_cast<std::int64_t>(step.kind), step.left, step.right,
                                step.rule, step.equation};
  const auto append = [&](const auto& numbers) {
    key.push_back(std::ssize(numbers));
    key.insert(key.end(), numbers.begin(), numbers.end());
  };
  append(step.premises);
  append(step.substitution);
  append(step.operators);
  append(step.name);
  return key;
}

// Whether its type and one number determine it.
bool is_readable(const ir::Tensor& data) {
  return data.type().rank() == 0 &&
         ir::Tensor::scalar(data.dtype(), data.f64_at(0)).content_hash() == data.content_hash();
}

// Copies what is needed, with numbers in the order of first use.
class Selection {
 public:
  Selection(const verifier::ReplayTerms& terms, std::span<const Certificate::Step> steps,
            std::span<const Certificate::Rule> rules, const std::map<std::string, bool>& known)
      : terms_(terms), steps_(steps), rules_(rules), known_(known) {}

  Result<Certificate> run(const std::vector<Certificate::Output>& outputs) {
    // Premises come first, so one pass from the last step to the first finds what is needed.
    std::vector<bool> needed(steps_.size(), false);
    for (const Certificate::Output& output : outputs) {
      if (output.step >= 0) needed[static_cast<std::size_t>(output.step)] = true;
    }
    for (std::size_t i = steps_.size(); i-- > 0;) {
      if (!needed[i]) continue;
      for (const std::int64_t premise : steps_[i].premises) {
        if (premise >= 0) needed[static_cast<std::size_t>(premise)] = true;
      }
    }
    number_.assign(steps_.size(), Certificate::kReflexive);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (needed[i]) add(i);
    }
    for (Certificate::Output output : outputs) {
      output.before = term(TermRef(output.before));
      output.after = term(TermRef(output.after));
      output.step = numbered(output.step);
      made_.outputs.push_back(std::move(output));
    }
    EGRET_RETURN_IF_ERROR(status_);
    return std::move(made_);
  }

 private:
  std::int64_t numbered(std::int64_t step) const {
    return step < 0 ? step : number_[static_cast<std::size_t>(step)];
  }

  void add(std::size_t i) {
    using Kind = Certificate::Step::Kind;
    Certificate::Step step = steps_[i];
    for (std::int64_t& premise : step.premises) premise = numbered(premise);
    if (step.kind != Kind::kSymmetry && step.kind != Kind::kTransitivity) {
      step.left = term(TermRef(step.left));
      step.right = term(TermRef(step.right));
    }
    for (std::uint32_t& one : step.substitution) one = term(TermRef(one));
    for (std::uint32_t& one : step.operators) one = symbol(SymbolRef(one));
    if (step.kind == Kind::kRule) {
      const auto [found, is_new] =
          rule_number_.try_emplace(step.rule, static_cast<std::uint32_t>(made_.rules.size()));
      if (is_new) made_.rules.push_back(rules_[step.rule]);
      step.rule = found->second;
    }
    number_[i] = std::ssize(made_.steps);
    made_.steps.push_back(std::move(step));
  }

  std::uint32_t term(TermRef wanted) {
    std::vector<TermRef> stack{wanted};
    while (!stack.empty()) {
      const TermRef top = stack.back();
      const std::size_t open = stack.size();
      for (const TermRef child : terms_.children(top)) {
        if (!term_number_.contains(child)) stack.push_back(child);
      }
      if (stack.size() > open) continue;
      stack.pop_back();
      const auto [found, is_new] =
          term_number_.try_emplace(top, static_cast<std::uint32_t>(made_.terms.size()));
      if (!is_new) continue;
      Certificate::Term made{.symbol = symbol(terms_.symbol_of(top))};
      for (const TermRef child : terms_.children(top))
        made.children.push_back(term_number_.at(child));
      made_.terms.push_back(std::move(made));
    }
    return term_number_.at(wanted);
  }

  std::uint32_t symbol(SymbolRef wanted) {
    const auto [found, is_new] =
        symbol_number_.try_emplace(wanted, static_cast<std::uint32_t>(made_.symbols.size()));
    if (!is_new) return found->second;
    const ReplaySymbol& head = terms_.symbol(wanted);
    Certificate::Symbol made;
    switch (head.kind) {
      case ir::NodeKind::kInput:
        made.kind = Certificate::Symbol::Kind::kInput;
        made.name = head.name;
        break;
      case ir::NodeKind::kConstant:
        made.kind = Certificate::Symbol::Kind::kConstant;
        made.name = head.data.content_hash().to_hex();
        if (known_.contains(made.name)) break;
        made.type = to_string(head.data.type());
        if (is_readable(head.data)) {
          made.value = ir::to_string(ir::AttrValue(head.data.f64_at(0)));
        } else {
          status_ = base::unsupported("--certificate: neither program has a constant of " +
                                      made.type + " that a step needs");
        }
        break;
      case ir::NodeKind::kOperator:
        made.name = head.op->name();
        for (const ir::Attrs::Entry& entry : head.attrs.entries())
          made.attributes.emplace(entry.name, ir::to_string(entry.value));
        break;
    }
    made_.symbols.push_back(std::move(made));
    return found->second;
  }

  const verifier::ReplayTerms& terms_;
  std::span<const Certificate::Step> steps_;
  std::span<const Certificate::Rule> rules_;
  const std::map<std::string, bool>& known_;
  Certificate made_;
  Status status_;
  std::vector<std::int64_t> number_;  // by step
  std::map<TermRef, std::uint32_t> term_number_;
  std::map<SymbolRef, std::uint32_t> symbol_number_;
  std::map<std::uint32_t, std::uint32_t> rule_number_;
};

}  // namespace

std::uint32_t StepTable::rule(const std::string& name, const std::string& hash) {
  const auto [found, is_new] =
      rule_index_.try_emplace(hash, static_cast<std::uint32_t>(rules_.size()));
  if (is_new) rules_.push_back({name, hash});
  return found->second;
}

StepTable::StepNumber StepTable::add(Step step) {
  const auto [found, is_new] = index_.try_emplace(key_of(step), std::ssize(steps_));
  if (is_new) steps_.push_back(std::move(step));
  return found->second;
}

StepTable::StepNumber StepTable::symmetry(StepNumber of) {
  if (of == Certificate::kReflexive) return of;
  const Step& step = steps_[static_cast<std::size_t>(of)];
  if (step.kind == Step::Kind::kSymmetry) return step.premises.front();
  return add({.kind = Step::Kind::kSymmetry, .premises = {of}});
}

StepTable::StepNumber StepTable::chain(std::span<const StepNumber> steps) {
  Step made{.kind = Step::Kind::kTransitivity};
  for (const StepNumber step : steps) {
    if (step != Certificate::kReflexive) made.premises.push_back(step);
  }
  if (made.premises.empty()) return Certificate::kReflexive;
  if (made.premises.size() == 1) return made.premises.front();
  return add(std::move(made));
}

StepTable::StepNumber StepTable::congruence(TermRef left, TermRef right,
                                            std::vector<StepNumber> premises) {
  if (left == right) return Certificate::kReflexive;
  return add({.kind = Step::Kind::kCongruence,
              .left = left.index(),
              .right = right.index(),
              .premises = std::move(premises)});
}

Result<Certificate> StepTable::certificate(const std::vector<Certificate::Output>& outputs,
                                           const std::map<std::string, bool>& known) const {
  return Selection(terms_, steps_, rules_, known).run(outputs);
}

}  // namespace egret::rules
