// SPDX-License-Identifier: Apache-2.0
// The file that is about to be written against the file that was given, in an implementation of
// another make.
//
// The check of driver/final_check.h compares the result with the imported graph, so it cannot see a
// mistake of the import or the export. An engine (driver/engine/engine.h) reads both files itself.
// It runs them without its own optimizations, since these may have mistakes, too.
//
// How far rounding may move an output is estimated from the imported graph (OutputCheck), or, where
// the graph has nodes that Egret cannot compute, by disturbing the inputs in the engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/progress.h"
#include "base/status.h"
#include "driver/engine/engine.h"
#include "driver/measure/output_check.h"
#include "driver/models/read_model.h"
#include "driver/optimize.h"
#include "driver/optimize_report.h"
#include "frontends/onnx.h"
#include "rules/tensors/open_sizes.h"

namespace egret::driver {

// What is compared with. All of it outlives the oracle.
struct OracleQuestion {
  const ModelSource& original;
  const frontends::ImportedModel& read;  // its import
  const OptimizeOptions& options;
  const rules::OpenSizes* open = nullptr;
  base::ProgressSink* progress = nullptr;
};

class Oracle {
 public:
  // Starts the engine that options.oracle names and runs the original there. Null where it names
  // none, where "auto" finds none, and where the engine cannot run the original; report.note says
  // why, if the user should know. Errors: mismatch where an output of the original has another type
  // there than in the import.
  static base::Result<std::unique_ptr<Oracle>> ask(const OracleQuestion& question,
                                                   OptimizeReport::Oracle& report);

  // Runs the result and compares. Errors: mismatch where an output differs by more than rounding
  // explains, and where the engine refuses the result; limit_hit where it takes too long, or is
  // interrupted.
  base::Status check(const frontends::ExportedModel& result, OptimizeReport::Oracle& report) const;

 private:
  using Tensors = std::vector<ir::Tensor>;
  // At one assignment of the open sizes.
  struct Run {
    std::string sizes;    // "batch=1"; empty: none is open
    ir::Graph graph;      // the import, as Egret computes it
    ir::Graph signature;  // of the file
    bool whole = false;   // the graph has all nodes of the file, the signature all outputs
    std::vector<Tensors> inputs{};   // of the graph, by sample
    std::vector<Tensors> outputs{};  // of the original in the engine, by sample
    // The same with disturbed inputs, by sample and disturbance; only where not `whole`.
    std::vector<std::vector<Tensors>> disturbed{};
  };

  Oracle(const OracleQuestion& question, std::unique_ptr<Engine> engine)
      : question_(question), engine_(std::move(engine)) {}
  CheckOptions check_options() const;
  base::Status run_original(const ir::SymbolValues& sizes, OptimizeReport::Oracle& report);
  base::Status draw_and_run(Run& run, backends::ExecutablePlan& plan) const;
  base::Result<CheckReport> compare(const Run& run, std::size_t sample, const Tensors& got) const;

  OracleQuestion question_;
  std::unique_ptr<Engine> engine_;
  std::vector<Run> runs_;
};

}  // namespace egret::driver
