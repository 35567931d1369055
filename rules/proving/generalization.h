// SPDX-License-Identifier: Apache-2.0
// From one concrete instance of a rule to a family of instances: the sizes and integer attributes
// become symbols, the rule is bound and built again over them as the instance was, and what had to
// be so on the way becomes the family's conditions (ir/core/symbolic_scope.h). The instance
// satisfies them, so that no family is empty.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/core/symbolic_scope.h"
#include "ir/graph/graph.h"
#include "rules/testing/instantiation.h"
#include "verifier/equality/obligation.h"

namespace egret::rules {

struct Rewritings;

// The numbers of an instance, by the names of the symbols that stand for them in its families.
struct Numbers {
  ir::SymbolValues integers;  // sizes too
  std::map<std::string, double, std::less<>> reals;
  // Ranks, element types, texts, lengths and the integers that stay numbers.
  std::string structure;
};
Numbers numbers_of(const Rule& rule, const Instance& instance);
// The choice with the sizes and integer attributes that are named, others as they are.
Choice with_integers(const Rule& rule, Choice choice, const ir::SymbolValues& integers);

struct Family {
  std::shared_ptr<verifier::Obligation> obligation;
  std::vector<ir::Graph> sides;       // left and right, where integers stay numbers
  std::vector<ir::Guard> conditions;  // over the symbols; the first say that sizes are at least 1
  std::string structure;              // of the numbers
  std::string reals_structure;        // which reals are equal, and what those are that are known
  std::string variables;              // "?x: f32 of rank 4, ?w: f32 of rank 4"
  // Unknown reals: attributes that the rule leaves open, and constants that are one number
  // everywhere. Families of one rule and instance with other `salt` differ in the numbers that
  // stand for them.
  std::set<std::string> reals;
  // What the symbols are in the instance.
  ir::SymbolValues example;
};

struct GeneralizeOptions {
  bool integers = true;  // sizes and integer attributes become symbols; else only reals do
  int salt = 0;
  // Replayed over the symbols too; what they ask becomes conditions
  // (rules/proving/rewriting_proof.h).
  const Rewritings* rewritings = nullptr;
};

// As general as the operators' definitions allow. Errors: what the operators report when no
// generalization is possible.
base::Result<Family> generalize(const Rule& rule, const Instance& instance,
                                const GeneralizeOptions& options = {});

// What was decided while the rule was bound and built over symbols.
struct Trace {
  std::vector<ir::Guard> conditions;
  ir::SymbolValues numbers;  // of the symbols
  bool complete = false;     // the types fit; else it ends with the decision that they do not
};

// Traces of choices, whether they are instances or not. What the rule itself says of attributes
// stays a number.
class Tracer {
 public:
  // `like`, an instance, says what is not chosen. The rule outlives the tracer.
  Tracer(const Rule& rule, const Instance& like);

  Trace trace(const Choice& choice) const;

 private:
  const Rule& rule_;
  std::map<std::string, double> splats_;  // by tensor
  Numbers numbers_;
};

// All instances with the ranks, types, texts and reals of this one, for what cannot be made
// general: a family without an obligation.
Family unconditional_family(const Rule& rule, const Instance& instance);

// Which of the reals are equal, and what they are unless they are unknown, and then finite: the
// same for all members of a family.
std::string structure_of_reals(const Numbers& numbers, const std::set<std::string>& unknown);

}  // namespace egret::rules
