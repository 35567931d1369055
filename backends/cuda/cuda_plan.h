// SPDX-License-Identifier: Apache-2.0
// A program on a GPU: one block of memory for all values, emitted kernels, library steps, and the
// whole recorded once as a CUDA graph.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/backend.h"
#include "backends/codegen/program.h"
#include "backends/cuda/api/device.h"
#include "backends/cuda/api/kernel_modules.h"
#include "backends/cuda/steps/library_step.h"
#include "backends/cuda/stream_schedule.h"

namespace egret::backends::cuda {

// Device memory of the caller that holds a plan's inputs and outputs.
struct BoundMemory {
  std::vector<DevicePointer> inputs, outputs;
};

// The emitted kernels of a program and of its library steps.
std::vector<const codegen::KernelSource*> kernels_of(const codegen::Program& program,
                                                     std::span<const LibraryRegion> library_steps);

class CudaPlan : public Plan {
 public:
  // `library_steps` compute the program's steps without a kernel. Errors: unsupported for a step
  // that neither a kernel nor a library step computes; limit_hit when memory is short;
  // internal_error for kernels that do not compile. With `bound`, the plan runs by launch() and not
  // by run().
  static base::Result<std::unique_ptr<CudaPlan>> make(
      const ir::Graph& original, codegen::Program program, std::shared_ptr<LibraryHandles> handles,
      std::vector<LibraryRegion> library_steps, const PlanOptions& options,
      std::shared_ptr<Device> device, std::optional<BoundMemory> bound = std::nullopt);
  ~CudaPlan() override;

  PlanReport report() const override;
  double last_device_s() const override { return last_device_s_; }
  void stop_profiling() override { profile_ = false; }

  // A library refused a step with all its algorithms: this plan cannot run, and the next one avoids
  // the step.
  bool is_refused() const { return is_refused_; }
  Contested contested() const;  // the contested kinds among its steps
  int streams() const { return schedule_.streams; }
  // Enqueues a run on the device's stream without waiting. The first run launches directly, because
  // libraries may prepare things that cannot be recorded; later runs launch the recorded graph.
  base::Status launch();
  // Seconds of a run on the device, with arbitrary contents: the least of a few runs.
  base::Result<double> measure();
  // Waits for the stream and returns failures that data caused. Errors: bad_input.
  base::Status failure() const;

 protected:
  base::Status execute(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs) override;

 private:
  CudaPlan(const ir::Graph& original, codegen::Program program,
           std::shared_ptr<LibraryHandles> handles, std::vector<LibraryRegion> library_steps,
           const PlanOptions& options, std::shared_ptr<Device> device,
           std::optional<BoundMemory> bound);

  void name_steps();  // in the report, by the chosen candidates
  base::Status allocate();
  base::Status allocate_workspace();  // for each stream
  base::Status load_kernels();
  // Chooses the algorithm known for an equal step, else the fastest that runs, or without search
  // the first that runs.
  base::Status choose_algorithms(bool search);
  base::Result<int> fastest_candidate(std::size_t step);
  base::Result<int> first_candidate(std::size_t step);
  // Runs the chosen algorithm; false where the library refuses it or the result is wrong.
  base::Result<bool> can_run(std::size_t step);
  TrialMemory trial_memory(std::size_t step) const;
  // Records `runs` runs of the step in place as one launch, because the host's calls may take
  // longer than the kernels. The contents are arbitrary.
  base::Result<Owned<GraphExec>> record_runs(std::size_t step, int runs);
  DevicePointer address(ir::NodeId id) const;
  StepMemory memory_of(std::size_t step) const;
  base::Status make_streams(int most);
  Stream stream(int number) const;
  base::Status enqueue_step(std::size_t step, int stream = 0);
  base::Status enqueue_steps();  // on all streams, from the first and back to it
  bool may_fail() const;         // some kernel can write a failure word
  base::Status clear_failures() const;
  base::Status enqueue_all();  // all steps, outputs copied
  base::Status time_steps();
  base::Status record_profile();
  base::Status run_profiled();
  base::Status launch_timed(GraphExec graph);
  base::Result<double> seconds_of(GraphExec graph);  // launched and awaited
  // Between the two events around the last launch_timed(), once the stream has done it.
  std::optional<double> timed_seconds() const;

  codegen::Program program_;
  std::shared_ptr<Device> device_;
  std::optional<BoundMemory> bound_;
  PlanReport report_;
  bool profile_;
  std::shared_ptr<LibraryHandles> handles_;
  std::vector<LibraryRegion> library_steps_;
  std::vector<LibraryStep*> library_step_of_;  // by step; nullptr: a kernel
  std::vector<Function> functions_;            // by step; nullptr: a library step
  KernelModules modules_;
  Owned<DevicePointer> memory_;
  // Start addresses in the memory: values by node, outputs, a failure word for each step.
  std::vector<DevicePointer> inputs_, outputs_, constants_;
  DevicePointer arena_ = 0, failures_ = 0;
  Owned<DevicePointer> workspaces_;  // one after the other, by stream
  std::size_t workspace_bytes_ = 0;  // of each
  bool is_refused_ = false;
  bool launched_ = false;
  StreamSchedule schedule_;
  std::vector<Owned<Stream>> streams_;  // without the first, which is the device's
  std::vector<Owned<Event>> done_;      // by step; only steps that others wait for
  Owned<Event> begun_;
  Owned<GraphExec> recorded_;
  Owned<Event> before_, after_;  // a timed launch
  Owned<GraphExec> profiled_;
  std::vector<Owned<Event>> marks_;     // between its steps
  std::vector<double> device_seconds_;  // of its launches
  double last_device_s_ = 0;            // of the last run, if it launched the recorded graph
};

}  // namespace egret::backends::cuda
