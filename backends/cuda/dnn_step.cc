// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/dnn_step.h"

#include <algorithm>
#include <utility>

namespace egret::backends::cuda {
namespace {

constexpr std::size_t kMostPlans = 4;

}  // namespace

std::shared_ptr<DnnPlans> Dnn::plans(std::unique_ptr<DnnOperations> operations, ir::DType type) {
  std::shared_ptr<DnnPlans>& known = known_[operations->description()];
  if (known == nullptr) {
    known =
        std::make_shared<DnnPlans>(std::move(operations), DnnWish{type, precision_, kWorkspace});
    known->plans = known->operations->plans({.handle = handle()}, known->wish, 1);
  }
  return known;
}

void Dnn::find_more(DnnPlans& plans) const {
  plans.plans = plans.operations->plans({.handle = handle()}, plans.wish, kMostPlans);
}

std::unique_ptr<LibraryStep> DnnStep::make(Dnn& dnn, Kind kind, ir::DType type,
                                           const Describe& describe) {
  auto operations = std::make_unique<DnnOperations>(dnn.functions());
  DnnArguments arguments = describe(*operations);
  auto made = dnn.plans(std::move(operations), type);
  if (made->plans.empty()) return nullptr;
  return std::unique_ptr<LibraryStep>(
      new DnnStep(dnn, kind, std::move(made), std::move(arguments)));
}

std::size_t DnnStep::workspace() const {
  std::size_t most = 0;
  for (const DnnOperations::Plan& plan : made_->plans) most = std::max(most, plan.workspace);
  return most;
}

base::Status DnnStep::enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                              DevicePointer workspace, Stream stream) const {
  if (dnn_.functions().set_stream(dnn_.handle(), stream) != 0)
    return base::unavailable("cuDNN takes no other stream");
  const auto at = [](DevicePointer pointer) { return reinterpret_cast<void*>(pointer); };
  std::vector<std::int64_t> ids{arguments_.output};
  std::vector<void*> pointers{at(output)};
  for (const DnnArguments::Input& input : arguments_.inputs) {
    ids.push_back(input.id);
    pointers.push_back(at(inputs[static_cast<std::size_t>(input.input)] +
                          static_cast<DevicePointer>(input.offset)));
  }
  std::vector<DnnArguments::Scalar> scalars = arguments_.scalars;
  for (DnnArguments::Scalar& scalar : scalars) {
    ids.push_back(scalar.id);
    pointers.push_back(&scalar.value);
  }
  return run_dnn_plan(dnn_.functions(), dnn_.handle(), made_->plans[chosen_].plan, ids, pointers,
                      at(workspace));
}

}  // namespace egret::backends::cuda
