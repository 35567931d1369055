// SPDX-License-Identifier: Apache-2.0
// An example of an analysis: constant folding with rational numbers, for the scalars of egg's
// benchmark languages. Tensors are folded by rules/tensors/constant_folding.h.
//
// Leaves that read as an integer or a fraction ("-1", "2/3") are constants. + - * / fold when both
// operands are known (no division by zero, and only while numerator and denominator fit into 64
// bits). A class with a known value gets the node of the constant. All its nodes other than leaves
// are hidden, because rewriting the parts of a known number yields nothing new.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "egraph/core/analysis.h"
#include "egraph/core/egraph.h"
#include "egraph/search/syntax.h"

namespace egret::egraph::workloads {

// In lowest terms, with a positive denominator.
struct Rational {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  friend bool operator==(const Rational&, const Rational&) = default;
  static std::optional<Rational> parse(std::string_view text);
  std::string to_string() const;
};

class ConstantFolding : public Analysis {
 public:
  explicit ConstantFolding(OpTable& ops) : ops_(ops) {}

  base::Result<Data> make(const EGraph& egraph, OpId op,
                          std::span<const ClassId> children) override;
  base::Result<Data> merge(Data a, Data b) override;
  bool accepts_all_nodes() const override { return true; }
  void modify(EGraph& egraph, ClassId id) override;
  std::string_view name() const override { return "constant-folding"; }
  // Writes section "folding.values": the numbers in the order of their words.
  void save(SnapshotWriter& writer) const override;
  base::Status load(const SnapshotFile& file, const EGraph& egraph) override;
  bool is_data(Data data) const override { return data <= values_.size(); }

  // For Theory::prepare: returns the analysis and defines its conditions.
  static std::unique_ptr<Analysis> prepare(OpTable& ops, Syntax& syntax);

  // Returns the class's value if it is known.
  std::optional<Rational> value(const EGraph& egraph, ClassId id) const;

  // Defines not-zero(?a): ?a is not known to be 0; const(?a): ?a is known; sym(?a): ?a has a symbol
  // leaf; const-or-distinct-var(?c, ?x): ?c is a class other than ?x and is known or has a symbol
  // leaf.
  void define_conditions(Syntax& syntax) const;

 private:
  struct Hash {
    std::size_t operator()(const Rational& r) const;
  };
  // A word is 0 for "not known", otherwise 1 + the index into values_.
  Data intern(const std::optional<Rational>& value);
  base::Result<bool> merge_with_constant(EGraph& egraph, ClassId id, ClassId constant);
  ClassId folded_term(EGraph& egraph, ClassId id) const;
  Data leaf(OpId op);

  OpTable& ops_;
  std::vector<Rational> values_;
  std::vector<OpId> value_ops_;  // the node of each constant
  boost::unordered_flat_map<Rational, Data, Hash> index_;
  boost::unordered_flat_map<std::uint32_t, Data> leaf_data_;  // by OpId
  struct Hidden {
    Epoch epoch = 0;
    std::size_t count = 0;  // number of the class's nodes that were seen in this epoch
  };
  boost::unordered_flat_map<std::uint32_t, Hidden> hidden_;  // by ClassId
};

}  // namespace egret::egraph::workloads
