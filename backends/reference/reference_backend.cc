// SPDX-License-Identifier: Apache-2.0
// The reference backend: the interpreter of the denotation, in f32. The oracle of the others.
#include "backends/backend.h"
#include "backends/division.h"
#include "base/stop.h"
#include "ir/evaluate/interpreter.h"

namespace egret::backends {
namespace {

class ReferencePlan : public ExecutablePlan {
 public:
  explicit ReferencePlan(ir::Graph graph) : ExecutablePlan(graph), graph_(std::move(graph)) {}

  PlanReport report() const override {
    PlanReport report;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const ir::NodeId id(i);
      const ir::Node& node = graph_.node(id);
      if (node.kind == ir::NodeKind::kConstant) report.weights_bytes += node.type.bytes();
      if (node.kind != ir::NodeKind::kOperator) continue;
      report.kernels.push_back({.name = node.op->name(),
                                .implementation = "interpreter",
                                .layout = "row-major",
                                .nodes = {node_label(graph_, id)},
                                .ids = {id}});
    }
    return report;
  }

 protected:
  base::Status execute(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs) override {
    EGRET_ASSIGN_OR_RETURN(
        std::vector<ir::Tensor> values,
        ir::interpret(graph_, inputs,
                      {.precision = ir::Precision::kF32, .should_stop = base::stop_requested}));
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = std::move(values[i]);
    return base::ok();
  }

 private:
  ir::Graph graph_;
};

class ReferenceBackend : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::string_view doc() const override {
    return "the interpreter of the operators' definitions: slow, and right";
  }
  std::string version() const override { return "interpreter"; }
  base::Status availability() const override { return base::ok(); }
  // The interpreter computes one operator after the other, whatever the division.
  base::Result<Division> divide(const ir::Graph& graph,
                                const CompileOptions& /*options*/) const override {
    Division division;
    const std::vector<bool> once = computed_once(graph);
    for (std::size_t i = 0; i < graph.size(); ++i) {
      if (graph.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator && !once[i])
        division.push_back({ir::NodeId(i)});
    }
    return division;
  }

  base::Result<std::unique_ptr<ExecutablePlan>> compile(
      const ir::Graph& graph, const CompileOptions& /*options*/) const override {
    for (const ir::Node& node : graph.nodes()) {
      if (node.type.is_concrete()) continue;
      return base::unsupported("the symbolic type " + to_string(node.type) +
                               "; bind its sizes with --bind NAME=SIZE");
    }
    return std::unique_ptr<ExecutablePlan>(std::make_unique<ReferencePlan>(graph));
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace egret::backends
