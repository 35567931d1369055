// SPDX-License-Identifier: Apache-2.0
#include "rules/certificates/certificate_writer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "rules/certificates/program_alignment.h"
#include "rules/certificates/step_table.h"
#include "rules/replay/rule_library.h"
#include "verifier/replay/code_steps.h"

namespace egret::rules {

using base::Result;
using base::Status;
using egraph::ClassId;
using egraph::Explanation;
using egraph::OpId;
using egraph::ProofStep;
using verifier::Certificate;
using verifier::ReplayTerms;
using verifier::SymbolRef;
using verifier::TermRef;
using StepNumber = StepTable::StepNumber;

namespace {

std::string_view without_mark(std::string_view variable) {
  const std::size_t begin = variable.find_first_not_of('?');
  return begin == std::string_view::npos ? variable : variable.substr(begin);
}

// The steps of explanations in one e-graph.
class Translation {
 public:
  Translation(TensorEGraph& tensors, const AdmittedRules& rules,
              const ConstructedRules& constructed, ReplayTerms& terms, StepTable& steps)
      : language_(tensors.language()), constructed_(constructed), terms_(terms), steps_(steps) {
    for (const Rule& rule : rules.set().rules)
      rules_.emplace(rule.name, Known{&rule, content_hash(rule).to_hex()});
  }

  // The step that proves the conclusion, and its sides.
  Result<StepNumber> translate(const Explanation& why) {
    term_of_.clear();
    for (std::size_t t = 0; t < why.terms.size(); ++t) {
      std::vector<TermRef> children;
      for (const egraph::TermId child : why.terms.children(egraph::TermId(t)))
        children.push_back(term_of_[child.index()]);
      EGRET_ASSIGN_OR_RETURN(const SymbolRef head, symbol(why.terms.op(egraph::TermId(t))));
      EGRET_ASSIGN_OR_RETURN(term_of_.emplace_back(), terms_.make(head, children));
    }
    std::vector<StepNumber> numbers;
    for (const ProofStep& step : why.steps) {
      std::vector<StepNumber> premises;
      for (const egraph::StepId premise : step.premises)
        premises.push_back(numbers[premise.index()]);
      EGRET_ASSIGN_OR_RETURN(numbers.emplace_back(), one(why, step, std::move(premises)));
    }
    return numbers.back();
  }

 private:
  struct Known {
    const Rule* rule;
    std::string hash;
  };

  TermRef term(egraph::TermId id) const { return term_of_[id.index()]; }

  Result<SymbolRef> symbol(OpId op) {
    if (const auto known = symbol_of_.find(op.index()); known != symbol_of_.end())
      return known->second;
    SymbolRef made;
    if (language_.is_constant(op)) {
      made = terms_.constant(language_.tensor(op));
    } else if (language_.is_input(op)) {
      made = terms_.input(language_.leaf_name(op), language_.input_type(op));
    } else {
      made = terms_.operation(language_.op(op), language_.attrs(op));
    }
    return symbol_of_[op.index()] = made;
  }

  Result<StepNumber> one(const Explanation& why, const ProofStep& step,
                         std::vector<StepNumber> premises) {
    switch (step.kind) {
      case ProofStep::Kind::kReflexivity: return Certificate::kReflexive;
      case ProofStep::Kind::kSymmetry: return steps_.symmetry(premises.front());
      case ProofStep::Kind::kTransitivity: return steps_.chain(premises);
      case ProofStep::Kind::kCongruence:
        return steps_.congruence(term(step.left), term(step.right), std::move(premises));
      case ProofStep::Kind::kRule: return rule(*why.rules[step.index], step);
      case ProofStep::Kind::kAxiom:
        return base::unsupported("--certificate: the step '" + why.axioms[step.index] +
                                 "' cannot be certified");
    }
    return base::internal_error("a step of no kind");
  }

  Result<StepNumber> rule(const egraph::RuleForm& form, const ProofStep& step) {
    const TermRef left = term(step.left);
    const TermRef right = term(step.right);
    if (const auto made = constructed_.find(form.name()); made != constructed_.end())
      return constructed(form.name(), made->second, left, right);
    const auto known = rules_.find(form.name());
    if (known == rules_.end()) {
      if (!verifier::CodeSteps::has(form.name()))
        return base::unsupported("--certificate: steps of '" + form.name() +
                                 "' cannot be certified");
      return steps_.add({.kind = Certificate::Step::Kind::kCode,
                         .left = left.index(),
                         .right = right.index(),
                         .name = form.name()});
    }
    if (!step.premises.empty())
      return base::unsupported("--certificate: steps of rule '" + form.name() +
                               "' rely on others, which cannot be certified");
    Certificate::Step made{
        .kind = Certificate::Step::Kind::kRule, .left = left.index(), .right = right.index()};
    const Rule& meaning = *known->second.rule;
    made.rule = steps_.rule(form.name(), known->second.hash);
    made.equation = step.equation;
    for (const int slot : RuleLibrary::variables_of(meaning)) {
      const std::string_view name = without_mark(meaning.tensors[static_cast<std::size_t>(slot)]);
      const auto found = std::ranges::find_if(form.substituted(), [&](egraph::VarId var) {
        return without_mark(form.name(var)) == name;
      });
      if (found == form.substituted().end())
        return base::internal_error("rule '" + form.name() + "': no term for ?" +
                                    std::string(name));
      const auto place = static_cast<std::size_t>(found - form.substituted().begin());
      made.substitution.push_back(term(step.substitution[place]).index());
    }
    for (const OpId op : step.captured_ops) {
      EGRET_ASSIGN_OR_RETURN(const SymbolRef captured, symbol(op));
      made.operators.push_back(captured.index());
    }
    return steps_.add(std::move(made));
  }

