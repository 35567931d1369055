// SPDX-License-Identifier: Apache-2.0
// Generalizes a concrete instance of a rule to a family of instances. Sizes and integer attributes
// become symbols, and the rule is bound and built again over them, as in the instance. Every
// decision on the way becomes a condition of the family (ir/core/symbolic_scope.h). The instance
// satisfies all of them, so no family is empty.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/core/symbolic_scope.h"
#include "ir/graph/graph.h"
#include "rules/proving/batch_sizes.h"
#include "rules/testing/instance_numbers.h"
#include "rules/testing/instantiation.h"
#include "verifier/equality/obligation.h"

namespace egret::rules {

struct Rewritings;

struct Family {
  std::shared_ptr<verifier::Obligation> obligation;
  std::vector<ir::Graph> sides;  // left and right, where integers stay numbers
  // The left side and each graph that rewritings make, if there are any.
  std::vector<std::shared_ptr<verifier::Obligation>> on_the_way{};
  // Over the symbols; the first say that sizes are at least 1. A size of 0 has no symbol.
  std::vector<ir::Guard> conditions;
  std::string structure;        // of the numbers
  std::string reals_structure;  // which reals are equal, and what those are that are known
  std::string variables;        // "?x: f32 of rank 4, ?w: f32 of rank 4"
  // Unknown reals: attributes that the rule leaves open, and constants whose elements are all
  // equal. Families of one rule and instance with different `salt` use different stand-ins for
  // them.
  std::set<std::string> reals;
  // The values of the symbols in the instance.
  ir::SymbolValues example;
};

struct GeneralizeOptions {
  bool integers = true;  // sizes and integer attributes become symbols; else only reals do
  int salt = 0;
  // Rewritings to replay over the symbols. Their decisions become conditions
  // (rules/proving/rewriting_proof.h).
  const Rewritings* rewritings = nullptr;
};

// The most general family that the operators' definitions allow. Errors: what the operators report
// if no generalization is possible.
base::Result<Family> generalize(const Rule& rule, const Instance& instance,
                                const GeneralizeOptions& options = {});

// The decisions made while the rule was bound and built over symbols.
struct Trace {
  std::vector<ir::Guard> conditions;
  std::vector<ir::Decision> decisions;  // the path
  ir::SymbolValues numbers;             // values of the symbols
  bool complete = false;  // the types fit; otherwise it ends with the decision that they do not
  // A group of sizes that are not along a batch axis on this path, as far as can be shown.
  std::optional<std::size_t> exception{};
};

// Traces choices, which need not be instances. Attributes fixed by the rule itself stay numbers.
class Tracer {
 public:
  // `like` is an instance that provides what a choice does not contain. The rule must outlive the
  // tracer. One symbol stands for attributes that must be equal, and one for all sizes along a
  // batch axis. The latter must be equal and at least 2 in each choice; that they are not 1 is no
  // decision.
  Tracer(const Rule& rule, const Instance& like, BatchSizes batch = {});

  Trace trace(const Choice& choice) const;
  // The choice with other integers, by the names of the symbols; those of attributes hold for equal
  // attributes too.
  Choice with(const Choice& choice, ir::SymbolValues integers) const;

 private:
  const Rule& rule_;
  std::map<std::string, double> splats_;  // by tensor
  Numbers numbers_;
  BatchSizes batch_;
  std::map<std::string, std::string> equal_attributes_;
  std::set<int> known_attributes_;  // that conditions equate with numbers
};

// A family without an obligation: all instances with the ranks, types, texts and reals of this one.
// For instances that cannot be generalized.
Family unconditional_family(const Rule& rule, const Instance& instance);

}  // namespace egret::rules
