// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/candidate_rule.h"

#include <map>

#include "base/check.h"
#include "base/thread_clock.h"
#include "rules/generator/drafting/rule_draft.h"
#include "rules/generator/rule_weakening.h"

namespace egret::rules::generator {
namespace {

bool is_proven(const Verdict& verdict) { return verdict.status == Verdict::Status::kProven; }

// One search for the most general rule of an equality.
class Search {
 public:
  Search(TermTable& terms, const Equality& equality, const CandidateScrutiny& scrutiny,
         KnownOperators& known)
      : terms_(terms), equality_(equality), scrutiny_(scrutiny), known_(known) {
    scrutiny_.screening.memory = &memory_;
    scrutiny_.verification.memory = &memory_;
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  std::optional<Generalized> run() {
    for (const Openness openness : {Openness::kRanks, Openness::kAttributes, Openness::kSizes}) {
      const std::vector<Draft> drafts = drafts_of(openness);
      if (drafts.empty()) return std::nullopt;
      for (const Draft& draft : drafts) {
        if (attempt(draft.rule)) return result_;
        if (result_.verdict.status != Verdict::Status::kRefuted) continue;
        if (attempt_under(draft.apart, draft)) return result_;
        // What is wrong for integers alone is refuted.
        if (draft.is_float && attempt(with(draft.rule, {*draft.is_float}))) return result_;
        if (attempt_under(draft.same_types, draft)) return result_;
      }
    }
    for (const Openness openness : {Openness::kAttributes, Openness::kSizes}) {
      for (const Draft& draft : drafts_of(openness)) {
        if (attempt_alternatives(draft) || attempt_all_facts(draft, {}) ||
            attempt_first_world(draft)) {
          result_.conditional = !result_.rule.conditions.empty();
          return result_;
        }
      }
    }
    return result_;
  }

 private:
  std::vector<Draft> drafts_of(Openness openness) {
    std::vector<Draft> drafts;
    for (const Preference preference : {Preference::kAttributes, Preference::kSizes}) {
      auto draft = draft_rule(terms_, equality_, openness, preference);
      if (!draft) continue;
      const std::string text = to_string(draft->rule);
      if (drafts.empty() || text != to_string(drafts.front().rule))
        drafts.push_back(*std::move(draft));
    }
    return drafts;
  }

  static Rule with(Rule rule, const std::vector<Expr>& conditions) {
    rule.conditions.insert(rule.conditions.end(), conditions.begin(), conditions.end());
    return rule;
  }

  bool attempt(Rule rule) {
    result_.verdict = prove_candidate(rule, scrutiny_, known_);
    result_.rule = std::move(rule);
    if (!is_proven(result_.verdict)) return false;
    result_.verdict = weaken(result_.rule, std::move(result_.verdict), scrutiny_, known_);
    return is_proven(result_.verdict);
  }

  // With these conditions on top, of real tensors alone where the rule is wrong for others. For
  // `same_types`: without broadcasts between variables that were of one type; for `apart`: axes
  // that differ are different ones.
  bool attempt_under(std::vector<Expr> conditions, const Draft& draft) {
    if (conditions.empty()) return false;
    if (attempt(with(draft.rule, conditions))) return true;
    if (!draft.is_float || result_.verdict.status != Verdict::Status::kRefuted) return false;
    conditions.insert(conditions.begin(), *draft.is_float);
    return attempt(with(draft.rule, conditions));
  }

  // One fact of each attribute, nothing on how tensors compare: the most general of conditions.
  bool attempt_alternatives(const Draft& draft) {
    constexpr std::size_t kMost = 12;
    std::vector<std::size_t> chosen(draft.alternatives.size(), 0);
    if (chosen.empty()) return false;
    for (std::size_t tries = 0; tries < kMost; ++tries) {
      std::vector<Expr> conditions;
      if (draft.is_float) conditions.push_back(*draft.is_float);
      for (std::size_t i = 0; i < chosen.size(); ++i)
        conditions.push_back(draft.alternatives[i][chosen[i]]);
      if (attempt(with(draft.rule, conditions))) return true;
      std::size_t i = 0;
      while (i < chosen.size() && ++chosen[i] == draft.alternatives[i].size()) chosen[i++] = 0;
      if (i == chosen.size()) return false;
    }
    return false;
  }

  // Amounts, such as zeros around a tensor, may have to be large enough, which no equation of sizes
  // says.
  bool attempt_first_world(const Draft& draft) {
    return !draft.first_world.empty() && result_.verdict.status == Verdict::Status::kRefuted &&
           attempt_all_facts(draft, draft.first_world);
  }

  bool attempt_all_facts(const Draft& draft, const std::vector<Expr>& further) {
    std::vector<Expr> conditions;
    if (draft.is_float) conditions.push_back(*draft.is_float);
    for (const auto& ways : draft.alternatives)
      conditions.insert(conditions.end(), ways.begin(), ways.end());
    conditions.insert(conditions.end(), draft.same_types.begin(), draft.same_types.end());
    conditions.insert(conditions.end(), draft.facts.begin(), draft.facts.end());
    conditions.insert(conditions.end(), further.begin(), further.end());
    return attempt(with(draft.rule, conditions));
  }

  TermTable& terms_;
  const Equality& equality_;
  verifier::SolverMemory memory_;
  CandidateScrutiny scrutiny_;
  KnownOperators& known_;
  Generalized result_;
};

}  // namespace

std::optional<Generalized> generalize_equality(TermTable& terms, const Equality& equality,
                                               const CandidateScrutiny& scrutiny,
                                               KnownOperators& known) {
  const base::ThreadStopwatch watch;
  std::optional<Generalized> made = Search(terms, equality, scrutiny, known).run();
  if (made) made->cpu_seconds = watch.seconds();
  return made;
}

ir::Graph sides_in_world(TermTable& terms, std::span<const Equality> equalities, World world) {
  ir::Graph graph;
  std::map<TermId, ir::NodeId> made;
  const auto build = [&](auto&& self, TermId term) -> ir::NodeId {
    const auto found = made.find(term);
    if (found != made.end()) return found->second;
    ir::NodeId result;
    if (terms.is_start(term)) {
      const std::size_t number = terms.start_number(term);
      ir::Node node;
      node.kind = ir::NodeKind::kInput;
      node.name = terms.space().starts[number].name;
      node.type = terms.space().starts[number].types[world];
      result = graph.append(std::move(node));
    } else {
      const OperatorChoice& choice = terms.space().choices[terms.choice(term)];
      const std::vector<ir::Attrs>& attrs = terms.program(term, world).attrs();
      std::vector<ir::NodeId> steps;
      for (std::size_t i = 0; i < choice.steps.size(); ++i) {
        ir::Node node;
        node.op = choice.steps[i].op;
        node.attrs = attrs[i];
        std::vector<ir::TensorType> types;
        for (const int from : choice.steps[i].operands) {
          const ir::NodeId input =
              from < 0 ? steps[static_cast<std::size_t>(-from - 1)]
                       : self(self, terms.operands(term)[static_cast<std::size_t>(from)]);
          node.inputs.push_back(input);
          types.push_back(graph.node(input).type);
        }
        const auto type = ir::infer_type(*node.op, node.attrs, types);
        EGRET_CHECK(type.ok(), "a term of the table has a type");
        node.type = *type;
        steps.push_back(graph.append(std::move(node)));
      }
      result = steps.back();
    }
    made.emplace(term, result);
    return result;
  };
  for (const Equality& equality : equalities) {
    const ir::NodeId left = build(build, equality.left);
    const ir::NodeId right = build(build, equality.right);
    const std::string number = std::to_string(graph.outputs().size() / 2);
    graph.add_output("left" + number, left);
    graph.add_output("right" + number, right);
  }
  return graph;
}

}  // namespace egret::rules::generator
