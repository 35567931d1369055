// SPDX-License-Identifier: Apache-2.0
// The making of a StepProgram: passes in the order of the schedule, what they wait for, and the
// exchanges around them.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "parallel/pipeline/pipeline_schedule.h"
#include "parallel/simulator/step_program.h"
#include "parallel/transformer/stage_costs.h"

namespace egret::parallel {

class StepBuilder {
 public:
  StepBuilder(const System& system, const TrainingSetup& setup, const StepOptions& options,
              const PipelineSchedule& schedule);

  // Errors: limit, on base::stop_requested().
  base::Result<StepProgram> build();

 private:
  enum Message : unsigned char { kActivation, kGradient };
  // The message of a micro-batch that leaves a stage, in a replica.
  using MessageKey = std::tuple<Message, std::int64_t, std::int64_t, std::int64_t>;

  // What a device has done so far.
  struct Progress {
    std::vector<TaskId> computed;                                       // ends of pieces
    std::vector<TaskId> passes;                                         // ends of passes
    TaskId issued;                                                      // the host's last task
    TaskId sent;                                                        // the last transfer
    std::vector<TaskId> exchanged;                                      // gradients
    std::map<std::int64_t, std::int64_t> backward_left;                 // by stage: passes
    std::map<std::pair<std::int64_t, std::int64_t>, TaskId> offloaded;  // by stage, micro-batch
  };
  // Tasks of one computation. Without launch costs, all three are one task or invalid.
  struct Computed {
    TaskId issue, first, last;
  };
  // An exchange of gradients, which begins when the gradients of all replicas are there.
  struct Exchange {
    std::int64_t stage;
    std::size_t piece;
    std::int32_t micro_batch;
    TaskId flow, ready;
  };

  std::uint32_t device_of(std::int64_t replica, std::int64_t rank) const {
    return static_cast<std::uint32_t>(replica * schedule_.ranks + rank);
  }
  TaskId add(SimulatedTask task, StepTask what);
  void add_links();
  void set_link_rates();
  void set_fixed_memory(std::uint32_t device);

  // The passes of a device (step_builder.cc).
  base::Status add_passes(std::uint32_t device);
  void add_pass(std::uint32_t device, const PipelinePass& pass);
  Computed add_compute(std::uint32_t device, const KernelTime& time, std::vector<TaskId> after,
                       StepTask what);
  void receive(std::uint32_t device, const PipelinePass& pass, const Computed& computed);
  void send(std::uint32_t device, const PipelinePass& pass, TaskId after);
  void keep_activations(std::uint32_t device, const PipelinePass& pass, TaskId first, TaskId last);
  void change_memory(std::uint32_t device, TaskId task, bool at_start, MemoryKind kind,
                     double bytes);
  void deliver_messages();

  // What surrounds them (step_exchanges.cc).
  TaskId gather_weights(std::uint32_t device, const StagePiece& piece, StepTask what);
  TaskId fetch_activations(std::uint32_t device, const PipelinePass& pass);
  void exchange_piece(std::uint32_t device, const PipelinePass& pass, std::size_t piece,
                      TaskId after);
  void exchange_stages(std::uint32_t device);
  void join_replicas();
  void add_end_of_step();
  TaskId exchange_embedding(std::int64_t replica);
  void add_optimizer(std::uint32_t device, TaskId ready);
  TaskId add_flow(std::uint32_t device, StepStream stream, const CollectiveTime& time,
                  std::vector<TaskId> after, StepTask what);
  TaskId add_copy(std::uint32_t device, bool to_host, double bytes, std::vector<TaskId> after,
                  StepTask what);

  std::int64_t copies() const;  // of a stage's weights, on devices of different groups
  bool exchanges_gradients() const { return trains() && copies() > 1; }
  bool exchanges_early() const {
    return exchanges_gradients() && (setup_.overlap_gradients || zero_ >= 2);
  }
  bool trains() const { return !setup_.frozen && !options_.forward_only; }
  bool launches_cost() const;
  RankGroup data_group() const { return {copies(), setup_.tensor}; }

  const System& system_;
  const TrainingSetup& setup_;
  const StepOptions& options_;
  const PipelineSchedule& schedule_;
  const std::int64_t replicas_;
  const std::int64_t zero_;
  std::vector<StageCosts> costs_;  // by stage
  StepProgram program_;
  std::vector<Progress> progress_;                // by device
  std::vector<std::vector<Exchange>> exchanges_;  // by device
  std::map<MessageKey, TaskId> arrivals_;
  std::vector<std::pair<TaskId, MessageKey>> receivers_;
};

}  // namespace egret::parallel
