// SPDX-License-Identifier: Apache-2.0
#include "backends/backend.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace egret::backends {

#define EGRET_BACKEND(name) std::unique_ptr<Backend> make_##name##_backend();
#include "backends/backends.def"
#undef EGRET_BACKEND

namespace {

struct Registry {
  std::vector<std::unique_ptr<Backend>> owned;
  std::vector<const Backend*> all;

  Registry() {
#define EGRET_BACKEND(name) owned.push_back(make_##name##_backend());
#include "backends/backends.def"
#undef EGRET_BACKEND
    for (const auto& backend : owned) all.push_back(backend.get());
  }
};

const Registry& registry() {
  static const auto* const instance = new Registry;
  return *instance;
}

}  // namespace

std::span<const Backend* const> all_backends() { return registry().all; }

const Backend* find_backend(std::string_view name) {
  for (const Backend* backend : all_backends()) {
    if (backend->name() == name) return backend;
  }
  return nullptr;
}

base::Status Backend::takes_precision(Precision precision) const {
  if (precision == Precision::kF32) return base::ok();
  return base::usage_error("--precision " + std::string(to_string(precision)) + ": the backend '" +
                           std::string(name()) + "' supports only f32");
}

// The processors that this process may use: a container or taskset may grant fewer than the machine
// has.
int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

base::Result<Division> Backend::divide(const ir::Graph& /*graph*/,
                                       const CompileOptions& /*options*/) const {
  return base::unsupported("the backend '" + std::string(name()) + "' divides graphs by itself");
}

std::string node_label(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (!node.name.empty()) return node.name;
  const std::string kind = node.op != nullptr ? node.op->name() : "value";
  return kind + "#" + std::to_string(id.index());
}

// The graph is that of one slice of the batch. The plan takes and returns whole tensors, whose
// first axis is `slices` times as long.
ExecutablePlan::ExecutablePlan(const ir::Graph& graph, std::int64_t slices)
    : input_draws_(ir::input_draws(graph)) {
  const auto whole_of = [&](ir::TensorType type) {
    if (slices > 1) type.dims.at(0) = type.dims[0].constant() * slices;
    return type;
  };
  for (const ir::NodeId id : graph.inputs()) input_types_.push_back(whole_of(graph.node(id).type));
  for (const auto& output : graph.outputs())
    output_types_.push_back(whole_of(graph.node(output.node).type));
}

std::vector<ir::Tensor> ExecutablePlan::make_outputs() const {
  std::vector<ir::Tensor> outputs;
  outputs.reserve(output_types_.size());
  for (const ir::TensorType& type : output_types_) outputs.emplace_back(type);
  return outputs;
}

base::Result<std::vector<ir::Tensor>> ExecutablePlan::run(std::span<const ir::Tensor> inputs) {
  std::vector<ir::Tensor> outputs = make_outputs();
  EGRET_RETURN_IF_ERROR(run_into(inputs, outputs));
  return outputs;
}

base::Status ExecutablePlan::run_into(std::span<const ir::Tensor> inputs,
                                      std::span<ir::Tensor> outputs) {
  if (inputs.size() != input_types_.size()) {
    return base::bad_input("the plan takes " + std::to_string(input_types_.size()) +
                           " inputs, not " + std::to_string(inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type() == input_types_[i]) continue;
    return base::bad_input("input " + std::to_string(i) + " is " + to_string(inputs[i].type()) +
                           "; the plan takes " + to_string(input_types_[i]));
  }
  EGRET_CHECK(outputs.size() == output_types_.size(), "outputs of another plan");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EGRET_CHECK(outputs[i].type() == output_types_[i], "outputs of another plan");
    (void)outputs[i].mutable_data();  // makes the tensor the only owner of its buffer
  }
  return execute(inputs, outputs);
}

}  // namespace egret::backends
