// SPDX-License-Identifier: Apache-2.0
// Connects a rule's terms with concrete operators: the bindings of a source's attribute patterns,
// the attributes of a target's expressions, and the construction of terms in a TermSink.
//
// Attribute patterns. A single variable binds the attribute, or must equal its present value. A
// list of variables and numbers does so element by element. Any other expression is evaluated once
// all sources are bound, and must equal the attribute. A spread captures an operator's attributes.
// If it occurs in several sources, the attributes that both operators declare and neither lists
// must agree.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "rules/language/rule.h"

namespace egret::rules {

// An environment with a slot for every name of the rule and no values.
Environment make_environment(const Rule& rule);

// Whether two attributes are equal. Within an ir::SymbolicScope it records the conditions for that.
bool same_value(const ir::AttrValue& a, const ir::AttrValue& b);

// One application among the sources, with the attributes of the matched operator.
struct MatchedTerm {
  const Term* term;
  const ir::Attrs* attrs;
};
// Binds attribute variables and spreads from the sources. Then evaluates each `let ?a` whose value
// is known already, compares the computed patterns, and evaluates the conditions. Returns whether
// all of it holds. The attributes must live as long as the environment is used. The caller must set
// the tensors before.
bool bind_sources(const Rule& rule, std::span<const MatchedTerm> matched, Environment& environment);

// Canonical attributes for an application in a target. Fails if an expression has no value.
base::Result<ir::Attrs> target_attrs(const Rule& rule, const Term& term, Environment& environment);

// A place where terms are built: an e-graph or a graph.
class TermSink {
 public:
  using Handle = std::uint32_t;
  virtual ~TermSink() = default;
  virtual base::Result<Handle> apply(const ir::Operator& op, const ir::Attrs& attrs,
                                     std::span<const Handle> arguments) = 0;
  virtual base::Result<Handle> scalar(ir::DType dtype, double value) = 0;
  virtual const TensorFacts& facts(Handle handle) = 0;
};
// Builds a right-side term. The handles of tensors are their identities in the environment.
base::Result<TermSink::Handle> build_term(const Rule& rule, const Term& term,
                                          Environment& environment, TermSink& sink);
// Evaluates one `let`: builds its term or evaluates its expression.
base::Status build_let(const Rule& rule, const Rule::Let& let, Environment& environment,
                       TermSink& sink);

}  // namespace egret::rules
