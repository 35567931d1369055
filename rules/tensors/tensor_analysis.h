// SPDX-License-Identifier: Apache-2.0
// The analysis of a tensor e-graph. For every class it knows the type, whether the class depends on
// weights alone, the common value of all elements, if there is one, and their sign, if it is known.
//
// make() infers types through ir::denote(), once per (operator, types of children). It refuses an
// ill-typed node, which cancels the rewrite that requested it. Two classes of different types never
// merge.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/small_vector.h"
#include "egraph/core/analysis.h"
#include "rules/language/tensor_facts.h"
#include "rules/tensors/open_sizes.h"
#include "rules/tensors/tensor_language.h"

namespace egret::rules {

class TensorAnalysis : public egraph::Analysis {
 public:
  // With `open`, sizes may be symbolic.
  explicit TensorAnalysis(const TensorLanguage& language, OpenSizes* open = nullptr)
      : language_(language), open_(open) {}

  // Nodes made from here on are no part of the program.
  void end_program() { nodes_of_ = OpenSizes::Of::kRule; }

  // The reference remains valid.
  const TensorFacts& facts(Data data) const { return *facts_[data]; }

  base::Result<Data> make(const egraph::EGraph& egraph, egraph::OpId op,
                          std::span<const egraph::ClassId> children) override;
  base::Result<Data> merge(Data a, Data b) override;

 private:
  using TypeId = std::uint32_t;
  // The result of an operator on its children's types.
  struct Inferred {
    base::Status status;
    TypeId type = 0;
    int moves = -1;  // every element of the output is an element of this child; -1: no such
    std::optional<double> splat{};  // every element of the output is this, whatever the children
    // The sign of the output's elements if those of all children have at least this sign.
    std::array<ir::Sign, 3> signs{};
  };
  struct FactsKey {
    TypeId type;
    bool constant;
    bool has_splat;
    std::uint64_t splat_bits;
    ir::Sign sign;
    friend bool operator==(const FactsKey&, const FactsKey&) = default;
  };
  struct FactsHash {
    std::size_t operator()(const FactsKey& key) const;
  };
  using InferKey = base::SmallVector<std::uint32_t, 6>;  // operator, types of children
  struct InferHash {
    std::size_t operator()(const InferKey& key) const;
  };
  struct TypeHash {
    std::size_t operator()(const ir::TensorType& type) const { return hash_value(type); }
  };

  TypeId intern(const ir::TensorType& type);
  Data intern(TypeId type, bool constant, std::optional<double> splat, ir::Sign sign);
  const Inferred& infer(egraph::OpId op, std::span<const Data> children);
  base::Result<Data> make_leaf(egraph::OpId op);
  // The value of a constant of one element that is computed from such constants: 1 / sqrt(64).
  // Unlike fold_constants() it gives a fact of the class, which conditions of rules read, and no
  // constant: an e-graph keeps the operators.
  std::optional<double> single_number(egraph::OpId op, std::span<const Data> children,
                                      const Inferred& inferred) const;

  // The type of an application over open sizes.
  base::Result<ir::TensorType> open_type(const ir::Operator& op, const ir::Attrs& attrs,
                                         std::span<const ir::TensorType> inputs);

  const TensorLanguage& language_;
  OpenSizes* open_;
  OpenSizes::Of nodes_of_ = OpenSizes::Of::kProgram;
  std::vector<ir::TensorType> types_;
  boost::unordered_flat_map<ir::TensorType, TypeId, TypeHash> type_index_;
  std::vector<std::unique_ptr<const TensorFacts>> facts_;
  std::vector<FactsKey> keys_;  // of facts_
  boost::unordered_flat_map<FactsKey, Data, FactsHash> facts_index_;
  std::vector<std::unique_ptr<const Inferred>> inferred_;
  boost::unordered_flat_map<InferKey, std::size_t, InferHash> inferred_index_;
};

// The common value of all elements of the tensor, if there is one. O(elements) if there is.
std::optional<double> splat_value(const ir::Tensor& tensor);

}  // namespace egret::rules
