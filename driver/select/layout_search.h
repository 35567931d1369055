// SPDX-License-Identifier: Apache-2.0
// The search for kernels and the layouts between them: each kernel is there in all layouts in which
// the backend has it (backends/layout_forms.h), and copies from layout to layout are kernels, too.
// It goes on from an answer in the backend's own layouts, which is one of its candidates.
#pragma once

#include <cstddef>
#include <vector>

#include "driver/select/kernel_search.h"

namespace egret::driver {

// Options are without an error budget, and the backend has layout forms.
class LayoutSearch : public KernelSearch {
 public:
  using KernelSearch::KernelSearch;

  // The answer is as fast as the start, or faster; one that was not measured stays. Its kernels are
  // those of the start where KernelChoiceOptions::keep_division says so. Errors: those of run(),
  // and of compiling the start.
  base::Result<KernelChoice> run_from(KernelStart start);

 protected:
  PieceForms add_forms() override;
  std::vector<bool> formed_classes() const override;
  bool is_laid_out(const extract::Piece& piece) const override;
  bool divides() const override { return true; }
  base::Status look_up_others() override;
  void price_unmeasured() override;
  std::vector<double> costs_of_kernels() const override;
  std::span<const std::size_t> works_of_copies() const override { return work_of_copy_; }
  bool may_gain(const extract::Solution& solution) const override;
  bool is_better(const KernelChoice& choice) const override;
  int max_rounds() const override;
  double exploring_share() const override;
  base::Status begin() override;
  base::Status settle() override;

 private:
  // Of the layouts that the backend can be asked for, those that store in the same form if there
  // are any.
  backends::KernelLayouts nearest(const extract::Piece& piece,
                                  const backends::KernelLayouts& layouts) const;

  std::vector<bool> formed_;               // formed_classes()
  std::vector<extract::Piece> start_;      // the kernels of the start, in the backend's layouts
  std::vector<bool> has_layouts_;          // by piece: whether the backend has it in its layouts
  std::vector<bool> in_layouts_;           // by piece: is_laid_out()
  std::vector<std::size_t> plain_work_;    // by piece: the work in the backend's own layouts
  std::vector<std::size_t> work_of_copy_;  // by copy
  std::vector<double> copy_prices_;
  std::vector<bool> is_copy_measured_;
};

}  // namespace egret::driver