  StepNumber constructed(const std::string& name, const std::string& hash, TermRef left,
                         TermRef right) {
    Certificate::Step made{
        .kind = Certificate::Step::Kind::kRule, .left = left.index(), .right = right.index()};
    made.rule = steps_.rule(name, hash);
    for (const TermRef child : terms_.children(left)) made.substitution.push_back(child.index());
    made.operators.push_back(terms_.symbol_of(left).index());
    return steps_.add(std::move(made));
  }

  const TensorLanguage& language_;
  const ConstructedRules& constructed_;
  ReplayTerms& terms_;
  StepTable& steps_;
  std::map<std::string, Known, std::less<>> rules_;
  std::map<std::uint32_t, SymbolRef> symbol_of_;  // by OpId
  std::vector<TermRef> term_of_;                  // by TermId of the present explanation
};

std::map<std::string, bool> constants_of(const ir::Graph& a, const ir::Graph& b) {
  std::map<std::string, bool> hashes;
  for (const ir::Graph* graph : {&a, &b}) {
    for (const ir::Node& node : graph->nodes()) {
      if (node.kind == ir::NodeKind::kConstant)
        hashes.emplace(node.data.content_hash().to_hex(), true);
    }
  }
  return hashes;
}

}  // namespace

Result<std::vector<ClassId>> add_terms(const ir::Graph& graph, TensorEGraph& tensors) {
  TensorLanguage& language = tensors.language();
  std::vector<ClassId> ids;
  for (const ir::Node& node : graph.nodes()) {
    std::vector<ClassId> children;
    for (const ir::NodeId input : node.inputs) children.push_back(ids[input.index()]);
    EGRET_ASSIGN_OR_RETURN(ids.emplace_back(), tensors.egraph().add(language.node(node), children));
  }
  EGRET_RETURN_IF_ERROR(tensors.egraph().rebuild());
  return ids;
}

Result<Certificate> write_certificate(const CertifiedPrograms& programs, TensorEGraph* tensors,
                                      const AdmittedRules& rules,
                                      const ConstructedRules& constructed) {
  const ir::Graph& before = *programs.before;
  const ir::Graph& after = *programs.after;
  if (before.outputs().size() != after.outputs().size())
    return base::mismatch("--certificate: the written program has other outputs");
  ReplayTerms terms;
  StepTable steps(terms);
  EGRET_ASSIGN_OR_RETURN(const std::vector<TermRef> first, terms.add(before));
  EGRET_ASSIGN_OR_RETURN(const std::vector<TermRef> last, terms.add(after));

  std::vector<Certificate::Output> outputs;
  std::vector<TermRef> reached;  // by output
  for (std::size_t i = 0; i < before.outputs().size(); ++i) {
    const TermRef start = first[before.outputs()[i].node.index()];
    outputs.push_back(
        {before.outputs()[i].name, start.index(), last[after.outputs()[i].node.index()].index()});
    reached.push_back(start);
  }
  ProgramAlignment alignment(terms, steps);
  // Goes on from what is reached to this term, which folding and export may have made of it.
  const auto align = [&](std::size_t i, TermRef to) -> Status {
    auto rest = alignment.prove(reached[i], to);
    if (!rest.ok()) return rest.status().at("--certificate: output '" + outputs[i].name + "'");
    const StepNumber both[] = {outputs[i].step, *rest};
    outputs[i].step = steps.chain(both);
    reached[i] = to;
    return base::ok();
  };
  if (programs.extracted != nullptr) {
    const ir::Graph& start = programs.folded != nullptr ? *programs.folded : before;
    const ir::Graph& extracted = *programs.extracted;
    EGRET_ASSIGN_OR_RETURN(const std::vector<ClassId> from, add_terms(start, *tensors));
    EGRET_ASSIGN_OR_RETURN(const std::vector<ClassId> to, add_terms(extracted, *tensors));
    EGRET_ASSIGN_OR_RETURN(const std::vector<TermRef> begun, terms.add(start));
    EGRET_ASSIGN_OR_RETURN(const std::vector<TermRef> middle, terms.add(extracted));
    egraph::Explainer explainer(tensors->egraph());
    Translation translation(*tensors, rules, constructed, terms, steps);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ir::NodeId node = extracted.outputs()[i].node;
      const ir::NodeId root = start.outputs()[i].node;
      EGRET_RETURN_IF_ERROR(align(i, begun[root.index()]));
      EGRET_ASSIGN_OR_RETURN(
          const Explanation why,
          explainer.explain(from[root.index()], to[node.index()], {.shorten = true}));
      EGRET_ASSIGN_OR_RETURN(const StepNumber shown, translation.translate(why));
      const StepNumber both[] = {outputs[i].step, shown};
      outputs[i].step = steps.chain(both);
      reached[i] = middle[node.index()];
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    EGRET_RETURN_IF_ERROR(align(i, TermRef(outputs[i].after)));
  return steps.certificate(outputs, constants_of(before, after));
}

}  // namespace egret::rules
