// SPDX-License-Identifier: Apache-2.0
// Ground terms of tensor programs, each once, with the facts that conditions of rules read.
//
// All facts are recomputed from the operators' definitions. Nothing is taken from a certificate.
// Sizes are numbers, or within a SymbolicScope for all values (ir/core/symbolic_scope.h)
// expressions; what definitions ask of them must hold for all values.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/id.h"
#include "base/small_vector.h"
#include "base/status.h"
#include "ir/analysis/element_facts.h"
#include "ir/analysis/sign.h"
#include "ir/core/attributes.h"
#include "ir/core/expression_extent.h"
#include "ir/core/tensor.h"
#include "ir/graph/graph.h"

namespace egret::verifier {

using TermRef = base::Id<struct ReplayTermTag>;
using SymbolRef = base::Id<struct ReplaySymbolTag>;

// The head of a term: an operator with canonical attributes, a constant, or an input.
struct ReplaySymbol {
  ir::NodeKind kind = ir::NodeKind::kOperator;
  const ir::Operator* op = nullptr;
  ir::Attrs attrs{};
  std::string name{};     // of an input
  ir::TensorType type{};  // of an input
  ir::Tensor data{};      // of a constant
};

struct ReplayFacts {
  ir::TensorType type{};
  bool constant = false;          // computed from constants alone
  std::optional<double> splat{};  // the value of all elements, if it is known
  ir::Sign sign = ir::Sign::kUnknown;
};

class ReplayTerms {
 public:
  // Attributes are canonical (ir::canonical_attrs()).
  SymbolRef operation(const ir::Operator& op, const ir::Attrs& attrs);
  SymbolRef constant(const ir::Tensor& data);
  SymbolRef input(std::string_view name, const ir::TensorType& type);

  // Whether sizes among the attributes, or in the types that make() infers, are short expressions
  // (ir/core/expression_extent.h) over the open sizes: others would take time without end. Errors:
  // bad_input.
  base::Status check_sizes(const ir::Attrs& attrs);
  // The term of this head and these children. O(children) expected if it is known. Errors:
  // bad_input for a wrong number of children or types that the operator refuses, and those of
  // check_sizes().
  base::Result<TermRef> make(SymbolRef symbol, std::span<const TermRef> children);
  base::Result<TermRef> make_constant(const ir::Tensor& data) { return make(constant(data), {}); }

  // The terms of a graph's nodes. `inputs` stand for the graph's inputs; if it is empty, they are
  // terms by name. Errors: those of make().
  base::Result<std::vector<TermRef>> add(const ir::Graph& graph,
                                         std::span<const TermRef> inputs = {});

  std::size_t size() const { return terms_.size(); }
  std::size_t symbol_count() const { return symbols_.size(); }
  const ReplaySymbol& symbol(SymbolRef ref) const { return symbols_[ref.index()]; }
  SymbolRef symbol_of(TermRef term) const { return terms_[term.index()].symbol; }
  const ReplaySymbol& head(TermRef term) const { return symbol(symbol_of(term)); }
  std::span<const TermRef> children(TermRef term) const {
    const Term& t = terms_[term.index()];
    return {t.children.data(), t.children.size()};
  }
  // The reference remains valid.
  const ReplayFacts& facts(TermRef term) const { return terms_[term.index()].facts; }
  const ir::TensorType& type(TermRef term) const { return facts(term).type; }
  bool same_type(TermRef a, TermRef b) const;  // for all values of open sizes
  // Whether the term applies the operator of that name.
  bool is(TermRef term, std::string_view op) const;
  // "transpose{perm=[1, 0]} of f32[4,2]", for messages.
  std::string text(TermRef term) const;

 private:
  struct Term {
    SymbolRef symbol;
    base::SmallVector<TermRef, 4> children{};
    ReplayFacts facts{};
    std::uint32_t type = 0;  // number of facts.type
  };
  // The result of an operator on types; see rules/tensors/tensor_analysis.h, which computes the
  // same facts of classes.
  struct Inferred {
    base::Status status;
    std::uint32_t type = 0;
    ir::OutputFacts output{};
  };
  using Key = base::SmallVector<std::uint32_t, 6>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct TypeHash {
    std::size_t operator()(const ir::TensorType& type) const { return hash_value(type); }
  };

  SymbolRef add_symbol(std::uint64_t hash, ReplaySymbol symbol);
  std::uint32_t type_number(const ir::TensorType& type);
  base::Status check_size(ir::Index size);
  const Inferred& infer(SymbolRef symbol, std::span<const TermRef> children);
  std::optional<double> single_number(SymbolRef symbol, std::span<const TermRef> children,
                                      const ir::TensorType& type) const;

  ir::ExpressionMeter meter_;
  std::deque<ReplaySymbol> symbols_;
  boost::unordered_flat_map<std::uint64_t, std::vector<SymbolRef>> symbol_index_;
  std::deque<Term> terms_;
  boost::unordered_flat_map<Key, TermRef, KeyHash> term_index_;  // symbol, children
  std::vector<ir::TensorType> types_;
  boost::unordered_flat_map<ir::TensorType, std::uint32_t, TypeHash> type_index_;
  std::deque<Inferred> inferred_;
  boost::unordered_flat_map<Key, std::size_t, KeyHash> inferred_index_;  // symbol, types
};

}  // namespace egret::verifier
