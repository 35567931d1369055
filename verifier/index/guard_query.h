// SPDX-License-Identifier: Apache-2.0
// Guards over sizes and attributes as a query about integers. Products, quotients and remainders
// keep their meaning: a quotient q and a remainder r of a by b satisfy a = b*q + r, 0 <= r < b.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "ir/core/denotation.h"
#include "verifier/index/canonical_order.h"
#include "verifier/solver/query.h"

namespace egret::verifier {

class GuardQuery {
 public:
  GuardQuery() = default;
  GuardQuery(const GuardQuery&) = delete;
  GuardQuery& operator=(const GuardQuery&) = delete;

  // Asserts the guard. False if it contains anything but symbols, integers and their arithmetic;
  // then nothing is asserted.
  bool add(ir::Guard guard);
  // Asserts that a symbol is at least, or at most, this.
  void at_least(std::string_view symbol, std::int64_t bound);
  void at_most(std::string_view symbol, std::int64_t bound);

  const Query& query() const { return query_; }

 private:
  std::optional<Expression> translated(const ir::ExprNode& node);
  Expression quotient_or_remainder(Expression a, Expression b, bool quotient);

  CanonicalOrder order_;  // so that the query is the same in every process
  Query query_{Query::Sort::kInteger};
  std::map<const ir::ExprNode*, std::optional<Expression>> known_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<Expression, Expression>> divisions_;
};

}  // namespace egret::verifier
