// SPDX-License-Identifier: Apache-2.0
// The search for kernels under an error budget: each contraction is there in every precision that
// the backend has (kernel_forms.h), and what is estimated of errors is corrected by measuring, as
// times are.
#pragma once

#include <vector>

#include "driver/select/kernel_search.h"

namespace egret::driver {

// KernelChoiceOptions::error_budget is given. Errors of run(): those of compiling and running
// samples, too.
class PrecisionSearch final : public KernelSearch {
 public:
  using KernelSearch::KernelSearch;

 protected:
  PieceForms add_forms() override;
  bool joins_kernels() const override { return false; }
  std::vector<double> costs_of_kernels() const override;
  base::Result<extract::Solution> extract(const extract::Problem& problem) const override;
  // Prices of forms are guesses.
  bool may_gain(const extract::Solution& /*solution*/) const override { return true; }
  base::Result<bool> prepare(KernelChoice& choice) override;
  bool is_better(const KernelChoice& choice) const override;
  bool may_change() const override { return tried_forms_.may_change(); }
  // A program in f32 is an answer under any error budget.
  bool needs_answer() const override { return !best_; }
  double exploring_share() const override { return is_by_extraction() ? kExploring : 1; }
  // An answer rests on measured errors, which nothing keeps.
  cost::Database* answers() const override { return nullptr; }
  base::Status begin() override;
  base::Status settle() override;

 private:
  static constexpr int kMostSettled = 4;     // programs in a row
  static constexpr double kExploring = 0.8;  // of all time

  ErrorBudget& budget() const { return *options_.error_budget; }
  bool is_by_extraction() const { return budget().forms_from() == FormsFrom::kExtraction; }
  // Whether one form is asked for wherever there is a kernel, as a comparison.
  bool is_comparison() const { return budget().forms_from() >= FormsFrom::kBF16; }
  base::Status try_known_kernels();
  base::Status try_in_f32();

  std::vector<extract::NodeIndex> plain_choice_;  // of the best program in f32
  bool is_trial_ = false;                         // a program that is run for its prices alone
  TriedForms tried_forms_;                        // of the last program
};

}  // namespace egret::driver
