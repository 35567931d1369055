// SPDX-License-Identifier: Apache-2.0
// Where the original and the candidates of a race run: on the backend, or in an engine.
//
// The backend runs graphs without opaque nodes (runnable()). An engine knows operators that Egret
// does not: it runs whole models, the original as the file that the user gave, if the types of all
// inputs and outputs are known.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "base/status.h"
#include "driver/optimize.h"
#include "driver/select/candidate.h"
#include "driver/setup.h"
#include "ir/graph/graph.h"
#include "rules/tensors/open_sizes.h"

namespace egret::driver {

class Track {
 public:
  using Plan = std::unique_ptr<backends::ExecutablePlan>;

  // All arguments outlive the track.
  Track(const ir::Graph& program, const Setup& setup, const OptimizeOptions& options,
        const rules::OpenSizes* open);

  bool in_engine() const { return setup_.engine != nullptr; }
  // The original is run as it was given, which is not how Egret would write it.
  bool runs_given_file() const { return whole_ && options_.model_file != nullptr; }
  // Plans take the inputs and outputs of the program, where runnable() graphs have more.
  bool keeps_undefined() const { return whole_ && undefined_; }

  // Errors: of compiling; unsupported where the engine refuses the file.
  base::Result<Plan> original() const;
  // Nothing happens where the candidate has a plan.
  base::Status compile(Candidate& candidate) const;
  // The program and a result at other sizes than the examples.
  base::Result<Plan> original_at(const ir::SymbolValues& sizes) const;
  base::Result<Plan> result_at(const ir::Graph& result, const ir::SymbolValues& sizes) const;

 private:
  const backends::Backend& backend() const {
    return in_engine() ? static_cast<const backends::Backend&>(*setup_.engine) : *setup_.backend;
  }
  // `sizes`: null where there are no open ones.
  base::Result<ir::Graph> as_run(const ir::Graph& graph, const ir::SymbolValues* sizes) const;
  base::Result<Plan> original_at(const ir::SymbolValues* sizes) const;
  const ir::SymbolValues* examples() const {
    return open_ != nullptr ? &open_->examples() : nullptr;
  }

  const ir::Graph& program_;
  const Setup& setup_;
  const OptimizeOptions& options_;
  const rules::OpenSizes* open_;
  bool whole_ = false;
  bool undefined_ = false;
};

}  // namespace egret::driver
