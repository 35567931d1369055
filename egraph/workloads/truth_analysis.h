// SPDX-License-Identifier: Apache-2.0
// The smallest useful analysis: which classes of a propositional formula are known to be true or
// false. The operators are & | -> with two operands and ~ with one. Leaves other than true and
// false are propositions.
#pragma once

#include <memory>

#include "egraph/core/analysis.h"
#include "egraph/core/egraph.h"
#include "egraph/search/syntax.h"

namespace egret::egraph::workloads {

class TruthAnalysis : public Analysis {
 public:
  explicit TruthAnalysis(OpTable& ops);
  static std::unique_ptr<Analysis> prepare(OpTable& ops, Syntax& syntax);  // for Theory::prepare

  base::Result<Data> make(const EGraph& egraph, OpId op,
                          std::span<const ClassId> children) override;
  base::Result<Data> merge(Data a, Data b) override;
  bool accepts_all_nodes() const override { return true; }
  void modify(EGraph& egraph, ClassId id) override;
  std::string_view name() const override { return "truth-tables"; }
  bool is_data(Data data) const override { return data <= kTrue; }

 private:
  enum : Data { kUnknown, kFalse, kTrue };
  static Data known(bool value) { return value ? kTrue : kFalse; }
  // Evaluates the connective on known values. Returns kUnknown for other values and for operators
  // that are not connectives.
  Data evaluate(OpId op, std::span<const Data> children) const;
  OpId leaf(Data value) const { return value == kTrue ? true_ : false_; }
  ClassId evaluated_term(EGraph& egraph, ClassId id) const;

  OpId true_, false_, not_, and_, or_, implies_;
};

}  // namespace egret::egraph::workloads
