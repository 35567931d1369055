// SPDX-License-Identifier: Apache-2.0
// Kernels in less precision as further candidates beside those in f32: a piece of one contraction
// is there once for each form that its operands may have (backends/precision.h). They cost an
// estimated error, of which the budget is one row of the extraction, so that the forms are chosen
// together with algebra and fusion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "backends/precision.h"
#include "driver/precision/error_budget.h"
#include "driver/select/kernel_pieces.h"
#include "extract/core/extractor.h"
#include "extract/kernels/kernel_graph.h"
#include "extract/kernels/pieces.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {

inline constexpr ErrorBudget::Key kNoContraction{std::numeric_limits<std::uint32_t>::max(),
                                                 std::numeric_limits<std::uint32_t>::max()};

// Each by piece.
struct PieceForms {
  std::vector<backends::OperandForm> form{};
  std::vector<std::size_t> in_f32{};            // the piece of the same nodes
  std::vector<ErrorBudget::Key> contraction{};  // classes of value and operand, or kNoContraction
};

// All pieces in f32.
PieceForms plain_forms(const extract::Pieces& pieces);
// Adds pieces in the forms that the backend has kernels for. Only pieces of exactly one contraction
// have them.
PieceForms add_forms(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                     const backends::Backend& backend, extract::Pieces& pieces);

// Prices of pieces in less precision that were not measured, from those of the same pieces in f32:
// the least factor that was measured for the contraction in this form; without one, the quartile of
// all in this form; without any, what the processor's units may gain. By piece; O(pieces log).
void price_forms(const PieceForms& forms, const std::vector<bool>& measured,
                 std::span<double> prices);

// The contraction of each kernel whose piece has one.
std::vector<ErrorBudget::Contraction> contractions_of(const DividedGraph& program,
                                                      const PieceForms& forms);
// The program with the roundings that the forms of its pieces say (backends::with_roundings()); how
// many contractions read each form, and the estimated error. A contraction without a lowering in
// its form stays in f32.
DividedGraph in_forms(const DividedGraph& program, const PieceForms& forms,
                      const ErrorBudget& budget, FormsChosen& chosen);

struct TriedForms {
  bool learned = false;    // errors of contractions
  bool beyond = false;     // the budget
  bool corrected = false;  // estimates of errors were

  // Whether another extraction may choose other forms.
  bool may_change() const { return beyond || corrected; }
};
// The program in_forms(), whose error is measured where it is in less precision, and those of its
// contractions that are not known. Errors: those of compiling and running.
base::Result<TriedForms> try_forms(DividedGraph& program, const PieceForms& forms,
                                   ErrorBudget& budget, const backends::Backend& backend,
                                   const backends::CompileOptions& plan, FormsChosen& chosen);

// Makes nodes of the e-graph of kernels infinitely dear: those whose form a contraction cannot
// have; all in less precision; those whose time (by piece) or error is not known.
void exclude_impossible(const extract::KernelGraph& kernels, const PieceForms& forms,
                        const ErrorBudget& budget, std::span<double> costs);
void exclude_lowered(const extract::KernelGraph& kernels, const PieceForms& forms,
                     std::span<double> costs);
void exclude_unknown(const extract::KernelGraph& kernels, const PieceForms& forms,
                     const ErrorBudget& budget, const std::vector<bool>& measured,
                     std::span<double> costs);

// The same division into kernels with other forms. Everywhere: the form, where a kernel has it.
std::vector<extract::NodeIndex> in_form_everywhere(const extract::KernelGraph& kernels,
                                                   const PieceForms& forms,
                                                   std::span<const extract::NodeIndex> choice,
                                                   backends::OperandForm form,
                                                   const ErrorBudget& budget);
// Layer by layer: the kernels get the form of the least price that the rest of the budget allows,
// one after the other, those with the least error first.
std::vector<extract::NodeIndex> in_forms_by_layers(const extract::KernelGraph& kernels,
                                                   const PieceForms& forms,
                                                   std::span<const extract::NodeIndex> choice,
                                                   std::span<const double> costs,
                                                   const ErrorBudget& budget);

// The cheapest choice whose estimated error is within the budget. What is compared with it
// (ErrorBudget::forms_from()) keeps the division of `plain`, the best choice in f32, and has no
// bound. Errors: those of extract_within_budget().
base::Result<extract::Solution> extract_in_forms(
    const extract::Problem& problem, const extract::KernelGraph& kernels, const PieceForms& forms,
    std::span<const extract::NodeIndex> plain, const ErrorBudget& budget,
    const extract::ExtractorRow& extractor, const extract::Options& options);

}  // namespace egret::driver
