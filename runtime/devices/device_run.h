// SPDX-License-Identifier: Apache-2.0
// One rank's part of a plan on its GPU. Values stay there from the first segment to the last.
// Collectives go through NCCL on a stream of their own, so segments that do not need their results
// run in parallel. Copies between host and device have a third stream: an input is copied while
// segments that do not read it compute, and an output leaves while later segments compute.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/cuda_backend.h"
#include "base/status.h"
#include "runtime/devices/device_groups.h"
#include "runtime/nccl/moves.h"
#include "runtime/ranks/rank_program.h"

namespace egret::runtime {

class DeviceRun {
 public:
  // Errors: those of compiling; limit_hit when memory is short.
  static base::Result<std::unique_ptr<DeviceRun>> make(
      parallel::PlacedGraph placed, RankProgram program, const backends::Backend& backend,
      std::shared_ptr<backends::cuda::Device> device, AxisCommunicators communicators,
      backends::Precision precision, double time_limit_s);
  ~DeviceRun();

  // As run_rank(): inputs and outputs are this rank's parts. Errors: bad_input where data make a
  // kernel fail; rank_failed, with the collective named, when ranks do not answer. ENDS_ON_STOP: as
  // in MpiWorld::exchange().
  base::Result<std::vector<ir::Tensor>> run(std::span<const ir::Tensor> inputs,
                                            bool ends_on_stop = true);

 private:
  struct DeviceCollective {
    std::size_t node = 0;
    nccl::Moves moves;
    backends::cuda::Owned<backends::cuda::Event> done;
  };
  struct Stage {
    std::unique_ptr<backends::cuda::CudaPlan> plan;  // nullptr: no operators
    backends::cuda::Owned<backends::cuda::Event> done;
    std::vector<DeviceCollective> collectives;
    std::vector<std::size_t> first_read;  // inputs that no earlier stage reads
    std::vector<std::size_t> awaited;     // inputs that no earlier segment reads
  };

  DeviceRun(parallel::PlacedGraph placed, RankProgram program,
            std::shared_ptr<backends::cuda::Device> device, AxisCommunicators communicators,
            double time_limit_s);

  base::Status allocate();
  base::Status copy_constants();
  base::Status copy_constant(std::size_t node, const ir::Tensor& block);
  base::Status compile(const backends::Backend& backend, backends::Precision precision);
  void find_first_reads();
  base::Status enqueue(std::span<const ir::Tensor> inputs);
  base::Status copy_inputs(std::span<const std::size_t> nodes, std::span<const ir::Tensor> inputs);
  base::Status enqueue_stage(std::size_t stage);
  base::Status enqueue_collective(DeviceCollective& collective);
  base::Status wait_for(const backends::cuda::Event& event);
  base::Status collect(std::vector<ir::Tensor>& outputs);
  base::Status copy_outputs_of(std::size_t node, std::vector<ir::Tensor>& outputs);
  base::Status after(backends::cuda::Stream stream, const backends::cuda::Event& event) const;
  base::Status mark(const backends::cuda::Event& event, backends::cuda::Stream stream) const;
  base::Status named(base::Status status, std::size_t node) const;
  backends::cuda::Event ready(std::size_t node) const;  // nullptr: available from the start

  const parallel::PlacedGraph placed_;
  const RankProgram program_;
  std::shared_ptr<backends::cuda::Device> device_;
  AxisCommunicators communicators_;
  double time_limit_s_;
  bool ends_on_stop_ = true;
  std::vector<bool> held_;            // by node: whether its value has memory
  std::vector<int> stage_of_;         // by node: the stage that makes it; -1: none
  std::vector<std::size_t> done_by_;  // by node: the collective's index in its stage
  backends::cuda::Owned<backends::cuda::DevicePointer> memory_;
  std::vector<backends::cuda::DevicePointer> values_;  // by node
  backends::cuda::DevicePointer outgoing_ = 0, incoming_ = 0;
  backends::cuda::Owned<backends::cuda::Stream> exchanges_;  // the stream of collectives
  backends::cuda::Owned<backends::cuda::Stream> copies_;     // that of inputs and outputs
  std::vector<std::size_t> place_;                           // by node: its place among the inputs
  std::vector<std::size_t> unread_;                          // inputs that are outputs only
  std::vector<backends::cuda::Owned<backends::cuda::Event>> inputs_there_;  // by place
  std::vector<Stage> stages_;
};

}  // namespace egret::runtime
