// SPDX-License-Identifier: Apache-2.0
// From a saturated e-graph to a program divided into kernels: algebra and fusion are chosen
// together.
//
// The kernels that a backend may make of parts of the e-graph are the nodes of a second e-graph
// (extract/kernels/kernel_graph.h), from which an extractor chooses. A kernel whose time is not
// known is priced like its dearest operator, that is, optimistically. What is chosen is compiled as
// divided and run, each kernel gets the time that it took there, and the choice is made again,
// until it rests on measurements. Of all programs that ran, the fastest is the answer. The
// divisions that the backend makes of given programs are among the candidates and run first, so
// that the answer takes no longer than they do, up to noise. The database of costs keeps the
// answer: the same e-graph, options and database give the same program again, without runs. An
// answer that the time cut off is kept as such, and the next search goes on from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/progress.h"
#include "base/status.h"
#include "cost/model.h"
#include "driver/measure/kept_times.h"
#include "driver/precision/error_budget.h"
#include "driver/select/divided_times.h"
#include "driver/select/kernel_pieces.h"
#include "driver/select/selection.h"
#include "extract/core/extractor.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {

struct KernelChoiceOptions {
  const extract::ExtractorRow* extractor = nullptr;
  extract::Options extraction{};
  std::vector<double> factors{};  // on the cost of each node of the view; empty: none
  bool only_graph = false;        // kernels of the first given program alone
  bool keep_division = false;     // into those that the backend makes of it, layouts at most
  // Whether layouts between kernels are chosen with them, where the backend has several
  // (driver/select/layout_search.h). Not with an error budget.
  bool lays_out = false;
  const backends::Backend* backend = nullptr;
  backends::CompileOptions plan{};
  KeptTimes kept{};          // where times of kernels and programs are kept
  bool keep_answers = true;  // there, too
  double seconds = 20;       // of measuring; 0: estimates alone
  int max_rounds = 12;
  // Kernels in less precision are candidates, too (driver/select/kernel_forms.h). Null: none.
  ErrorBudget* error_budget = nullptr;
};

// A program of the e-graph that the backend divides by itself.
struct GivenProgram {
  ir::Graph graph;
  std::vector<egraph::NodeId> origins{};  // by node; invalid for inputs and folded constants
  // Kernels are chosen for its graph before those of the whole e-graph.
  bool is_start = false;
};

struct KernelChoice {
  DividedGraph program{};        // constants folded, and rounded as `forms` says
  FormsChosen forms{};           // with an error budget
  extract::Solution solution{};  // of the e-graph of kernels, at the prices of its round
  KernelTimes times{};
  // The place of the given program that it is, as the backend divides it; none: it is another one.
  std::optional<std::size_t> given{};
  std::vector<KernelTimes> times_of_given{};  // not measured: the time was over
  std::int64_t pieces = 0;                    // candidates for kernels
  std::uint64_t dropped = 0;                  // candidates beyond the limits of the enumeration
  std::int64_t newly_measured = 0;
  int rounds = 0;
  // Where layouts were chosen: the answer in the backend's own, unless it is a given program.
  std::vector<KernelChoice> others{};
};

// The answer is at least as fast as the kernels chosen for each start, which are found in at most
// 0.6 of the time, and as what the backend makes of each given program that was measured. With an
// error budget kernels are chosen at once.
//
// With an error budget, each round also measures the errors of kernels that are new, and the error
// of its program on samples that are held out; only programs within the budget are answers.
//
// A search that fails where another one has an answer is a note of the solution.
//
// Errors: unsupported where the backend takes no division; those of extraction, folding, compiling
// and running, where no search has an answer.
base::Result<KernelChoice> choose_kernels(const rules::TensorEGraph& tensors,
                                          const egraph::EGraphView& view, cost::Model& model,
                                          std::span<const GivenProgram> given,
                                          const KernelChoiceOptions& options,
                                          base::ProgressSink* sink);

}  // namespace egret::driver
