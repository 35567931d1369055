// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/logged_prover.h"

#include <utility>

#include "base/hash.h"
#include "rules/generator/candidate.h"
#include "rules/language/rule_parser.h"
#include "rules/tensors/rule_status.h"

namespace egret::rules::generator {

std::string decision_key(const Space& space, const CandidateScrutiny& scrutiny) {
  std::string key = "limits " + space.name + " " + definitions_hash();  // what a decision states
  for (const StartTensor& start : space.starts) {
    key += " " + start.name;
    for (const ir::TensorType& type : start.types) key += ":" + to_string(type);
  }
  for (const OperatorChoice& choice : space.choices) key += " " + choice.name;
  for (const VerifyOptions* how : {&scrutiny.screening, &scrutiny.verification}) {
    for (const std::int64_t number :
         {static_cast<std::int64_t>(how->seed), std::int64_t{how->instances},
          std::int64_t{how->tensor_checks}, std::int64_t{how->longer_search},
          std::int64_t{how->most_queries}, std::int64_t{how->attempts_per_instance},
          static_cast<std::int64_t>(how->small_effort)})
      key += " " + std::to_string(number);
  }
  key += " " + std::to_string(scrutiny.tests.checks);
  return base::content_hash(key).to_hex();
}

std::optional<Generalized> LoggedProver::prove(const Equality& equality) {
  {
    const std::lock_guard lock(mutex_);
    const DecisionLog::Decision* decided = log_.find(text_of(terms_, equality));
    if (decided != nullptr) return decided->made;
  }
  auto made = generalize_equality(terms_, equality, scrutiny_, known_);
  if (made) {
    // Fails for operators that are not registered; those are never read from a file.
    auto rules = parse_rules("generated", to_string(made->rule));
    if (rules.ok() && rules->size() == 1) made->rule = std::move(rules->front());
  }
  return made;
}

bool LoggedProver::record(const Equality& equality, const std::optional<Generalized>& made) {
  const std::string text = text_of(terms_, equality);
  const std::lock_guard lock(mutex_);
  if (log_.find(text) != nullptr) return true;
  log_.record(text, made);
  return false;
}

void LoggedProver::save() {
  if (status_.ok()) status_ = log_.save();
}

}  // namespace egret::rules::generator
