// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/dnn_step.h"

#include <algorithm>
#include <utility>

namespace egret::backends::cuda {
namespace {

constexpr std::size_t kMostPlans = 6;

}  // namespace

bool DnnStep::prepare(DnnArguments arguments, ir::DType type, Precision precision) {
  arguments_ = std::move(arguments);
  plans_ = operations_.plans({.handle = handle_}, type, precision, kWorkspace, kMostPlans);
  return !plans_.empty();
}

std::size_t DnnStep::workspace() const {
  std::size_t most = 0;
  for (const DnnOperations::Plan& plan : plans_) most = std::max(most, plan.workspace);
  return most;
}

base::Status DnnStep::enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                              DevicePointer workspace, Stream stream) const {
  if (dnn_.set_stream(handle_, stream) != 0)
    return base::unavailable("cuDNN takes no other stream");
  const auto at = [](DevicePointer pointer) { return reinterpret_cast<void*>(pointer); };
  std::vector<std::int64_t> ids{arguments_.output};
  std::vector<void*> pointers{at(output)};
  for (const DnnArguments::Input& input : arguments_.inputs) {
    ids.push_back(input.id);
    pointers.push_back(at(inputs[static_cast<std::size_t>(input.input)] +
                          static_cast<DevicePointer>(input.offset)));
  }
  float scalar = 0;
  if (arguments_.scalar) {
    scalar = arguments_.scalar->value;
    ids.push_back(arguments_.scalar->id);
    pointers.push_back(&scalar);
  }
  return run_dnn_plan(dnn_, handle_, plans_[chosen_].plan, ids, pointers, at(workspace));
}

}  // namespace egret::backends::cuda
