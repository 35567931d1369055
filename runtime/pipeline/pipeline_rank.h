// SPDX-License-Identifier: Apache-2.0
// One rank of a pipeline: its passes in the order of the schedule, messages to the neighbouring
// stages, sums of gradients, and the optimizer. Where ranks share a stage, this one holds its
// shares of values, parameters and state. The order of sums does not depend on times, so repeated
// runs have equal bits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "parallel/pipeline/pipeline_layout.h"
#include "runtime/mpi/messages.h"
#include "runtime/pipeline/boundary_messages.h"
#include "runtime/pipeline/gradient_sums.h"
#include "runtime/pipeline/pass_program.h"

namespace egret::runtime {

// Median seconds of the passes of a stage, by PassKind; 0 for those without work.
struct StageSeconds {
  std::int64_t stage = 0;
  std::array<double, 4> passes{};
};

struct RankSeconds {
  std::vector<StageSeconds> stages;
  double update_s = 0;

  double total() const;
  // The mean with the same work at another time.
  void average(const RankSeconds& other);
};

struct TimingOptions {
  int repetitions = 1;
  // Processor time of this thread, which leaves out waiting for a core that ranks share.
  bool processor_time = false;
};

class PipelineRank {
 public:
  // `layout` and `messages` outlive the object. With `overlap`, gradients are summed as soon as a
  // stage has all of them; otherwise after the last pass. Errors: those of the backend.
  static base::Result<std::unique_ptr<PipelineRank>> make(const parallel::PipelineLayout& layout,
                                                          const ir::TrainingOptions& training,
                                                          std::int64_t rank, bool overlap,
                                                          const backends::Backend& backend,
                                                          const backends::CompileOptions& compile,
                                                          Messages& messages);

  // The inputs of the whole step: the model's, labels, parameters and state, as
  // training_graph() of parallel::model_of_loss() has them. Errors: bad_input for others.
  base::Status begin(std::span<const ir::Tensor> inputs);
  // The mean loss, on all ranks. All ranks call it.
  base::Result<double> step();
  // Whether rank 0 saw base::stop_requested() in the last step; the same on all ranks.
  bool stopped() const { return stopped_; }
  // Parameters and state at rank 0, empty at the others. All ranks call it.
  base::Result<std::vector<ir::Tensor>> end();

  // Runs each pass and the optimizer on zeros, in turns. A pass includes what the rank does to its
  // messages and gradients. BETWEEN runs before each.
  base::Result<RankSeconds> time_work(const TimingOptions& timing,
                                      const std::function<base::Status()>& between);

 private:
  using Values = std::map<std::size_t, ir::Tensor>;  // by node of the joint graph

  PipelineRank(const parallel::PipelineLayout& layout, std::int64_t rank, bool overlap,
               Messages& messages);
  base::Status compile(const ir::TrainingOptions& training, const backends::Backend& backend,
                       const backends::CompileOptions& compile);

  base::Status compile_passes(const backends::Backend& backend,
                              const backends::CompileOptions& compile);
  base::Status compile_update(const ir::TrainingOptions& training, const backends::Backend& backend,
                              const backends::CompileOptions& compile);
  base::Result<std::unique_ptr<PassProgram>> program_of(const ir::Graph& whole,
                                                        const parallel::PlacedGraph* divided,
                                                        const backends::Backend& backend,
                                                        const backends::CompileOptions& compile);

  base::Status run(const parallel::PipelinePass& pass);
  base::Status receive(const parallel::PipelinePass& pass, Values& values);
  base::Status compute(const parallel::PipelinePass& pass, Values& values);
  base::Status send(const parallel::PipelinePass& pass, const Values& values);
  void add_gradients(const parallel::PipelinePass& pass, const Values& values);
  void forget(const parallel::PipelinePass& pass, Values& values);
  base::Status start_sums(std::int64_t finished_stage);
  base::Status add_tied(std::size_t at);
  base::Result<bool> group_stops() const;
  base::Status update();
  base::Status share_updates();
  base::Result<double> mean_loss();
  ir::Tensor value(std::int64_t stage, const Values& values, std::size_t node) const;
  std::int64_t replica() const { return at_.replica; }
  std::int64_t pipeline_rank() const { return at_.pipeline_rank; }
  std::int64_t group_size() const { return layout_.group_size(at_.pipeline_rank); }
  const parallel::Stage& stage(std::int64_t at) const {
    return layout_.step.stages[static_cast<std::size_t>(at)];
  }
  std::int64_t message_tag(bool backward, std::int64_t boundary, std::int64_t micro_batch) const;
  std::int64_t free_tag(std::int64_t at) const;  // beyond those of boundaries and sums

  const parallel::PipelineLayout& layout_;
  const std::int64_t rank_;
  const parallel::RankPlace at_;
  const bool overlap_;
  Messages& messages_;
  const std::vector<std::int64_t> stages_;
  Exchange exchange_;  // within the group
  std::map<std::pair<std::int64_t, parallel::PassKind>, std::unique_ptr<PassProgram>> programs_;
  std::map<std::pair<std::int64_t, bool>, BoundarySide> sent_, received_;  // by boundary, backward
  std::map<std::pair<std::int64_t, std::size_t>, ir::Tensor> constants_;   // by stage, node
  std::vector<std::size_t> parameters_;  // that this rank updates, ascending
  std::vector<std::size_t> state_;       // of them, in the order of the optimizer's inputs
  parallel::PlacedGraph update_;         // where ranks share the stages
  std::unique_ptr<PassProgram> optimizer_;

  std::vector<std::vector<ir::Tensor>> data_;  // by micro-batch, then by input of the step
  // Parameters, then state: shares of those of this rank's stages, which step() changes; of others
  // the wholes before the first step. State that other ranks update is empty.
  std::vector<ir::Tensor> variables_;
  std::map<std::pair<std::int64_t, std::int64_t>, Values> values_;  // by stage, micro-batch
  std::vector<ir::Tensor> gradients_;                               // by parameter; sums so far
  std::map<std::int64_t, std::int64_t> gradients_left_;             // passes, by stage
  bool stopped_ = false;
  double loss_ = 0;  // sum over micro-batches
  GradientSums sums_;
};

}  // namespace egret::runtime
