// SPDX-License-Identifier: Apache-2.0
// Prices and identities of programs that share their terms (rules/tensors/term_graph.h).
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "base/small_vector.h"
#include "driver/search/graph_search.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {

struct ProgramPrice {
  double seconds = 0;          // infinite where an operator has no price
  std::uint64_t identity = 0;  // equal programs have equal ones; others differ but by bad luck
};

class TermPrices {
 public:
  TermPrices(const rules::TensorEGraph& terms, const PriceOf& price)
      : terms_(terms), price_(price) {}

  // O(terms of the program).
  ProgramPrice of(std::span<const egraph::ClassId> outputs);
  // To be called after a rollback, before other terms are made.
  void forget_missing();

 private:
  struct Term {
    double seconds = 0;
    std::uint64_t identity = 0;
    std::uint32_t counted = 0;  // in this program
  };
  // What a price depends on: an operator, and what is known of its children and its class.
  using Key = base::SmallVector<std::uint64_t, 6>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  void learn(egraph::ClassId term);
  double price(egraph::OpId op, std::span<const egraph::ClassId> children, egraph::ClassId term);

  const rules::TensorEGraph& terms_;
  const PriceOf& price_;
  std::vector<Term> known_;  // by class; the first so many
  std::uint32_t program_ = 0;
  std::vector<egraph::ClassId> stack_;
  boost::unordered_flat_map<Key, double, KeyHash> prices_;
};

}  // namespace egret::driver
