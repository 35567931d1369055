// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/dnn_step.h"

#include <algorithm>
#include <utility>

namespace egret::backends::cuda {
namespace {

constexpr std::size_t kMostPlans = 12;

}  // namespace

// Equal descriptions share their plans, since compiling plans is what takes time.
std::shared_ptr<Dnn::Plans> Dnn::plans(std::unique_ptr<DnnOperations> operations, ir::DType type) {
  std::shared_ptr<Plans>& known = known_[operations->description()];
  if (known == nullptr) {
    known = std::make_shared<Plans>();
    known->operations = std::move(operations);
    known->wish = {type, precision_, kWorkspace};
    known->possible =
        known->operations->has_engines({.handle = handles_.front().get()}, known->wish);
  }
  return known;
}

// Makes the plans again only if more are wanted than were made. The lock is per description, so
// that different ones are prepared in parallel, each with a handle of its own.
Dnn::Made Dnn::make(Plans& plans, bool several) {
  const std::size_t wanted = several ? kMostPlans : 1;
  const std::lock_guard lock(plans.making);
  if (plans.possible && plans.wanted < wanted) {
    plans.made = {};
    if (DnnHandle handle = take_handle(); handle != nullptr) {
      plans.operations->restart();
      const auto made = plans.operations->plans({.handle = handle}, plans.wish, wanted);
      plans.made = {handle, {made.begin(), made.end()}};
      plans.wanted = wanted;
      give_back(handle);
    }
    plans.possible = !plans.made.plans.empty();
  }
  Made answer = plans.made;
  answer.plans.resize(std::min(answer.plans.size(), wanted));
  return answer;
}

// One thread uses a handle at a time. Handles are slow to open, so free ones are used again.
DnnHandle Dnn::take_handle() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    DnnHandle made = nullptr;
    if (functions_.create(&made) != 0) return nullptr;
    handles_.emplace_back(made, functions_.destroy);
    return made;
  }
  DnnHandle handle = free_.back();
  free_.pop_back();
  return handle;
}

void Dnn::give_back(DnnHandle handle) {
  const std::lock_guard lock(mutex_);
  free_.push_back(handle);
}

std::unique_ptr<LibraryStep> DnnStep::make(Dnn& dnn, Kind kind, ir::DType type,
                                           const Describe& describe) {
  auto operations = std::make_unique<DnnOperations>(dnn.functions());
  DnnArguments arguments = describe(*operations);
  auto plans = dnn.plans(std::move(operations), type);
  if (!plans->possible) return nullptr;
  return std::unique_ptr<LibraryStep>(
      new DnnStep(dnn, std::move(kind), std::move(plans), std::move(arguments)));
}

std::size_t DnnStep::workspace() const {
  std::size_t most = 0;
  for (const DnnOperations::Plan& plan : made_.plans) most = std::max(most, plan.workspace);
  return most;
}

base::Status DnnStep::enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                              DevicePointer workspace, Stream stream) const {
  if (dnn_.functions().set_stream(made_.handle, stream) != 0)
    return base::unavailable("cuDNN does not accept another stream");
  const auto at = [](DevicePointer pointer) { return reinterpret_cast<void*>(pointer); };
  std::vector<std::int64_t> ids{arguments_.output};
  std::vector<void*> pointers{at(output)};
  for (const DnnArguments::Input& input : arguments_.inputs) {
    ids.push_back(input.id);
    pointers.push_back(at(inputs[static_cast<std::size_t>(input.input)] +
                          static_cast<DevicePointer>(input.offset)));
  }
  // Factors by value lie in the host's memory.
  std::vector<DnnArguments::Scalar> scalars = arguments_.scalars;
  for (DnnArguments::Scalar& scalar : scalars) {
    ids.push_back(scalar.id);
    pointers.push_back(&scalar.value);
  }
  return run_dnn_plan(dnn_.functions(), made_.handle, made_.plans[chosen_].plan, ids, pointers,
                      at(workspace));
}

}  // namespace egret::backends::cuda
