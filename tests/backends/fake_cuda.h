// SPDX-License-Identifier: Apache-2.0
// CUDA's libraries without a GPU: tables of functions that do on the CPU what the real ones are
// documented to do, as far as Egret asks. Device memory is the heap; the "machine code" of a kernel
// is its source, which the host compiler builds around tests/codegen/cuda_on_cpu.h; what is
// captured is kept and replayed; products and convolutions follow the descriptors they are given.
// Every call is recorded. For one thread at a time, but for NVRTC and cuDNN's descriptors.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "backends/cuda/api/libraries.h"

namespace egret::backends {

struct FakeCuda {
  // What the next calls meet.
  int devices = 1;
  std::size_t memory_bytes = std::size_t{1} << 30;
  bool lt_has_algorithms = true;
  bool dnn_has_algorithms = true;
  bool dnn_has_attention = true;  // as one operation
  std::size_t dnn_compiles = 99;  // operations at most; engines for more are proposed, and fail
  bool narrow_types = true;       // f16 and bf16 have algorithms too
  bool libraries_run = true;      // or refuse what they have proposed
  bool fragments_compile = true;  // NVRTC takes kernels on tensor cores
  bool fragments_run = true;      // emitted kernels on tensor cores do, or their launches fail
  bool dnn_moves_masks = false;   // of each head by one column more, where one mask serves all
  bool hangs = false;             // no event comes
  float milliseconds = 1;         // between any two events,
  bool faster_each_time = false;  // or a tenth fewer each time
  // Nothing is computed, a clock tells how long it would take (fake_clock.h). A library has it so
  // where FAKE_CUDA=simulates.
  bool simulates = false;

  std::vector<std::string> calls;         // names as in the *_functions.def
  std::size_t allocated = 0;              // bytes not freed yet
  int descriptors = 0;                    // of cuDNN, not destroyed yet
  int searches = 0, plans = 0;            // of its heuristics; made of what they propose
  std::set<int> compute_types;            // of products
  std::vector<std::uint64_t> algorithms;  // of products, each time they ran
  std::vector<std::int64_t> engines;      // of convolutions; 0: tensor cores, 2: plain

  std::size_t count(const std::string& call) const;
};

FakeCuda& fake_cuda();
// All functions are there; the driver is for CUDA 12.8.
const cuda::Libraries& fake_libraries();

}  // namespace egret::backends
