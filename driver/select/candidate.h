// SPDX-License-Identifier: Apache-2.0
// Candidates: the graphs that may replace the original, each equal to it by proven rules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "driver/precision/error_budget.h"
#include "driver/prices/cost_choice.h"
#include "driver/prices/forbidden_operators.h"
#include "driver/select/kernel_costs.h"
#include "driver/select/rule_count.h"
#include "driver/select/rule_marks.h"
#include "driver/select/selection.h"
#include "extract/core/extractor.h"
#include "ir/graph/graph.h"
#include "rules/tensors/constant_folding.h"
#include "rules/tensors/open_sizes.h"

namespace egret::driver {

struct Candidate {
  // "cheapest", "conservative", "simplified", "alternative 1", "fitting", "kernels", "own layouts"
  std::string name;
  ir::Graph graph{};    // as it is run: runnable() of the following
  ir::Graph written{};  // empty if it is the same
  // Of the e-graph, before constants were folded; null for a graph that is not extracted from it.
  std::shared_ptr<const ir::Graph> extracted{};
  std::string identity{};               // of the graph; see identity_of()
  backends::Division division{};        // of `graph` into kernels; empty: the backend's own
  backends::DivisionLayouts layouts{};  // of these kernels; empty: the backend's own
  std::unique_ptr<backends::ExecutablePlan> plan{};  // null until it is compiled
  Prediction prediction{};
  KernelPrediction kernels{};              // where alternatives were asked for
  std::map<std::string, int> operators{};  // ONNX nodes by type
  std::vector<RuleCount> rules_used{};
  RuleMarks made_by{};  // of `written`, or of `graph` where that is empty
  extract::Solution solution{};
  std::int64_t estimated = 0;          // operators of the choice that rest on estimates
  std::optional<FormsChosen> forms{};  // of its contractions, where an error budget chose them
};

// What of a graph can be priced, run and checked: for the examples of open sizes, and cut at opaque
// nodes.
base::Result<ir::Graph> runnable(const ir::Graph& graph, const rules::OpenSizes* open);

// The candidate is run with the inputs and outputs of the original, which may have opaque nodes
// that rewriting removed. `original` is runnable() of the program.
void take_signature_of(const ir::Graph& original, Candidate& candidate);

// The sum over the types.
int operator_count(const std::map<std::string, int>& by_type);

// Candidates in the order in which they were found. Equal graphs and graphs with forbidden
// operators are dropped.
class CandidatePool {
 public:
  CandidatePool(const ForbiddenOperators& forbidden, cost::Model& model, Profiler& profiler,
                rules::OpenSizes* open = nullptr)
      : forbidden_(forbidden), model_(model), profiler_(profiler), open_(open) {}

  // Folds what depends on constants alone, then prices the graph. The candidate's marks are those
  // of `graph`.
  base::Status add(Candidate candidate, const ir::Graph& graph);
  // A candidate whose graph is folded, divided and predicted already.
  base::Status add_divided(Candidate candidate);
  // Prices the graphs once more, where the model has learned since.
  base::Status predict_again();
  std::vector<Candidate>& candidates() { return candidates_; }

 private:
  const ForbiddenOperators& forbidden_;
  cost::Model& model_;
  Profiler& profiler_;
  rules::OpenSizes* open_;
  rules::FoldedValues folded_;  // shared by the candidates: most of them fold the same weights
  std::vector<Candidate> candidates_;
};

// Compiles the candidate unless it has a plan. Errors: those of compile_batch().
base::Status compile(Candidate& candidate, const backends::Backend& backend,
                     const backends::CompileOptions& options);

}  // namespace egret::driver
