// SPDX-License-Identifier: Apache-2.0
// An analysis of the lambda calculus. It tracks the free variables of a class and its constant. It
// is an example of capture-avoiding substitution: a builder asks the analysis whether a binder
// would capture a variable.
//
//   term  n | true | false | (var x) | (+ t t) | (= t t) | (if t t t)
//       | (lam x t) | (app t t) | (let x t t) | (fix x t)
//
// Names are leaves. A set of free variables holds the classes of their names, which no rule merges.
// Equal terms may differ in their free variables (0 * x = 0), so a class has the variables that are
// free in all of its terms: sets only shrink. Integers have 32 bits; a sum that overflows is not
// folded.
//
// The word of a class is an interned set and an interned constant, so merging and most unions
// compare integers.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "egraph/core/analysis.h"
#include "egraph/core/egraph.h"
#include "egraph/search/syntax.h"

namespace egret::egraph::workloads {

class LambdaAnalysis : public Analysis {
 public:
  explicit LambdaAnalysis(OpTable& ops);

  // For Theory::prepare: returns the analysis and defines its conditions and its builder.
  static std::unique_ptr<Analysis> prepare(OpTable& ops, Syntax& syntax);

  base::Result<Data> make(const EGraph& egraph, OpId op,
                          std::span<const ClassId> children) override;
  base::Result<Data> merge(Data a, Data b) override;
  bool accepts_all_nodes() const override { return true; }
  // Adds the node of the constant if the class has one.
  void modify(EGraph& egraph, ClassId id) override;
  std::string_view name() const override { return "lambda-folding"; }
  // Sections "lambda.sets" and "lambda.constants" hold the interned values in order; "lambda.lean"
  // holds terms.
  void save(SnapshotWriter& writer) const override;
  base::Status load(const SnapshotFile& file, const EGraph& egraph) override;
  bool is_data(Data data) const override {
    return set_of(data) < sets_.size() && constant_of(data) <= constants_.size();
  }

  // Returns whether the name's variable is free in the class.
  bool is_free(const EGraph& egraph, ClassId name, ClassId in) const;

 private:
  using SetId = std::uint32_t;       // 0: the empty set
  using ConstantId = std::uint32_t;  // 0: none
  using Names = std::vector<ClassId>;

  enum class Kind : unsigned char { kUnknown, kLeaf, kVar, kBinder, kLet, kAdd, kEqual, kOther };
  struct Constant {
    bool is_boolean = false;
    std::int32_t value = 0;

    friend auto operator<=>(const Constant&, const Constant&) = default;
  };

  static Data word(SetId set, ConstantId constant) { return (std::uint64_t{constant} << 32) | set; }
  static SetId set_of(Data data) { return static_cast<SetId>(data); }
  static ConstantId constant_of(Data data) { return static_cast<ConstantId>(data >> 32); }

  Kind kind(OpId op);
  static std::optional<Constant> parse(std::string_view text);
  ConstantId intern(const Constant& constant);
  SetId intern(Names names);
  SetId unite(SetId a, SetId b);
  SetId intersect(SetId a, SetId b);
  SetId without(SetId set, ClassId name);
  ConstantId fold(Kind kind, ConstantId a, ConstantId b);

  // Evidence for proofs (lambda_evidence.cc). The first is the sum or comparison of constants that
  // gave a class its value. The second is a term of a class whose free names are just the class's.
  // Invalid if none is found.
  class LeanTerms;
  struct LeanTerm {
    SetId free = 0;
    std::uint32_t term = 0xffffffffU;
  };
  ClassId folded_term(EGraph& egraph, ClassId id);
  ClassId lean_term(EGraph& egraph, ClassId in);
  ClassId known_lean_term(const EGraph& egraph, ClassId id) const;
  SetId free_names(const EGraph& egraph, NodeId node);

  // The conditions and the builder of the rules.
  bool is_constant(EGraph& egraph, ClassId id) const;
  bool equal_under(EGraph& egraph, std::span<const ClassId> classes) const;
  base::Result<ClassId> let_under(EGraph& egraph, std::span<const ClassId> classes);

  OpTable& ops_;
  OpId var_, lam_, let_;
  std::vector<Kind> kinds_;          // by OpId
  std::vector<ConstantId> leaf_;     // by OpId, of kLeaf
  std::vector<Constant> constants_;  // by ConstantId - 1
  std::vector<OpId> constant_ops_;   // its node, likewise
  std::map<Constant, ConstantId> constant_ids_;
  std::vector<Names> sets_;  // by SetId, sorted
  std::map<Names, SetId> set_ids_;
  boost::unordered_flat_map<std::uint64_t, SetId> unions_;  // of two ids
  std::vector<LeanTerm> lean_terms_;                        // by ClassId, with proofs
  std::uint64_t restores_seen_ = 0;
};

}  // namespace egret::egraph::workloads
