// SPDX-License-Identifier: Apache-2.0
// The tasks of a training step: one device of the simulator for each rank of the pipeline.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "parallel/simulator/step_simulation.h"

namespace egret::parallel {

// A change of the activations that a device holds, at the start or the end of a task.
struct MemoryChange {
  TaskId task;
  bool at_start;
  double bytes;
  MemoryKind kind;
};

class StepProgram {
 public:
  StepProgram(const System& system, const TrainingSetup& setup);

  const EventSimulator& simulator() const { return simulator_; }
  const std::vector<StepTask>& tasks() const { return tasks_; }
  const std::vector<MemoryChange>& memory(std::size_t stage) const { return memory_[stage]; }
  double parameters(std::size_t stage) const { return parameters_[stage]; }
  const KernelTime& kernels(std::size_t stage) const { return kernels_[stage]; }

 private:
  struct Links {  // of a device, by tier
    std::vector<LinkId> out, in;
  };
  // The passes of a chunk, and its memory.
  struct Chunk {
    KernelTime forward, backward, backward_layer, backward_ends;
    std::int64_t layers = 0;
    double kept_bytes = 0;
    double workspace_bytes = 0;
    double parameters = 0;
  };

  void price_chunks();
  void add_passes();
  void add_forward(std::size_t stage, const PipelinePass& pass);
  void add_backward(std::size_t stage, const PipelinePass& pass);
  void add_transfer(std::size_t from, std::size_t to, StepPart part, std::int64_t micro,
                    std::int64_t chunk, TaskId after, TaskId next_of);
  void add_end_of_step();
  TaskId add_exchange(std::size_t stage, std::int64_t chunk, CollectiveKind kind, double bytes,
                      RankGroup group, std::vector<TaskId> after);
  TaskId add(SimulatedTask task, StepTask what);
  SimulatedTask pass_task(std::size_t stage, const KernelTime& time) const;
  TaskId passed(bool forward, std::int64_t chunk, std::int64_t micro);
  bool overlaps_gradients() const { return setup_.overlap_gradients && exchanges_gradients(); }
  bool exchanges_gradients() const { return !setup_.frozen && setup_.data * setup_.context > 1; }
  RankGroup data_group() const { return {setup_.data * setup_.context, setup_.tensor}; }

  const System& system_;
  const TrainingSetup& setup_;
  EventSimulator simulator_;
  std::vector<StepTask> tasks_;
  std::vector<Links> links_;
  std::vector<Chunk> chunks_;
  std::vector<std::vector<MemoryChange>> memory_;
  std::vector<double> parameters_;
  std::vector<KernelTime> kernels_;
  std::vector<std::vector<TaskId>> exchanges_;  // of gradients, by stage
  std::vector<TaskId> last_backward_;           // by stage
  // Of messages between chunks: the task whose end is the arrival, or a mark that it is missing.
  std::map<std::pair<std::int64_t, std::int64_t>, TaskId> activations_, gradients_;
  std::map<std::pair<std::int64_t, std::int64_t>, TaskId> waiting_activations_, waiting_gradients_;
};

}  // namespace egret::parallel
