// SPDX-License-Identifier: Apache-2.0
// When a GPU would have done what is put on its streams: a simulation, so that what is decided by
// times can be tried where there is no GPU. Its rates are about those of an H200 as measured
// (experiments/results/gpu/); what it says of a single kernel is a guess, and its times are no
// results.
#pragma once

#include <cstdint>
#include <map>

#include "backends/cuda/api/abi.h"

namespace egret::backends {

// What a kernel does.
struct FakeWork {
  double flops = 0;
  double bytes = 0;
  std::int64_t depth = 0;  // terms that one element of the result is a sum of
  bool on_tensor_cores = false;
};

class FakeClock {
 public:
  static double seconds(const FakeWork& work);

  void run(cuda::Stream stream, const FakeWork& work) { times_[stream] += seconds(work); }
  void mark(cuda::Event event, cuda::Stream stream) { marks_[event] = times_[stream]; }
  void wait(cuda::Stream stream, cuda::Event event);
  void forget(cuda::Event event) { marks_.erase(event); }
  // A graph of launches begins once its stream has come so far, and is done when all of it is.
  void begin_graph(cuda::Stream stream);
  void end_graph(cuda::Stream stream);
  double between(cuda::Event before, cuda::Event after) { return marks_[after] - marks_[before]; }

 private:
  std::map<cuda::Stream, double> times_;
  std::map<cuda::Event, double> marks_;
};

}  // namespace egret::backends
