// SPDX-License-Identifier: Apache-2.0
// Where the original and the candidates of a race run: on the backend, or in an engine.
//
// The backend runs graphs without opaque nodes at concrete sizes (runnable()). An engine knows
// operators that Egret does not. It runs whole models, with their open sizes: the original as the
// file that the user gave, and the candidates as they would be written. Outputs whose sizes depend
// on data are then not fetched.
#pragma once

#include <memory>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "driver/optimize.h"
#include "driver/select/candidate.h"
#include "driver/setup.h"
#include "ir/core/draw.h"
#include "ir/graph/graph.h"
#include "rules/tensors/open_sizes.h"

namespace egret::driver {

class Track {
 public:
  using Plan = std::unique_ptr<backends::ExecutablePlan>;

  // `original` is runnable() of the program. All arguments outlive the track.
  Track(const ir::Graph& program, const ir::Graph& original, const Setup& setup,
        const OptimizeOptions& options, const rules::OpenSizes* open);

  bool in_engine() const { return setup_.engine != nullptr; }
  // The original is run as it was given, which is not how Egret would write it.
  bool runs_given_file() const { return whole_ && options_.model_file != nullptr; }
  // Plans take other inputs than runnable() graphs, or give no outputs.
  bool is_uncheckable() const { return whole_ && (undefined_ || !knows_outputs_); }

  // Where an engine refuses integers of the usual size, such as indices, this plan and later ones
  // get integers of 0 and 1. Errors: of compiling; unsupported where the engine refuses the file.
  base::Result<Plan> original();
  // Nothing happens where the candidate has a plan.
  base::Status compile(Candidate& candidate) const;
  // The program and a result at other sizes than the examples.
  base::Result<Plan> original_at(const ir::SymbolValues& sizes) const;
  base::Result<Plan> result_at(const ir::Graph& result, const ir::SymbolValues& sizes) const;

 private:
  const backends::Backend& backend() const {
    return in_engine() ? static_cast<const backends::Backend&>(*setup_.engine) : *setup_.backend;
  }
  ir::SymbolValues examples() const {
    return open_ != nullptr ? open_->examples() : ir::SymbolValues();
  }
  ir::Graph signature(const ir::SymbolValues& sizes) const;
  base::Result<Plan> plan_of(const ir::Graph& graph, const ir::SymbolValues& sizes) const;

  const ir::Graph& program_;
  const Setup& setup_;
  const OptimizeOptions& options_;
  const rules::OpenSizes* open_;
  bool whole_ = false;
  bool undefined_ = false;
  bool knows_outputs_ = true;
  std::vector<ir::Draw> draws_;  // of the program's inputs
};

}  // namespace egret::driver
