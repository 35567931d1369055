// SPDX-License-Identifier: Apache-2.0
#include "rules/proofs/rule_theorem.h"

#include <cctype>
#include <limits>
#include <optional>
#include <utility>

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
  Instantiator instantiator(
      rule, known, certificate.claim.of_empty ? Sizes::kWithZero : Sizes::kPositive);
  ProvenFamilies stated;
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
    auto section = verifier::coq_section(*family->obligation, family->conditions,
                                         "family_" + std::to_string(i), family->variables);
    if (!section.ok()) return section.status().at(place);
    made.text += *section;
    stated.add(*family);
    ++made.families;
  }
  return made;
}

}  // namespace egret::rules
