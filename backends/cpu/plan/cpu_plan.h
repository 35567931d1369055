// SPDX-License-Identifier: Apache-2.0
// The plan of the CPU backend: steps over one arena.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/plan/guarded_buffers.h"
#include "backends/cpu/plan/plan_builder.h"
#include "backends/cpu/plan/step.h"

namespace egret::backends::cpu {

class CpuPlan : public ExecutablePlan {
 public:
  // Plans the arena and drops weights that no step reads.
  static base::Result<std::unique_ptr<ExecutablePlan>> make(
      const ir::Graph& graph, const CompileOptions& options, int threads,
      std::vector<Buffer> buffers, std::vector<std::unique_ptr<Step>> steps, PlanReport report);

  PlanReport report() const override;
  void stop_profiling() override { profile_ = false; }

 protected:
  base::Status execute(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs) override;

 private:
  // A buffer inside an input or output of the graph, at an offset.
  struct External {
    std::size_t buffer;
    std::size_t index;
    std::int64_t offset;
    std::int64_t slice_bytes;  // from one slice to the next; all of one slice
  };

  CpuPlan(const ir::Graph& graph, std::int64_t slices)
      : ExecutablePlan(graph, slices), slices_(slices) {}
  // Gives each buffer memory of its own (CompileOptions::guarded_memory).
  void guard(std::span<const Buffer> buffers);
  base::Status run_steps(const Addresses& addresses);
  // One slice, in guarded memory: inputs are copied in, outputs are copied out.
  base::Status run_guarded(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs,
                           std::int64_t slice);

  std::int64_t slices_;
  int threads_ = 1;
  bool profile_ = false;
  ir::Tensor arena_;
  std::vector<ir::Tensor> weights_;
  // With CompileOptions::guarded_memory: inputs and weights; what steps write.
  struct Guarded {
    GuardedBuffers read, written;
  };
  std::unique_ptr<Guarded> guarded_;
  std::vector<std::byte*> addresses_;  // by buffer
  std::vector<External> from_inputs_;
  std::vector<External> from_outputs_;
  std::vector<std::unique_ptr<Step>> steps_;
  PlanReport report_;
  // Of profiled runs, by step.
  struct StepTime {
    double total_s = 0;
    double last_start_s = 0;  // since the run began
    double last_s = 0;
  };
  std::vector<StepTime> times_;
  int profiled_runs_ = 0;
};

}  // namespace egret::backends::cpu
