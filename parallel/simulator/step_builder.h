// SPDX-License-Identifier: Apache-2.0
// The making of a StepProgram: passes in the order of the schedule, what they wait for, and the
// exchanges around them.
#pragma once

#include <map>
#include <optional>
#include <set>
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
    std::vector<TaskId> computed;  // ends of pieces
    std::vector<TaskId> passes;    // ends of passes
    TaskId issued;                 // the host's last task
    TaskId sent;                   // the last transfer
    TaskId blocking;               // the last exchange of gradients, where computation waits for it
    std::vector<TaskId> exchanged;                                      // gradients
    std::vector<TaskId> taken_away;                                     // gradients, to the host
    std::map<std::int64_t, std::int64_t> backward_left;                 // by stage: passes
    std::map<std::pair<std::int64_t, std::int64_t>, TaskId> offloaded;  // by stage, micro-batch
    std::map<std::tuple<std::int64_t, std::int64_t, std::size_t>, TaskId> offloaded_pieces;
  };
  // A device and its neighbours in its pipeline rank: the setup and the machine as they see them.
  struct Place {
    TrainingSetup setup;
    System system;
  };
  // Tasks of one computation. Without launch costs, all three are one task or invalid.
  struct Computed {
    TaskId issue, first, last;
  };
  // An exchange of gradients, which begins when the gradients of all replicas are there.
  struct Exchange {
    std::int64_t stage;
    std::size_t piece;  // and part: twice the piece's number, and one more for experts
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
  static std::vector<Place> places(const System& system, const TrainingSetup& setup);

  // The passes of a device (step_builder.cc).
  base::Status add_passes(std::uint32_t device);
  void find_what_is_needed_soon();
  void add_pass(std::uint32_t device, const PipelinePass& pass);
  Computed add_compute(std::uint32_t device, const KernelTime& time, std::vector<TaskId> after,
                       StepTask what);
  void receive(std::uint32_t device, const PipelinePass& pass, const Computed& computed);
  const CollectiveTime& transfer_between(std::int64_t from, std::int64_t to);  // pipeline ranks
  void send(std::uint32_t device, const PipelinePass& pass, TaskId after);
  void keep_activations(std::uint32_t device, const PipelinePass& pass, TaskId first, TaskId last);
  void keep_piece(std::uint32_t device, const PipelinePass& pass, std::size_t piece, TaskId first,
                  TaskId last);
  void change_memory(std::uint32_t device, TaskId task, bool at_start, MemoryKind kind,
                     double bytes);
  // Of a device's part of the host.
  void change_host_memory(std::uint32_t device, TaskId task, bool at_start, double bytes);
  void deliver_messages();

  // What surrounds them (step_exchanges.cc).
  // Parameters without experts, and experts: different ranks divide them.
  struct DividedPart {
    double parameters;
    RankGroup group;
  };
  std::array<DividedPart, 2> divided_parts(const TrainingSetup& setup, double parameters,
                                           double expert_parameters) const;
  struct Gathering {
    TaskId first;
    std::vector<TaskId> ends;  // of each part; empty where all weights are there
    double parameters = 0;
  };
  Gathering bring_weights(std::uint32_t device, const StagePiece& piece, const PipelinePass& pass);
  // Parameters of a piece that this device holds, or its host for it.
  double own_parameters(std::uint32_t device, const StagePiece& piece) const;
  // Gradients that are offloaded leave as soon as their piece has made them, and their sums are
  // divided. EXCHANGED: how many exchanges there were before the piece's.
  void take_gradients_away(std::uint32_t device, const StagePiece& piece, const PipelinePass& pass,
                           const Computed& computed, std::size_t exchanged);
  // Of the piece before the last: a device has room for those of two.
  void wait_for_gradients(std::uint32_t device, std::vector<TaskId>& after) const;
  // Of gradients; one or two exchanges.
  void exchange_gradients(std::uint32_t device, std::int64_t stage, std::size_t piece,
                          std::int32_t micro_batch, double parameters, double expert_parameters,
                          TaskId ready);
  TaskId fetch_activations(std::uint32_t device, const PipelinePass& pass);
  // Of one piece, where it has left.
  std::optional<TaskId> fetch_piece(std::uint32_t device, const PipelinePass& pass,
                                    std::size_t piece);
  void exchange_piece(std::uint32_t device, const PipelinePass& pass, std::size_t piece,
                      TaskId after);
  void exchange_stages(std::uint32_t device);
  void join_replicas();
  void add_end_of_step();
  TaskId exchange_embedding(std::int64_t replica);
  // Of a step, on each device: the least over kinds of devices.
  double common_host_s() const;
  // What all devices do at the same time, after READY. Returns its end.
  TaskId add_common_end(TaskId ready);
  void add_optimizer(std::uint32_t device, TaskId ready);
  TaskId add_flow(std::uint32_t device, StepStream stream, const CollectiveTime& time,
                  std::vector<TaskId> after, StepTask what);
  TaskId add_copy(std::uint32_t device, bool to_host, double bytes, double rate,
                  std::vector<TaskId> after, StepTask what);
  // Of what a pass reads or leaves on the host, or on its disks.
  TaskId add_copy_of_pass(std::uint32_t device, bool to_host, double bytes,
                          std::vector<TaskId> after, const PipelinePass& pass);

  const Place& place_of(std::uint32_t device) const {
    return places_[places_.size() == 1 ? 0
                                       : static_cast<std::size_t>(device) %
                                             static_cast<std::size_t>(schedule_.ranks)];
  }
  const TrainingSetup& setup_of(std::uint32_t device) const { return place_of(device).setup; }

  // Of a stage's weights but its experts, on different groups.
  std::int64_t copies(const TrainingSetup& setup) const;
  bool has_copies(const TrainingSetup& setup) const;  // of any weights
  // Whether a piece's weights come from other ranks or from the host when it is computed.
  bool brings_weights(std::uint32_t device) const {
    return offloads_weights(options_.offload) || (zero_ == 3 && has_copies(setup_of(device)));
  }
  bool exchanges_gradients(const TrainingSetup& setup) const {
    return trains() && has_copies(setup);
  }
  // Under ZeRO-2 and 3, gradients are divided after each backward pass, which waits for it unless
  // exchanges overlap.
  bool exchanges_block() const { return zero_ >= 2 && !setup_.overlap_gradients; }
  bool exchanges_early(const TrainingSetup& setup) const {
    return exchanges_gradients(setup) && (setup_.overlap_gradients || zero_ >= 2);
  }
  bool releases_activations(const PipelinePass& pass) const {
    return pass.kind == PassKind::kBackward || pass.kind == PassKind::kWeights ||
           (setup_.frozen && pass.kind == PassKind::kInputs);
  }
  // Whether the pass's activations leave piece by piece, or not at all.
  bool offloads_pieces(const PipelinePass& pass) const {
    return needed_soon_.contains({pass.stage, pass.micro_batch});
  }
  bool trains() const { return !setup_.frozen && !options_.forward_only; }
  bool launches_cost(std::uint32_t device) const;

  const System& system_;
  const TrainingSetup& setup_;
  const StepOptions& options_;
  const PipelineSchedule& schedule_;
  const std::int64_t replicas_;
  const std::int64_t zero_;
  const std::vector<Place> places_;  // by pipeline rank; one where all are equal
  std::vector<StageCosts> costs_;    // by stage
  // Stages and micro-batches whose activations the backward pass reads so soon that they cannot
  // leave as a whole; with offloaded activations.
  std::set<std::pair<std::int64_t, std::int64_t>> needed_soon_;
  StepProgram program_;
  std::vector<Progress> progress_;                // by device
  std::vector<std::vector<Exchange>> exchanges_;  // by device
  std::map<MessageKey, TaskId> arrivals_;
  std::map<std::pair<std::int64_t, std::int64_t>, CollectiveTime> transfers_;
  std::vector<std::pair<TaskId, MessageKey>> receivers_;
};

}  // namespace egret::parallel
