// SPDX-License-Identifier: Apache-2.0
// Simplifies the iteration domain of a sum of products by its guards. This part of the emission
// deals with indices alone.
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
  // Registers forms over the variables. Substitutions apply to all of them.
  void track(std::vector<Affine>& forms) { tracked_.push_back(&forms); }
  // Registers the target's forms. Variables that the target needs are not removed.
  void track_target(std::vector<Affine>& forms) {
    track(forms);
    target_ = &forms;
  }

  // Narrows ranges and removes variables as far as the conditions allow. With `divisions`, t div d
  // becomes a variable where d is known to divide t. False when the domain is empty.
  bool run(bool divisions);

  const Domain& domain() const { return domain_; }
  const std::vector<Condition>& conditions() const { return conditions_; }  // those that remain
  std::vector<Condition>& conditions() { return conditions_; }
  const std::vector<int>& opaque() const { return opaque_; }  // guards of the nest that remain
  // Symbols of divisions that became variables.
  const std::set<int>& promoted() const { return promoted_; }
  // The value of a removed variable.
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
