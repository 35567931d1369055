// SPDX-License-Identifier: Apache-2.0
// The step of a pipeline that runtime/pipeline/ executes, from the times of its passes.
//
// Passes of stages that ranks share include their collectives, as their ranks time them together.
// What stages with a weight in different blocks send each other is left out.
//
// Each rank is a device: its passes are tasks of one lane, its messages flows over its own link.
// Ranks that share cores share them evenly at any time, as flows share a link. Without overlap,
// messages move while their receiver waits for them.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "parallel/pipeline/pipeline_layout.h"
#include "parallel/simulator/event_simulator.h"

namespace egret::parallel {

struct MessageTime {
  double bytes = 0;
  double latency_s = 0;  // from the call that sends it until it is here, beyond bytes / rate
  double sender_s = 0;   // of that call: the sender's processor hands it to the network
};

// Linear between sizes, constant outside; 0 for none. `times`: by size, ascending.
MessageTime time_of(std::span<const MessageTime> times, double bytes);

// Of a byte of gradients, by a rank's processor.
struct SumSeconds {
  double copied = 0, added = 0;
};

struct PipelineCosts {
  std::vector<std::array<double, 4>> stages;  // seconds, by stage and PassKind
  std::vector<double> update_s;               // by pipeline rank
  std::vector<MessageTime> messages;          // by size, ascending
  double bytes_per_second = 1e9;              // that a rank sends
  SumSeconds sums;
  double cores = 0;                 // of a host, which its ranks share; 0: each has its own
  std::int64_t ranks_per_host = 0;  // one host after the other; 0: all are on one
  bool overlap = true;
  // Of passes while their rank sends. Ranks that share cores leave it out.
  double overlap_slowdown = 0;
};

struct PipelinePrediction {
  double seconds = 0;
  double busiest_s = 0;  // of the rank with the most: passes, calls that send, the update
  std::size_t tasks = 0;

  // The part of the step in which the busiest rank waits.
  double idle() const { return seconds > 0 ? 1 - busiest_s / seconds : 0; }
};

// Errors: internal, where passes wait for each other; limit, on base::stop_requested().
base::Result<PipelinePrediction> simulate_pipeline(const PipelineLayout& layout,
                                                   const PipelineCosts& costs);

}  // namespace egret::parallel
