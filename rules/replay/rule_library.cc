// SPDX-License-Identifier: Apache-2.0
#include "rules/replay/rule_library.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/system/file.h"
#include "ir/core/symbolic_scope.h"
#include "rules/language/builtin_rules.h"
#include "rules/language/rule_parser.h"
#include "rules/tensors/binding.h"
#include "rules/tensors/fixed_width.h"

namespace egret::rules {

using base::Result;
using base::Status;
using verifier::ReplayTerms;
using verifier::RuleApplication;
using verifier::RuleSides;
using verifier::SymbolRef;
using verifier::TermRef;

namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;

void collect_captures(const Term& term, std::vector<const Term*>& captures) {
  if (term.kind != Term::Kind::kApply) return;
  for (const Term& argument : term.arguments) collect_captures(argument, captures);
  if (!term.op->attrs().empty()) captures.push_back(&term);
}

// Terms as a sink of what a rule builds; handles are their numbers.
class ReplaySink : public TermSink {
 public:
  explicit ReplaySink(ReplayTerms& terms) : terms_(terms) {}

  Result<Handle> apply(const ir::Operator& op, const ir::Attrs& attrs,
                       std::span<const Handle> arguments) override {
    std::vector<TermRef> children;
    for (const Handle argument : arguments) children.emplace_back(argument);
    EGRET_ASSIGN_OR_RETURN(const TermRef made, terms_.make(terms_.operation(op, attrs), children));
    return made.index();
  }
  Result<Handle> scalar(ir::DType dtype, double value) override {
    EGRET_ASSIGN_OR_RETURN(const TermRef made,
                           terms_.make_constant(ir::Tensor::scalar(dtype, value)));
    return made.index();
  }
  const TensorFacts& facts(Handle handle) override {
    const verifier::ReplayFacts& known = terms_.facts(TermRef(handle));
    return facts_.emplace_back(TensorFacts{known.type, known.constant, known.splat, known.sign});
  }

 private:
  ReplayTerms& terms_;
  std::deque<TensorFacts> facts_;
};

// One application of a rule.
class Instance {
 public:
  Instance(const Rule& rule, const RuleLimit& limit, const RuleApplication& application,
           ReplayTerms& terms)
      : rule_(rule),
        limit_(limit),
        application_(application),
        terms_(terms),
        sink_(terms),
        environment_(make_environment(rule)) {}

  Result<RuleSides> sides() {
    ir::SymbolicScope* const scope = ir::SymbolicScope::current();
    EGRET_RETURN_IF_ERROR(bind_variables());
    EGRET_RETURN_IF_ERROR(build_sources());
    EGRET_RETURN_IF_ERROR(check_limit());
    if (!bind_sources(rule_, matched_, environment_))
      return base::mismatch("an attribute differs from the rule's, or a condition does not hold");
    if (!holds_of_fixed_width(rule_, matched_, environment_))
      return base::mismatch("the rule does not hold for integers of fixed width");
    for (const Rule::Let& let : rule_.lets)
      EGRET_RETURN_IF_ERROR(build_let(rule_, let, environment_, sink_));
    // The rule speaks of targets that are well-typed, all of them.
    std::vector<TermRef> targets;
    for (const Binding& target : rule_.targets) {
      EGRET_ASSIGN_OR_RETURN(const TermSink::Handle built,
                             build_term(rule_, target.term, environment_, sink_));
      targets.emplace_back(built);
      if (!terms_.same_type(targets.back(), tensor(target.tensor)))
        return base::mismatch("a target has another type than its source");
    }
    if (scope != nullptr && scope->take_undecided())
      return base::mismatch("a condition depends on the values of open sizes");
    if (application_.equation >= targets.size())
      return base::mismatch("the rule has no equation " + std::to_string(application_.equation));
    return RuleSides{tensor(rule_.targets[application_.equation].tensor),
                     targets[application_.equation]};
  }

 private:
  TermRef tensor(int slot) const {
    return TermRef(environment_.tensors[static_cast<std::size_t>(slot)].identity);
  }
  void set(int slot, TermRef term) {
    environment_.tensors[static_cast<std::size_t>(slot)] = {&sink_.facts(term.index()),
                                                            term.index()};
  }

  Status bind_variables() {
    const std::vector<int> variables = RuleLibrary::variables_of(rule_);
    if (variables.size() != application_.substitution.size())
      return base::mismatch("the rule has " + std::to_string(variables.size()) + " variables");
    for (std::size_t i = 0; i < variables.size(); ++i)
      set(variables[i], application_.substitution[i]);
    return base::ok();
  }

  Status build_sources() {
    if (RuleLibrary::captures_of(rule_).size() != application_.operators.size())
      return base::mismatch("the rule has another number of operators with attributes");
    for (const Binding& source : rule_.sources) {
      EGRET_ASSIGN_OR_RETURN(const TermRef built, source_term(source.term));
      const auto& slot = environment_.tensors[static_cast<std::size_t>(source.tensor)];
      if (slot.facts != nullptr && TermRef(slot.identity) != built)
        return base::mismatch("a source is another term than its name");
      if (slot.facts == nullptr) set(source.tensor, built);
    }
    return base::ok();
  }

