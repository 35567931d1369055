// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/op_table.h"

#include "base/check.h"
#include "base/hash.h"

namespace egret::egraph {

std::size_t OpTable::OpHash::operator()(const Op& op) const {
  const std::uint64_t head = (std::uint64_t{op.base.index()} << 32) | op.arity;
  return base::hash_combine(head, op.payload);
}

BaseId OpTable::base(std::string_view name) {
  const auto [entry, fresh] = base_index_.try_emplace(std::string(name), BaseId(bases_.size()));
  if (fresh) bases_.push_back({std::string(name), {}});
  return entry->second;
}

OpId OpTable::op(BaseId base, std::size_t arity, std::uint64_t payload) {
  EGRET_CHECK(base.index() < bases_.size(), "the base operator is of another table");
  EGRET_CHECK(ops_.size() < kMaxOps);
  const Op key{base, static_cast<std::uint32_t>(arity), payload};
  const auto [entry, fresh] = op_index_.try_emplace(key, OpId(ops_.size()));
  if (fresh) {
    ops_.push_back(key);
    bases_[base.index()].ops.push_back(entry->second);
  }
  return entry->second;
}

BaseId OpTable::find_base(std::string_view name) const {
  const auto entry = base_index_.find(std::string(name));
  return entry == base_index_.end() ? BaseId() : entry->second;
}

OpId OpTable::find_op(BaseId base, std::size_t arity, std::uint64_t payload) const {
  if (!base.valid()) return {};
  const auto entry = op_index_.find(Op{base, static_cast<std::uint32_t>(arity), payload});
  return entry == op_index_.end() ? OpId() : entry->second;
}

std::string OpTable::text(OpId op) const {
  if (printer_) return printer_(*this, op);
  std::string result(name(op));
  if (payload(op) != 0) result.append("{").append(std::to_string(payload(op))).append("}");
  return result;
}

}  // namespace egret::egraph
