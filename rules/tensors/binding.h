// SPDX-License-Identifier: Apache-2.0
// Between a rule's terms and concrete operators: what a source's attribute patterns bind, what
// attributes a target's expressions make, and terms built into whatever a TermSink is.
//
// Attribute patterns. A variable alone binds the attribute, or must equal what it is bound to; a
// list of variables and numbers does so element by element; anything else is computed once all
// sources are bound and must equal the attribute. A spread captures an operator's attributes; where
// it stands at several sources, those that both operators declare, and neither lists, must agree.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "rules/language/rule.h"

namespace egret::rules {

// An environment with a place for every name of the rule, nothing known yet.
Environment make_environment(const Rule& rule);

// Whether two attributes are equal; within an ir::SymbolicScope it notes what makes them so.
bool same_value(const ir::AttrValue& a, const ir::AttrValue& b);

// One application among the sources, and the attributes of the operator it is matched with.
struct MatchedTerm {
  const Term* term;
  const ir::Attrs* attrs;
};
// Binds attribute variables and spreads by the sources, then `let ?a` where its value is known
// already, then compares what was computed, then asks the conditions. Whether all of it holds. The
// attributes must live as long as the environment is used. Tensors are set by the caller before.
bool bind_sources(const Rule& rule, std::span<const MatchedTerm> matched, Environment& environment);

// Canonical attributes for a target's application. Fails when an expression has no value.
base::Result<ir::Attrs> target_attrs(const Rule& rule, const Term& term, Environment& environment);

// Where terms are built: an e-graph, a graph.
class TermSink {
 public:
  using Handle = std::uint32_t;
  virtual ~TermSink() = default;
  virtual base::Result<Handle> apply(const ir::Operator& op, const ir::Attrs& attrs,
                                     std::span<const Handle> arguments) = 0;
  virtual base::Result<Handle> scalar(ir::DType dtype, double value) = 0;
  virtual const TensorFacts& facts(Handle handle) = 0;
};
// Builds a term of the right side. Handles of tensors are their identities in the environment.
base::Result<TermSink::Handle> build_term(const Rule& rule, const Term& term,
                                          Environment& environment, TermSink& sink);
// Runs one `let`: builds its term, or evaluates its expression.
base::Status build_let(const Rule& rule, const Rule::Let& let, Environment& environment,
                       TermSink& sink);

}  // namespace egret::rules
