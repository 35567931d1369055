// SPDX-License-Identifier: Apache-2.0
// The generation of a block as tasks of the event simulator.
//
// One stream each: the accelerator, the cores, the link in both directions, the disk's reads and
// writes. Loads of the next layer's weights are cut into a piece for each batch, and run in turns
// with the batches' own loads. Buffers are counted: a layer's weights are loaded when the layer two
// before it is done, a batch's values when the batch two before it is done. With attention on the
// cores, the accelerator computes the next batch's queries before it waits for the attended values
// of this one, unless a block has only one batch.
//
// No two streams share a link, so a faster link or device never makes the block slower
// (parallel/simulator/event_simulator.h).
#pragma once

#include <string>
#include <vector>

#include "parallel/offload/whole_placement.h"
#include "parallel/simulator/event_simulator.h"

namespace egret::parallel {

struct GenerationRun {
  double seconds = 0;        // of the whole block
  double prefill_s = 0;      // until all first tokens are there
  double decode_step_s = 0;  // mean of the later tokens
  // By resource, without kChain: in the prefill, in all decoding steps, and together.
  std::array<double, 6> prefill_busy_s = {}, decode_busy_s = {}, busy_s = {};
  std::int64_t tasks = 0;         // simulated
  std::int64_t decode_steps = 0;  // simulated; the rest is like them
};

struct GenerationTrace {
  GenerationRun run;
  EventSimulator simulator;
  std::vector<std::string> task_names;
};

// At most about MOST_TASKS tasks: of more decoding steps, some stand for all, at evenly spaced
// lengths of the cache. Errors: limit, on base::stop_requested().
base::Result<GenerationTrace> simulate_generation(const HostedSystem& system,
                                                  const GenerationSetup& setup,
                                                  const BlockChoice& choice,
                                                  const WholePlacement& placement,
                                                  std::int64_t most_tasks = 40'000);

// For chrome://tracing and Perfetto.
std::string chrome_trace(const GenerationTrace& trace);

}  // namespace egret::parallel
