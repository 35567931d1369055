// SPDX-License-Identifier: Apache-2.0
#include "driver/sized_plans.h"

#include <utility>

#include "backends/named_backend.h"
#include "backends/prepare.h"
#include "driver/measure/batch_plan.h"

namespace egret::driver {
namespace {

using Plan = SizedPlans::Plan;
using ReadModel =
    std::function<base::Result<frontends::ImportedModel>(const frontends::ImportOptions&)>;

base::Result<SizedPlans> plans_of(std::vector<frontends::DeclaredInput> inputs, ReadModel read,
                                  SizedPlanOptions options) {
  EGRET_ASSIGN_OR_RETURN(const backends::Backend* backend,
                         backends::backend_called(options.backend));
  EGRET_RETURN_IF_ERROR(backend->takes_precision(options.compile.precision));
  EGRET_RETURN_IF_ERROR(backend->availability());
  for (frontends::DeclaredInput& input : inputs) {
    if (!input.type) continue;
    for (ir::Index& size : input.type->dims) {
      if (size.is_constant()) continue;
      const auto bound = options.import.bind.find(std::string(size.node()->name));
      if (bound != options.import.bind.end()) size = bound->second;
    }
  }
  const std::size_t most_plans = options.most_plans;
  auto make = [backend, read = std::move(read),
               options = std::move(options)](const ir::SymbolValues& sizes) -> base::Result<Plan> {
    frontends::ImportOptions import = options.import;
    for (const auto& [name, size] : sizes) import.bind[name] = size;
    EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model, read(import));
    ir::Graph handed_over = model.graph;
    (void)backends::take_constants(model.graph);
    EGRET_ASSIGN_OR_RETURN(auto plan,
                           compile_batch(*backend, std::move(handed_over), options.compile));
    return Plan{sizes, std::move(model.graph), std::move(plan)};
  };
  return SizedPlans(std::move(inputs), std::move(make), most_plans);
}

}  // namespace

SizedPlans::SizedPlans(std::vector<frontends::DeclaredInput> inputs, Maker maker,
                       std::size_t most_plans)
    : inputs_(std::move(inputs)), maker_(std::move(maker)), plans_(most_plans) {}

base::Result<SizedPlans> SizedPlans::of_file(const std::string& path, SizedPlanOptions options) {
  EGRET_ASSIGN_OR_RETURN(auto inputs, frontends::read_declared_inputs(path));
  return plans_of(
      std::move(inputs),
      [path](const frontends::ImportOptions& import) {
        return frontends::import_onnx(path, import);
      },
      std::move(options));
}

base::Result<SizedPlans> SizedPlans::of_bytes(std::span<const std::byte> bytes,
                                              const std::string& folder, SizedPlanOptions options) {
  EGRET_ASSIGN_OR_RETURN(auto inputs, frontends::read_declared_inputs(bytes));
  auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  return plans_of(
      std::move(inputs),
      [copy, folder](const frontends::ImportOptions& import) {
        return frontends::import_onnx_bytes(*copy, folder, import);
      },
      std::move(options));
}

base::Result<ir::SymbolValues> SizedPlans::sizes_of(std::span<const ir::Tensor> inputs) const {
  if (inputs.size() != inputs_.size()) {
    return base::bad_input("the model has " + std::to_string(inputs_.size()) + " inputs, not " +
                           std::to_string(inputs.size()));
  }
  ir::SymbolValues sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const frontends::DeclaredInput& declared = inputs_[i];
    const std::string place = "input '" + declared.name + "'";
    if (!declared.type) return base::unsupported("Egret lacks the type of " + place);
    const ir::TensorType given = inputs[i].type();
    bool fits = given.dtype == declared.type->dtype && given.rank() == declared.type->rank();
    for (std::size_t axis = 0; fits && axis < given.dims.size(); ++axis) {
      const ir::Index size = declared.type->dims[axis];
      const std::int64_t number = given.dims[axis].constant();
      if (size.is_constant()) {
        fits = size.constant() == number;
        continue;
      }
      const auto [known, is_new] = sizes.try_emplace(std::string(size.node()->name), number);
      if (!is_new && known->second != number) {
        return base::bad_input("axis " + std::to_string(axis) + " of " + place + " makes size '" +
                               known->first + "' " + std::to_string(number) +
                               ", another input makes it " + std::to_string(known->second));
      }
    }
    if (!fits)
      return base::bad_input(place + " is " + to_string(*declared.type) + ", not " +
                             to_string(given));
  }
  return sizes;
}

base::Result<Plan*> SizedPlans::at(const ir::SymbolValues& sizes) {
  if (Plan* const known = plans_.find(sizes)) return known;
  plans_.make_room();  // before another takes memory
  EGRET_ASSIGN_OR_RETURN(Plan made, maker_(sizes));
  ++made_;
  return &plans_.add(sizes, std::move(made));
}

base::Result<std::vector<ir::Tensor>> SizedPlans::run(std::span<const ir::Tensor> inputs) {
  EGRET_ASSIGN_OR_RETURN(const ir::SymbolValues sizes, sizes_of(inputs));
  EGRET_ASSIGN_OR_RETURN(Plan* const plan, at(sizes));
  return plan->plan->run(inputs);
}

}  // namespace egret::driver