  Result<TermRef> source_term(const Term& term) {
    if (term.kind == Term::Kind::kTensor) {
      if (environment_.tensors[static_cast<std::size_t>(term.slot)].facts == nullptr)
        return base::unsupported("a source is named before it is stated");
      return tensor(term.slot);
    }
    if (term.kind != Term::Kind::kApply) return base::unsupported("a source is a number");
    std::vector<TermRef> arguments;
    for (const Term& argument : term.arguments) {
      EGRET_ASSIGN_OR_RETURN(arguments.emplace_back(), source_term(argument));
    }
    if (term.op->attrs().empty()) return terms_.make(terms_.operation(*term.op, {}), arguments);
    const SymbolRef symbol = application_.operators[matched_.size()];
    const verifier::ReplaySymbol& head = terms_.symbol(symbol);
    if (head.kind != ir::NodeKind::kOperator || head.op != term.op)
      return base::mismatch("the rule has the operator " + term.op->name() + " there");
    matched_.push_back({&term, &head.attrs});
    return terms_.make(symbol, arguments);
  }

  Status check_limit() const {
    std::vector<int> ranks;
    bool has_empty = false;
    for (const int slot : RuleLibrary::variables_of(rule_)) {
      const ir::TensorType& type = terms_.type(tensor(slot));
      ranks.push_back(type.rank());
      for (const ir::Index& size : type.dims)
        has_empty = has_empty || !((!limit_.of_empty && empties_results(size)) ||
                                   ir::decided(size >= 1) == std::optional(true));
    }
    return limit_.admits(ranks, has_empty)
               ? base::ok()
               : base::mismatch("the rule is proven for " + to_string(limit_) +
                                (has_empty ? ", and a size is not known to be at least 1" : ""));
  }

  // Whether all results are empty if this size is 0. Results of one type without elements are
  // equal, so a proof need not speak of them.
  bool empties_results(const ir::Index& size) const {
    return std::ranges::all_of(rule_.sources, [&](const Binding& source) {
      const ir::Dims& dims = terms_.type(tensor(source.tensor)).dims;
      return std::ranges::any_of(dims, [&](ir::Index one) { return (one == size).is_true(); });
    });
  }

  const Rule& rule_;
  const RuleLimit& limit_;
  const RuleApplication& application_;
  ReplayTerms& terms_;
  ReplaySink sink_;
  Environment environment_;
  std::vector<MatchedTerm> matched_;
};

}  // namespace

std::vector<int> RuleLibrary::variables_of(const Rule& rule) {
  std::vector<int> variables;
  for (int slot = 0; std::cmp_less(slot, rule.tensors.size()); ++slot) {
    if (rule.is_variable(slot)) variables.push_back(slot);
  }
  return variables;
}

std::vector<const Term*> RuleLibrary::captures_of(const Rule& rule) {
  std::vector<const Term*> captures;
  for (const Binding& source : rule.sources) collect_captures(source.term, captures);
  return captures;
}

void RuleLibrary::add(std::vector<Rule> rules, const RuleProofs& proofs) {
  for (Rule& rule : rules) {
    const std::string hash = content_hash(rule).to_hex();
    const auto known = proofs.find(hash);
    rules_.try_emplace(hash,
                       Known{std::move(rule), known != proofs.end() ? known->second : RuleProof()});
  }
}

// Rules are looked for by the names that the certificate gives them, and known by their hashes.
Result<RuleLibrary> RuleLibrary::read(const std::vector<std::string>& files,
                                      const std::vector<verifier::Certificate::Rule>* only) {
  RuleLibrary library;
  std::map<std::string, std::string> names;  // by hash
  for (std::size_t i = 0; only != nullptr && i < only->size(); ++i)
    names.emplace((*only)[i].hash, (*only)[i].name);
  const auto* const some = only != nullptr ? &names : nullptr;
  EGRET_ASSIGN_OR_RETURN(RuleProofs proofs, read_proofs(builtin_rule_statuses(), some));
  std::vector<std::vector<Rule>> all(1);
  EGRET_ASSIGN_OR_RETURN(all[0], parse_builtin_rules(some));
  for (const std::string& path : files) {
    EGRET_ASSIGN_OR_RETURN(const std::string text, base::read_file(path, kMaxFileBytes));
    EGRET_ASSIGN_OR_RETURN(all.emplace_back(), parse_rules(path, text));
    auto json = base::read_file(path + ".status.json", kMaxFileBytes);
    if (json.status().code() == base::StatusCode::kUnavailable) continue;
    EGRET_RETURN_IF_ERROR(json.status());
    auto more = read_proofs(*json);
    if (!more.ok()) return more.status().at(path + ".status.json");
    add_proofs(proofs, *more);
  }
  for (std::vector<Rule>& rules : all) library.add(std::move(rules), proofs);
  const auto is_missing = [&](const auto& one) { return !library.rules_.contains(one.first); };
  return std::ranges::any_of(names, is_missing) ? read(files) : library;
}

Result<RuleSides> RuleLibrary::instance(const std::string& hash, const RuleApplication& application,
                                        ReplayTerms& terms) const {
  const auto found = rules_.find(hash);
  if (found == rules_.end()) return base::mismatch("no known rule has the hash " + hash);
  const Known& known = found->second;
  if (known.proof.status != "proven")
    return base::mismatch("the rule is not proven but " + known.proof.status);
  return Instance(known.rule, known.proof.limit, application, terms).sides();
}

}  // namespace egret::rules
