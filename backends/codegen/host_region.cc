// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/host_region.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/evaluate/interpreter.h"

namespace egret::backends::codegen {
namespace {

// A kernel with less work is finished before a team of threads has started.
constexpr double kWorkWorthThreads = 3e4;  // operations

}  // namespace

HostRegion::HostRegion(const ir::Graph& graph, const Region& region, std::string label)
    : label_(std::move(label)) {
  std::vector<ir::NodeId> known = region.inputs;
  // Numbers the values that the interpreter needs: the kernel's inputs, then other values read from
  // outside, then the region's own nodes in order.
  for (const ir::NodeId id : region.nodes) {
    for (const ir::NodeId input : graph.node(id).inputs) {
      if (std::ranges::find(region.nodes, input) == region.nodes.end() &&
          std::ranges::find(known, input) == known.end())
        known.push_back(input);
    }
  }
  for (const ir::NodeId id : known) types_.push_back(graph.node(id).type);
  for (const ir::NodeId id : region.nodes) {
    const ir::Node& node = graph.node(id);
    Part& part = parts_.emplace_back(Part{node.op, node.attrs, {}});
    for (const ir::NodeId input : node.inputs)
      part.operands.push_back(
          static_cast<std::size_t>(std::ranges::find(known, input) - known.begin()));
    known.push_back(id);
  }
  if (!region.kernel.ok()) return;
  kernel_ = region.kernel->name;
  const KernelSource& kernel = *region.kernel;
  phases_ = {kernel.packing_steps, kernel.packing_steps + kernel.partial_steps, kernel.steps};
  shared_bytes_ = kernel.shared_memory;
  operations_ = region.kernel->work.operations;
}

bool HostRegion::load(std::shared_ptr<const HostLibrary> library) {
  if (!kernel_.empty()) function_ = reinterpret_cast<Function>(library->find(kernel_));
  if (function_ != nullptr) library_ = std::move(library);
  return function_ != nullptr;
}

base::Status HostRegion::run(std::span<const void* const> inputs, void* output, int threads) {
  if (function_ == nullptr) return interpret(inputs, output);
  const int failure = call(inputs, output, threads);
  if (failure == static_cast<int>(KernelFailure::kNotFinite)) return interpret(inputs, output);
  return failure_status(failure, label_);
}

int HostRegion::call(std::span<const void* const> inputs, void* output, int threads) {
  std::vector<const void*> in(inputs.begin(), inputs.end());
  if (shared_bytes_ > 0) {
    constexpr std::size_t kLine = 64;
    if (shared_.empty()) shared_.resize(static_cast<std::size_t>(shared_bytes_) + kLine);
    const auto at = reinterpret_cast<std::uintptr_t>(shared_.data());
    in.push_back(shared_.data() + (kLine - at % kLine) % kLine);
  }
  int failure = 0;
  std::int64_t first = has_packed_ ? phases_[0] : 0;
  for (const std::int64_t end : phases_) {
    if (end > first) failure = std::max(failure, call(in, output, threads, first, end));
    first = std::max(first, end);
  }
  has_packed_ = has_packed_ || failure == 0;
  return failure;
}

// More parts than threads even out parts of unequal cost. Any failed part makes the run fail.
int HostRegion::call(std::span<const void* const> in, void* output, int threads, std::int64_t first,
                     std::int64_t end) const {
  const std::int64_t steps = end - first;
  const std::int64_t parts =
      operations_ < kWorkWorthThreads || threads <= 1
          ? 1
          : std::clamp<std::int64_t>(steps, 1, static_cast<std::int64_t>(threads) * 4);
  int failure = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (parts > 1)
  for (std::int64_t part = 0; part < parts; ++part) {
    int own = 0;
    function_(in.data(), output, &own, first + steps * part / parts,
              first + steps * (part + 1) / parts);
    if (own != 0) {
#pragma omp atomic write
      failure = own;
    }
  }
  return failure;
}

// Evaluates the region's nodes one by one on copies of the inputs.
base::Status HostRegion::interpret(std::span<const void* const> inputs, void* output) {
  if (values_.empty()) {
    for (const ir::TensorType& type : types_) values_.emplace_back(type);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(values_[i].bytes());
    if (bytes > 0) std::memcpy(values_[i].mutable_data().data(), inputs[i], bytes);
  }
  std::vector<ir::Tensor> values = values_;
  for (const Part& part : parts_) {
    std::vector<ir::Tensor> operands;
    for (const std::size_t operand : part.operands) operands.push_back(values[operand]);
    EGRET_ASSIGN_OR_RETURN(ir::Tensor value, ir::evaluate(*part.op, part.attrs, operands,
                                                          {.precision = ir::Precision::kF32}));
    values.push_back(std::move(value));
  }
  const ir::Tensor& result = values.back();
  if (result.bytes() > 0)
    std::memcpy(output, result.data().data(), static_cast<std::size_t>(result.bytes()));
  return base::ok();
}

}  // namespace egret::backends::codegen
