// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/compile.h"

#include <map>
#include <memory>

#include "base/function_ref.h"
#include "rules/tensors/binding.h"
#include "rules/tensors/dynamic_rules.h"

namespace egret::rules {

using base::Result;
using egraph::ClassId;
using egraph::EGraph;
using egraph::Match;
using egraph::OpId;
using egraph::OpVarId;
using egraph::Pattern;
using egraph::VarId;

namespace {

class EGraphSink : public TermSink {
 public:
  explicit EGraphSink(TensorEGraph& tensors) : tensors_(tensors) {}

  Result<Handle> apply(const ir::Operator& op, const ir::Attrs& attrs,
                       std::span<const Handle> arguments) override {
    base::SmallVector<ClassId, 4> children;
    for (const Handle argument : arguments) children.push_back(ClassId(argument));
    const OpId id = tensors_.language().operation(op, attrs, children.size());
    EGRET_ASSIGN_OR_RETURN(const ClassId built,
                           tensors_.egraph().add(id, {children.data(), children.size()}));
    return built.index();
  }
  Result<Handle> scalar(ir::DType dtype, double value) override {
    EGRET_ASSIGN_OR_RETURN(const ClassId built,
                           tensors_.add_constant(ir::Tensor::scalar(dtype, value)));
    return built.index();
  }
  const TensorFacts& facts(Handle handle) override { return tensors_.facts(ClassId(handle)); }

 private:
  TensorEGraph& tensors_;
};

// Over open sizes, the answer holds for all of them, or the step is not decided.
bool is_positive(const ir::Index& size) {
  const ir::Guard guard = size >= 1;
  return guard.is_true() || ir::decided(guard) == std::optional(true);
}

// The state that a rule's callbacks share. The engine applies one match of a rule at a time. The
// condition binds `environment`, and the following steps build with it.
struct Shared {
  Shared(const Rule& given, TensorEGraph& egraph, Integers how, RuleLimit ranks)
      : rule(given),
        integers(how),
        limit(std::move(ranks)),
        tensors(egraph),
        sink(egraph),
        environment(make_environment(given)) {}

  Rule rule;
  Integers integers;
  RuleLimit limit;
  TensorEGraph& tensors;
  EGraphSink sink;
  Environment environment;
  // The applications among the sources, in pattern order, with the variable that captures their
  // operator. The terms point into `rule`.
  struct Capture {
    const Term* term;
    OpVarId op;
  };
  std::vector<Capture> captures;
  std::vector<std::pair<int, VarId>> tensor_vars;  // slot, variable

  bool bind(const Match& match) {
    return decided([&] { return bind_match(match); }) && is_worthwhile();
  }

  // The result of a step, if over open sizes all that it asked of them is decided.
  bool decided(base::FunctionRef<bool()> step) {
    OpenSizes* const open = tensors.open_sizes();
    if (open == nullptr) return step();
    open->scope().take_undecided();
    const bool done = step();
    return !open->take_undecided() && done;
  }

  // Heuristics may follow the examples of open sizes.
  bool is_worthwhile() {
    const bool all = std::ranges::all_of(
        rule.heuristics, [&](const Expr& heuristic) { return holds(heuristic, environment); });
    if (OpenSizes* const open = tensors.open_sizes()) open->scope().take_undecided();
    return all;
  }

  bool bind_match(const Match& match) {
    for (const auto& [slot, var] : tensor_vars) {
      environment.tensors[static_cast<std::size_t>(slot)] = {&tensors.facts(match[var]),
                                                             match[var].index()};
    }
    if (!is_within_limit()) return false;
    std::vector<MatchedTerm> matched;
    for (const Capture& capture : captures)
      matched.push_back({capture.term, &tensors.language().attrs(match[capture.op])});
    return bind_sources(rule, matched, environment) &&
           (integers != Integers::kOfFixedWidth ||
            holds_of_fixed_width(rule, matched, environment));
  }

  base::Status build(base::FunctionRef<base::Status()> step) {
    base::Status status;
    const bool all_decided = decided([&] {
      status = step();
      return true;
    });
    if (!status.ok() || all_decided) return status;
    return base::unsupported("what is built depends on an open size");
  }

  bool is_within_limit() const {
    base::SmallVector<int, 8> ranks;
    bool has_empty = false;
    for (std::size_t slot = 0; slot < rule.tensors.size(); ++slot) {
      if (!rule.is_variable(static_cast<int>(slot))) continue;
      const ir::TensorType& type = environment.tensors[slot].facts->type;
      ranks.push_back(type.rank());
      has_empty = has_empty || !std::ranges::all_of(type.dims, [&](const ir::Index& size) {
                    return (!limit.of_empty && empties_results(size)) || is_positive(size);
                  });
    }
    return limit.admits({ranks.data(), ranks.size()}, has_empty);
  }

  // Whether all results are empty if this size is 0. Results of one type without elements are
  // equal, so a proof need not speak of them.
  bool empties_results(const ir::Index& size) const {
    return std::ranges::all_of(rule.sources, [&](const Binding& source) {
      const auto& facts = environment.tensors[static_cast<std::size_t>(source.tensor)].facts;
      return facts != nullptr && std::ranges::any_of(facts->type.dims, [&](const ir::Index& one) {
               return (one == size).is_true();
             });
    });
  }
};

class Compiler {
 public:
  Compiler(const Rule& rule, TensorEGraph& tensors, Integers integers, RuleLimit limit)
      : shared_(std::make_shared<Shared>(rule, tensors, integers, std::move(limit))) {}

