// SPDX-License-Identifier: Apache-2.0
// The tasks of one step of a transformer on a system, for the event simulator.
//
// Ranks that differ only in their place in a tensor, context or data group do the same, so one
// device of the simulator stands for all ranks of a pipeline stage (of each data-parallel replica
// with each_replica). Exchanges of tensor parallelism are part of a pass. Sends between stages,
// exchanges of gradients and weights, and copies to the host are flows over links of the device.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/pipeline/pipeline_schedule.h"
#include "parallel/simulator/step_options.h"
#include "parallel/simulator/task_graph.h"
#include "parallel/system/system.h"
#include "parallel/transformer/kernel_list.h"

namespace egret::parallel {

enum class StepPart : unsigned char {
  kForward,
  kBackward,
  kOptimizer,
  kHost,       // issues kernels, or works between steps
  kTransfer,   // between stages
  kGradients,  // exchange of gradients
  kWeights,    // gathering of weights
  kOffload,    // copies between device and host
  kJoin        // no work
};
inline constexpr std::array<std::string_view, 9> kStepPartNames = {
    "forward",   "backward", "optimizer", "host", "transfer",
    "gradients", "weights",  "offload",   "join"};

enum class MemoryKind : unsigned char {
  kWeights,
  kGradients,
  kOptimizer,
  kActivations,
  kWorkspace,  // of a recomputed layer
  kFragmentation
};
inline constexpr std::array<std::string_view, 6> kMemoryKindNames = {
    "weights", "gradients", "optimizer", "activations", "workspace", "fragmentation"};
using MemoryByKind = std::array<double, 6>;

// Streams of a device.
enum class StepStream : unsigned char {
  kCompute,
  kSendForward,
  kSendBackward,
  kExchange,  // of gradients, and of weights after the optimizer
  kGather,    // of weights before they are needed
  kCopyOut,
  kCopyIn,
  kHost,
  kLaunch,  // the last kernels of a pass after their issue
  kJoin
};
inline constexpr std::array<std::string_view, 10> kStepStreamNames = {
    "compute",      "send forward",   "send backward", "exchange", "gather",
    "copy to host", "copy from host", "host",          "launch",   "join"};

struct StepTask {
  StepPart part = StepPart::kJoin;
  std::int32_t micro_batch = -1;  // -1: of the step
  std::int32_t stage = -1;
  std::int32_t receiver = -1;  // device of a transfer
  // All devices do the same at the same time; one task on a lane of device 0 stands for them.
  bool everywhere = false;
};

// At the start or the end of a task.
struct MemoryChange {
  TaskId task;
  bool at_start;
  MemoryKind kind;
  double bytes;
};

struct StepDevice {
  std::int64_t replica = 0;
  std::int64_t rank = 0;  // in the pipeline
  double parameters = 0;
  double expert_parameters = 0;  // of these, of experts
  MemoryByKind fixed_bytes{};
  std::vector<MemoryChange> memory;
  double fixed_host_bytes = 0;
  std::vector<MemoryChange> host_memory;
  SecondsByKind kernel_s{};  // by KernelKind, of all passes
};

struct StepProgram {
  TaskGraph graph;
  std::vector<StepTask> tasks;  // beside those of the graph
  std::vector<StepDevice> devices;
  std::vector<std::string> link_names;
};

// SETUP and OPTIONS are checked. Errors: usage, where the schedule does not suit the numbers;
// limit, beyond kMostStepTasks.
inline constexpr std::size_t kMostStepTasks = 1'500'000;
base::Result<StepProgram> make_step_program(const System& system, const TrainingSetup& setup,
                                            const StepOptions& options);

}  // namespace egret::parallel
