// SPDX-License-Identifier: Apache-2.0
// From a saturated e-graph to candidates.
//
// The cheapest graph by the cost model is the one asked for. A model that adds up operators is
// wrong by some percent, so two graphs that change less are kept beside it: the conservative one
// replaces the program's own operators only for a clear gain, the simplified one never (dead nodes
// are gone, equal nodes are shared). The race decides between them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/progress.h"
#include "base/status.h"
#include "driver/measure/kept_times.h"
#include "driver/prices/cost_choice.h"
#include "driver/prices/forbidden_operators.h"
#include "driver/select/candidate.h"
#include "driver/select/selection.h"
#include "extract/core/extractor.h"
#include "rules/tensors/saturated_graph.h"

namespace egret::driver {

struct ChooseOptions {
  const extract::ExtractorRow* extractor = nullptr;
  bool keep_answers = true;    // in the database (driver/select/extraction_cache.h)
  double extract_seconds = 2;  // each time the extractor runs
  std::uint64_t seed = 1;
  bool only_cheapest = false;  // no conservative and no simplified candidate
  bool only_clear_gains =
      false;  // the cheapest candidate has those rewrites alone that gain clearly
  // A node that consists of several operators (ir/ops/opaque.h) stays whole: an engine has a kernel
  // for it, and perhaps none for its parts.
  bool keep_nodes_whole = false;
  // Another cost model, whose cheapest graph is a candidate too, and its profiler. Null: none.
  cost::ProfiledModel* second_model = nullptr;
  Profiler* second_profiler = nullptr;
  // Teaches the cost model what operators take in this graph, as it would be written, where others
  // may be fused with them; false: nothing new was learned. The cheapest candidate is then chosen
  // again. Empty: a model learns nothing from graphs.
  std::function<base::Result<bool>(const ir::Graph&)> learn{};
  // A candidate whose kernels are chosen (driver/select/kernel_choice.h), which is the first:
  // together with its graph, or for the cheapest graph. kBackend: none.
  enum class KernelsFrom : std::uint8_t { kBackend, kGraph, kEGraph };
  KernelsFrom kernels_from = KernelsFrom::kBackend;
  // The layouts between kernels are chosen, too; with kBackend those of the cheapest graph, divided
  // by the backend.
  bool lays_out = false;
  KeptTimes kept{};                     // of kernels
  double kernel_seconds = 20;           // of measuring kernels
  ErrorBudget* error_budget = nullptr;  // KernelChoiceOptions::error_budget
  std::int64_t alternatives = 0;
  double alternative_spread = 1.1;  // SelectionOptions::spread and ::kept of alternatives
  double alternative_kept = 0;
  double fit_seconds = 20;  // of the search for a graph within plan.limit_arena
  const backends::Backend* backend = nullptr;
  backends::CompileOptions plan;  // limit_arena 0: any size
  base::ProgressSink* progress = nullptr;
};

// At least one candidate, the cheapest first. With a limit of the arena only such as keep to it,
// and each of them compiled. Errors: unsupported where no equal graph does without what is
// forbidden, or keeps to the limit; those of extraction, folding and compiling.
base::Result<std::vector<Candidate>> choose(const rules::AdmittedRules& rules,
                                            rules::SaturatedGraph& saturated,
                                            const ForbiddenOperators& forbidden,
                                            const CostChoice& costs, Profiler& profiler,
                                            const ChooseOptions& options);

}  // namespace egret::driver