  CompiledRule run() {
    for (const Binding& source : shared_->rule.sources) add(source.term, variable(source.tensor));
    for (const auto& [slot, var] : vars_) shared_->tensor_vars.emplace_back(slot, var);

    egraph::Rewrite rewrite(shared_->rule.name, std::move(pattern_));
    // Conditions and builders depend only on facts of the matched tensors and attributes
    // (Reads::kData). In proofs the condition names the whole rule by hash, because the pattern
    // does not show the required attributes.
    rewrite.when([shared = shared_](EGraph&, const Match& match) { return shared->bind(match); },
                 egraph::Rewrite::Reads::kData,
                 "rule(" + content_hash(shared_->rule).to_hex() + ")");
    rewrite.builders_read(egraph::Rewrite::Reads::kData);
    for (const Rule::Let& let : shared_->rule.lets) add_let(let, rewrite);
    std::vector<std::pair<VarId, VarId>> equations;
    for (const Binding& target : shared_->rule.targets)
      equations.emplace_back(vars_.at(target.tensor), add_target(target, rewrite));
    for (const auto& [source, target] : equations) rewrite.equate(source, target);
    return {std::move(rewrite), shared_->rule.is_multi_pattern()};
  }

 private:
  VarId variable(int slot) {
    const auto [found, is_new] = vars_.emplace(slot, VarId());
    if (is_new) found->second = pattern_.var(shared_->rule.tensors[static_cast<std::size_t>(slot)]);
    return found->second;
  }

  // An operator without attributes is matched exactly. An operator with attributes is matched by
  // its base, and a variable captures the variant, whose attributes the condition checks.
  VarId add(const Term& term, VarId result) {
    if (term.kind == Term::Kind::kTensor) return variable(term.slot);
    std::vector<VarId> children;
    for (const Term& argument : term.arguments) children.push_back(add(argument, {}));
    TensorLanguage& language = shared_->tensors.language();
    if (term.op->attrs().empty()) {
      return pattern_.node(language.operation(*term.op, {}, children.size()), children, result);
    }
    const OpVarId op = pattern_.op_var();
    const VarId made = pattern_.node(language.base(*term.op), op, children, result);
    require_fixed_attrs(term, op);
    shared_->captures.push_back({&term, op});
    return made;
  }

  // Requirements on a single operator become predicates of the pattern, so the matcher skips other
  // operators.
  void require_fixed_attrs(const Term& term, OpVarId op) {
    const TensorLanguage* language = &shared_->tensors.language();
    const auto require = [&](const std::string& name, const ir::AttrValue& value) {
      pattern_.require(op, [language, name, value](OpId id) {
        const ir::AttrValue* found = language->attrs(id).find(name);
        return found != nullptr && *found == value;
      });
    };
    for (const ir::AttrSpec& spec : term.op->attrs()) {
      const auto listed = std::ranges::find(term.attrs, spec.name, &Term::Attr::name);
      if (listed == term.attrs.end()) {
        if (term.spread == Term::kNoSpread && spec.default_value)
          require(spec.name, *spec.default_value);
      } else if (listed->value.kind == Expr::Kind::kLiteral &&
                 ir::kind_of(listed->value.value) == spec.kind) {
        require(spec.name, listed->value.value);
      }
    }
  }

  void add_let(const Rule::Let& let, egraph::Rewrite& rewrite) {
    const auto make = [shared = shared_, &let](EGraph&, const Match& match) -> Result<ClassId> {
      EGRET_RETURN_IF_ERROR(shared->build(
          [&] { return build_let(shared->rule, let, shared->environment, shared->sink); }));
      if (let.tensor < 0) return match.classes().front();  // nothing is built
      return ClassId(shared->environment.tensors[static_cast<std::size_t>(let.tensor)].identity);
    };
    const Rule& rule = shared_->rule;
    rewrite.build(make, let.tensor < 0 ? to_string(rule, let.value) : to_string(rule, let.term));
  }

  VarId add_target(const Binding& target, egraph::Rewrite& rewrite) {
    const auto make = [shared = shared_, &target](EGraph&, const Match&) -> Result<ClassId> {
      TermSink::Handle built{};
      EGRET_RETURN_IF_ERROR(shared->build([&]() -> base::Status {
        EGRET_ASSIGN_OR_RETURN(
            built, build_term(shared->rule, target.term, shared->environment, shared->sink));
        return base::ok();
      }));
      if (target.term.kind == Term::Kind::kTensor) {
        const auto& source = shared->environment.tensors[static_cast<std::size_t>(target.tensor)];
        shared->tensors.note_elimination(ClassId(source.identity), ClassId(built));
      }
      return ClassId(built);
    };
    return rewrite.build(make, to_string(shared_->rule, target.term));
  }

  std::shared_ptr<Shared> shared_;
  Pattern pattern_;
  std::map<int, VarId> vars_;  // by slot
};

}  // namespace

CompiledRule compile(const Rule& rule, TensorEGraph& tensors, Integers integers, RuleLimit limit) {
  return Compiler(rule, tensors, integers, std::move(limit)).run();
}

std::vector<CompiledRule> compile(std::span<const Rule> rules, TensorEGraph& tensors,
                                  Integers integers) {
  std::vector<CompiledRule> compiled;
  for (const Rule& rule : rules) compiled.push_back(compile(rule, tensors, integers));
  return compiled;
}

std::vector<CompiledRule> compile(const RuleSet& set, TensorEGraph& tensors, Integers integers) {
  std::vector<CompiledRule> compiled = compile(set.rules, tensors, integers);
  for (const DynamicRule* rule : set.dynamic) {
    for (CompiledRule& made : rule->make(tensors)) compiled.push_back(std::move(made));
  }
  return compiled;
}

}  // namespace egret::rules
