// SPDX-License-Identifier: Apache-2.0
#include "driver/select/precision_search.h"

namespace egret::driver {

PieceForms PrecisionSearch::add_forms() {
  return driver::add_forms(egraph_.tensors, egraph_.view, *options_.backend, pieces_);
}

std::vector<double> PrecisionSearch::costs_of_kernels() const {
  std::vector<double> costs = KernelSearch::costs_of_kernels();
  exclude_impossible(kernels_, forms_, budget(), costs);
  return costs;
}

base::Result<extract::Solution> PrecisionSearch::extract(const extract::Problem& problem) const {
  return extract_in_forms(problem, kernels_, forms_, plain_choice_, budget(), *options_.extractor,
                          options_.extraction);
}

base::Result<bool> PrecisionSearch::prepare(KernelChoice& choice) {
  tried_forms_ = {};
  EGRET_ASSIGN_OR_RETURN(tried_forms_, try_forms(choice.program, forms_, budget(),
                                                 *options_.backend, options_.plan, choice.forms));
  return tried_forms_.learned;
}

bool PrecisionSearch::is_better(const KernelChoice& choice) const {
  if (!budget().allows(choice.forms.measured)) return false;
  if (is_comparison()) return !best_ || choice.forms.lowers();
  return !is_trial_ && KernelSearch::is_better(choice);
}

// The best program in f32 once in each form, after which most prices of forms are known; then the
// fastest mixture of these kernels, before time may be over; then with one layer lowered after the
// other, which the extraction is never to be worse than.
base::Status PrecisionSearch::begin() {
  if (!best_) return base::ok();
  plain_choice_ = best_->solution.choice;
  if (is_comparison()) return base::ok();
  for (const auto form : {backends::OperandForm::kBF16, backends::OperandForm::kI8}) {
    if (!may_measure()) return base::ok();
    const std::vector<double> costs = costs_of_kernels();
    const auto solution =
        extract::solution_of({kernels_.graph, costs},
                             in_form_everywhere(kernels_, forms_, plain_choice_, form, budget()));
    if (solution.choice == plain_choice_) continue;
    // What is compared with the extraction chooses by itself.
    is_trial_ = !is_by_extraction();
    const auto tried = try_choice(solution);
    is_trial_ = false;
    EGRET_RETURN_IF_ERROR(tried.status());
  }
  EGRET_RETURN_IF_ERROR(try_known_kernels());
  if (!is_by_extraction() || !may_measure()) return base::ok();
  const std::vector<double> costs = costs_of_kernels();
  const auto by_layers =
      extract::solution_of({kernels_.graph, costs},
                           in_forms_by_layers(kernels_, forms_, plain_choice_, costs, budget()));
  if (tried_.insert(by_layers.choice).second) EGRET_RETURN_IF_ERROR(try_choice(by_layers).status());
  return try_known_kernels();
}

base::Status PrecisionSearch::settle() {
  EGRET_RETURN_IF_ERROR(try_known_kernels());
  return best_ ? base::ok() : try_in_f32();
}

// Programs of kernels whose times and errors are all known, until one is within the budget.
base::Status PrecisionSearch::try_known_kernels() {
  if (!is_by_extraction()) return base::ok();
  for (int i = 0; i < kMostSettled && may_measure(); ++i) {
    std::vector<double> costs = costs_of_kernels();
    exclude_unknown(kernels_, forms_, budget(), is_measured_, costs);
    const auto solution = extract({kernels_.graph, costs});
    if (!solution.ok()) return base::ok();  // of no program all kernels are known
    if (!tried_.insert(solution->choice).second) return base::ok();
    EGRET_RETURN_IF_ERROR(try_choice(*solution).status());
    if (!tried_forms_.may_change()) return base::ok();
  }
  return base::ok();
}

// The cheapest program in f32.
base::Status PrecisionSearch::try_in_f32() {
  std::vector<double> costs = KernelSearch::costs_of_kernels();
  exclude_lowered(kernels_, forms_, costs);
  EGRET_ASSIGN_OR_RETURN(const extract::Solution solution,
                         options_.extractor->extract({kernels_.graph, costs}, options_.extraction));
  return try_choice(solution).status();
}

}  // namespace egret::driver
