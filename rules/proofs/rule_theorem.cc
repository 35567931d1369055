// SPDX-License-Identifier: Apache-2.0
#include "rules/proofs/rule_theorem.h"

#include <cctype>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "rules/language/rule_parser.h"
#include "rules/proving/any_rank.h"
#include "rules/proving/proven_families.h"
#include "rules/testing/instantiation.h"
#include "verifier/equality/coq_text.h"

namespace egret::rules {
namespace {

constexpr std::int64_t kMostImagined = std::int64_t{1} << 40;  // tensors are not run

// A module of Coq: letters, digits and underscores.
std::string module_name(const std::string& rule) {
  std::string name = "Rule_";
  for (const char c : rule) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

}  // namespace

base::Result<RuleTheorem> rule_theorem(const RuleCertificate& certificate, KnownOperators& known) {
  EGRET_ASSIGN_OR_RETURN(const std::vector<Rule> parsed,
                         parse_rules("certificate", certificate.text));
  if (parsed.size() != 1) return base::bad_input("the certificate is about one rule");
  const Rule& whole = parsed.front();
  std::optional<Rule> scalars;
  if (certificate.trace.on_scalars) {
    scalars = on_scalars(whole, known);
    if (!scalars) return base::bad_input("the rule is not one of all ranks");
  }
  const Rule& rule = scalars ? *scalars : whole;
  RuleTheorem made{.rule = whole.name,
                   .name = module_name(whole.name),
                   .text = verifier::coq_comment(certificate.text) +
                           "\nFrom Egret Require Import Laws.\n"
                           "Local Open Scope R_scope.\n"
                           "Ltac Zify.zify_post_hook ::= Z.to_euclidean_division_equations.\n",
                   .on_scalars = scalars.has_value()};
  Instantiator instantiator(rule, known,
                            certificate.claim.of_empty ? Sizes::kWithZero : Sizes::kPositive);
  ProvenFamilies stated;
  // Families that differ in element types alone have one statement.
  std::vector<std::pair<std::string, std::string>> modules;  // with the variables of its families
  std::map<std::string, std::size_t> number_of;
  for (std::size_t i = 0; i < certificate.trace.families.size(); ++i) {
    const RecordedChoice& recorded = certificate.trace.families[i];
    const std::string place = "family " + std::to_string(i);
    const auto choice = choice_of(rule, recorded);
    std::optional<Instance> instance;
    if (choice) instance = instantiator.of(*choice, recorded.splats, kMostImagined);
    if (!instance) return base::bad_input("this is no instance of the rule").at(place);
    if (stated.contain(numbers_of(rule, *instance))) continue;
    const base::Result<Family> family = generalize(rule, *instance);
    if (!family.ok()) return family.status().at(place);
    stated.add(*family);
    ++made.families;
    auto section = verifier::coq_section(*family->obligation, family->conditions);
    if (!section.ok()) return section.status().at(place);
    const auto [known_at, is_new] = number_of.emplace(*section, modules.size());
    if (is_new) modules.emplace_back(*std::move(section), "");
    modules[known_at->second].second += (is_new ? "" : "\n   ") + family->variables;
  }
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::string name = "family_" + std::to_string(i);
    made.text += "\nModule " + name + ".\n" + verifier::coq_comment(modules[i].second) + "\n" +
                 modules[i].first + "End " + name + ".\n";
  }
  made.statements = static_cast<int>(modules.size());
  return made;
}

}  // namespace egret::rules
