// SPDX-License-Identifier: Apache-2.0
// What guards say about the variables of a sum: the part of emitting sums of products that is about
// indices alone.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "ir/autodiff/axis_view.h"

namespace egret::ir::autodiff {

// form <= 0, or form == 0.
struct Condition {
  Affine form;
  bool equality = false;
};

class DomainReduction {
 public:
  DomainReduction(const LoopNest& nest, Domain domain) : nest_(nest), domain_(std::move(domain)) {}

  // Splits a guard into index conditions and, for others, guards of the nest.
  void assume(int guard);
  // Every form that speaks of the variables; substitutions are made in all of them.
  void track(std::vector<Affine>& forms) { tracked_.push_back(&forms); }
  // The same of the target, whose variables stay.
  void track_target(std::vector<Affine>& forms) {
    track(forms);
    target_ = &forms;
  }

  // Narrows ranges and removes variables as far as the conditions allow. With `divisions`, t div d
  // is a variable where d is known to divide t. False when no values are left.
  bool run(bool divisions);

  const Domain& domain() const { return domain_; }
  const std::vector<Condition>& conditions() const { return conditions_; }  // those that remain
  std::vector<Condition>& conditions() { return conditions_; }
  const std::vector<int>& opaque() const { return opaque_; }  // guards of the nest that remain
  // Symbols of divisions that became variables.
  const std::set<int>& promoted() const { return promoted_; }
  // What a variable that was removed is equal to.
  const Affine& replaced(int variable) const { return replaced_.at(variable); }

 private:
  bool narrow();
  bool promote(Condition& condition);
  bool eliminate(std::size_t condition);
  bool target_needs(int variable) const;
  void substitute(int variable, const Affine& by);
  void drop_fixed_variables();

  const LoopNest& nest_;
  Domain domain_;
  const std::vector<Affine>* target_ = nullptr;
  std::vector<Condition> conditions_;
  std::vector<int> opaque_;
  std::vector<std::vector<Affine>*> tracked_;
  std::set<int> promoted_;
  std::map<int, Affine> replaced_;
  bool empty_ = false;
};

}  // namespace egret::ir::autodiff
