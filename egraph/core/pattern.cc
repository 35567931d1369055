// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/pattern.h"

#include <algorithm>

#include "base/check.h"

namespace egret::egraph {
namespace {

// An empty name is a new variable each time.
template <typename AnyVar>
AnyVar intern(std::vector<std::string>& names, std::string_view name) {
  if (!name.empty()) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return AnyVar(static_cast<std::size_t>(found - names.begin()));
  }
  names.emplace_back(name);
  return AnyVar(names.size() - 1);
}

}  // namespace

VarId Pattern::var(std::string_view name) { return intern<VarId>(var_names_, name); }

OpVarId Pattern::op_var(std::string_view name) { return intern<OpVarId>(op_var_names_, name); }

VarId Pattern::node(OpId op, std::span<const VarId> children, VarId result) {
  EGRET_CHECK(op.valid());
  if (!result.valid()) result = var();
  atoms_.push_back({result, op, {}, {}, {children.begin(), children.end()}});
  return result;
}

VarId Pattern::node(BaseId base, OpVarId capture, std::span<const VarId> children, VarId result) {
  EGRET_CHECK(base.valid() && capture.valid());
  if (!result.valid()) result = var();
  atoms_.push_back({result, {}, base, capture, {children.begin(), children.end()}});
  return result;
}

void Pattern::require(OpVarId capture, OpPredicate predicate) {
  EGRET_CHECK(capture.index() < op_var_names_.size());
  predicates_.emplace_back(capture, std::move(predicate));
}

VarId Pattern::find_var(std::string_view name) const {
  const auto found = std::find(var_names_.begin(), var_names_.end(), name);
  if (name.empty() || found == var_names_.end()) return {};
  return VarId(static_cast<std::size_t>(found - var_names_.begin()));
}

bool Pattern::allowed(OpVarId capture, OpId op) const {
  return std::all_of(predicates_.begin(), predicates_.end(),
                     [&](const auto& entry) { return entry.first != capture || entry.second(op); });
}

}  // namespace egret::egraph
