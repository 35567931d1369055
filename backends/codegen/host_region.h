// SPDX-License-Identifier: Apache-2.0
// A region of a graph on the host: the compiled function of its kernel or, without one, the
// interpreter node by node. Not safe for concurrent runs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/codegen/host_compiler.h"
#include "backends/codegen/regions.h"
#include "base/status.h"
#include "ir/core/tensor.h"
#include "ir/graph/graph.h"

namespace egret::backends::codegen {

// Not safe for concurrent runs. Constants among the inputs must have the same values in all runs.
class HostRegion {
 public:
  // Copies what it needs of both. Errors of runs name `label`.
  HostRegion(const ir::Graph& graph, const Region& region, std::string label);

  // Switches to the compiled function. False, and the interpreter stays, where the library lacks
  // it.
  bool load(std::shared_ptr<const HostLibrary> library);
  bool is_loaded() const { return function_ != nullptr; }

  // `inputs` are the values of Region::inputs, row-major as `output` is, which overlaps with none.
  // Errors: bad_input for what the data causes.
  base::Status run(std::span<const void* const> inputs, void* output, int threads);

 private:
  using Function = void (*)(const void* const* in, void* out, int* failure, long long low,
                            long long high);
  struct Part {
    const ir::Operator* op;
    ir::Attrs attrs;
    std::vector<std::size_t> operands;  // indices of types_, then of parts
  };

  // The failure word (KernelFailure).
  int call(std::span<const void* const> inputs, void* output, int threads);
  // Steps of one range, in any order.
  int call(std::span<const void* const> in, void* output, int threads, std::int64_t first,
           std::int64_t end) const;
  base::Status interpret(std::span<const void* const> inputs, void* output);

  std::string label_;
  // types of inputs, then of operands that the kernel does not read
  std::vector<ir::TensorType> types_;
  std::vector<Part> parts_;
  std::string kernel_;  // name of its function; empty: there is none
  double operations_ = 0;
  std::shared_ptr<const HostLibrary> library_;
  Function function_ = nullptr;
  std::int64_t shared_bytes_ = 0;
  std::vector<std::byte> shared_;     // what the kernel's threads share, from a multiple of 64 on
  std::vector<std::int64_t> phases_;  // ends of the ranges of steps, one behind the other
  bool has_packed_ = false;           // the first range has run, which is for all runs
  std::vector<ir::Tensor> values_;    // the interpreter's tensors of types_; empty
};

}  // namespace egret::backends::codegen
