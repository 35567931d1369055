// SPDX-License-Identifier: Apache-2.0
// Trains a model on a pipeline: as one of mpirun's ranks, or with all ranks as threads of this
// process.
//
//   EGRET_ASSIGN_OR_RETURN(auto layout, parallel::pipeline_layout(model, training, shape, rates));
//   EGRET_ASSIGN_OR_RETURN(auto run, PipelineRun::start(layout, training, ranks, {}));
//   EGRET_RETURN_IF_ERROR(run->begin(inputs));
//   EGRET_ASSIGN_OR_RETURN(const double loss, run->step());
//   EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> variables, run->end());
//
// A rank that fails must call Ranks::abort(): the others wait for it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parallel/simulator/pipeline_simulation.h"
#include "runtime/pipeline/local_messages.h"
#include "runtime/pipeline/pipeline_rank.h"
#include "runtime/ranks/ranks.h"

namespace egret::runtime {

struct PipelineRunOptions {
  std::string backend = "cpu";
  backends::Precision precision = backends::Precision::kF32;
  bool overlap = true;  // where MPI permits it
};

// Errors: usage, for another number of ranks under mpirun than the layout's.
base::Status check_ranks(const parallel::PipelineLayout& layout, const Ranks& ranks);

class PipelineRun {
 public:
  // Errors: those of check_ranks() and of the backend.
  static base::Result<std::unique_ptr<PipelineRun>> start(parallel::PipelineLayout layout,
                                                          const ir::TrainingOptions& training,
                                                          const Ranks& ranks,
                                                          const PipelineRunOptions& options);
  PipelineRun(const PipelineRun&) = delete;
  PipelineRun& operator=(const PipelineRun&) = delete;

  const parallel::PipelineLayout& layout() const { return layout_; }
  bool reports() const { return first_rank_ == 0; }
  // Whether messages move while ranks compute: as asked, where MPI permits it (Ranks::can_overlap).
  bool overlaps() const { return overlap_; }

  // As those of PipelineRank. All ranks call them in the same order.
  base::Status begin(std::span<const ir::Tensor> inputs);
  base::Result<double> step();
  bool stopped() const { return ranks_.front()->stopped(); }
  base::Result<std::vector<ir::Tensor>> end();

  // Times all passes, the optimizer, messages and sums, `repetitions` times, and simulates a step.
  // `cores`: of this host, which its ranks share; each host has as many. Passes are timed while all
  // ranks run, by processor time where kernels on the CPU share cores. Valid at the reporting rank.
  // All ranks call it.
  base::Result<parallel::PipelinePrediction> predict(int repetitions, double cores);

 private:
  PipelineRun(parallel::PipelineLayout layout, bool overlap)
      : layout_(std::move(layout)), overlap_(overlap) {}
  // Runs the ranks of this process side by side. Errors: the first one that is no
  // consequence of another rank's.
  base::Status on_ranks(const std::function<base::Status(std::size_t at)>& body);
  base::Status gather_costs(std::size_t at, const TimingOptions& timing,
                            parallel::PipelineCosts& costs);
  std::int64_t first_free_tag() const;

  const parallel::PipelineLayout layout_;
  const bool overlap_;
  bool on_device_ = false;           // kernels take no core
  std::int64_t ranks_per_host_ = 0;  // 0: all are on one
  std::int64_t first_rank_ = 0;
  std::unique_ptr<LocalMessages> local_;  // null under mpirun
  // Of the ranks in this process.
  std::vector<std::unique_ptr<Messages>> messages_;
  std::vector<std::unique_ptr<PipelineRank>> ranks_;
};

}  // namespace egret::runtime
