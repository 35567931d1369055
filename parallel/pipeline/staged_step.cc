// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/staged_step.h"

#include <algorithm>
#include <span>
#include <string>

#include "ir/autodiff/gradient.h"
#include "ir/graph/builder.h"
#include "ir/graph/shared_nodes.h"
#include "parallel/pipeline/pass_division.h"
#include "parallel/pipeline/stage_cut.h"

namespace egret::parallel {
namespace {

using ir::NodeId;
using ir::NodeKind;
using ir::Value;

// Whether each value has a gradient: it is real and depends on a parameter.
std::vector<bool> depends_on_parameters(const ir::TrainingGraph& loss) {
  const ir::Graph& graph = loss.graph;
  std::vector<bool> depends(graph.size(), false);
  for (std::size_t i = 0; i < loss.parameters.size(); ++i)
    depends[graph.inputs()[loss.model_inputs + 1 + i].index()] = true;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.nodes()[i];
    if (node.kind != NodeKind::kOperator) continue;
    depends[i] = ir::is_float(node.type.dtype) &&
                 std::ranges::any_of(node.inputs, [&](NodeId in) { return depends[in.index()]; });
  }
  return depends;
}

PassDivision division_of(const ir::Graph& joint, std::vector<std::vector<std::size_t>> outputs) {
  std::vector<std::vector<std::size_t>> inputs(joint.size());
  std::vector<bool> computed(joint.size());
  for (std::size_t i = 0; i < joint.size(); ++i) {
    const ir::Node& node = joint.nodes()[i];
    for (const NodeId input : node.inputs) inputs[i].push_back(input.index());
    computed[i] = node.kind == NodeKind::kOperator;
  }
  return {std::move(inputs), std::move(computed), std::move(outputs)};
}

base::Result<StagePass> pass_of(const ir::Graph& joint, const PassDivision& division,
                                std::size_t p) {
  StagePass pass;
  pass.outputs = division.results(p);
  ir::GraphBuilder b;
  std::vector<Value> values(joint.size());
  for (const std::size_t i : division.computed(p)) {
    const ir::Node& node = joint.nodes()[i];
    std::vector<Value> inputs;
    for (const NodeId input : node.inputs) {
      Value& value = values[input.index()];
      const ir::Node& from = joint.node(input);
      if (!value.valid() && from.kind == NodeKind::kConstant) value = b.constant(from.data);
      if (!value.valid()) {
        value = b.input("v" + std::to_string(input.index()), from.type);
        pass.inputs.push_back(input.index());
      }
      inputs.push_back(value);
    }
    values[i] = b.add(*node.op, inputs, node.attrs);
  }
  for (const std::size_t node : pass.outputs) b.output("v" + std::to_string(node), values[node]);
  EGRET_ASSIGN_OR_RETURN(pass.graph, b.finish());
  return pass;
}

// Names of a joint graph's inputs.
std::string value_name(NodeId id) { return "value " + std::to_string(id.index()); }
std::string gradient_name(NodeId id) { return "gradient " + std::to_string(id.index()); }
std::string data_name(std::size_t input) { return "data " + std::to_string(input); }
std::string parameter_name(std::size_t at) { return "parameter " + std::to_string(at); }

// Builds the joint graph of one stage, then divides it.
class StageWriter {
 public:
  StageWriter(const ir::TrainingGraph& loss, const OperatorLine& line,
              const std::vector<bool>& differentiable, double loss_scale)
      : loss_(loss), line_(line), differentiable_(differentiable), loss_scale_(loss_scale) {}

  base::Result<Stage> write(std::size_t begin, std::size_t end) {
    const bool is_last = end == line_.operators.size();
    EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, joint_graph(begin, end));
    return divided(ir::with_shared_nodes(graph), line_.crossing(begin), line_.crossing(end),
                   is_last);
  }

  // Before it is divided.
  base::Result<StageGraph> write_joint(std::size_t begin, std::size_t end) {
    EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, joint_graph(begin, end));
    StageGraph stage;
    stage.graph = ir::with_shared_nodes(graph);
    const auto has_gradient = [&](NodeId id) { return differentiable_[id.index()]; };
    stage.forward = line_.crossing(end).size() + (end == line_.operators.size() ? 1 : 0);
    stage.backward = stage.forward;
    stage.backward +=
        static_cast<std::size_t>(std::ranges::count_if(line_.crossing(begin), has_gradient));
    for (const StageParameter& parameter : parameters_) {
      const std::string& gradient =
          stage.graph.outputs()[stage.backward + stage.parameters.size()].name;
      stage.parameters.push_back(
          {parameter_name(parameter.parameter), gradient, parameter.parameter});
    }
    return stage;
  }

 private:
  base::Result<ir::Graph> joint_graph(std::size_t begin, std::size_t end) {
    const bool is_last = end == line_.operators.size();
    const std::vector<NodeId> incoming = line_.crossing(begin);
    const std::vector<NodeId> outgoing = line_.crossing(end);
    values_.assign(loss_.graph.size(), {});
    for (const NodeId id : incoming) values_[id.index()] = add_input(value_name(id), id);
    for (std::size_t i = begin; i < end; ++i) add_operator(line_.operators[i]);
    for (const NodeId id : outgoing) {
      b_.output("out" + std::to_string(id.index()), values_[id.index()]);
      if (!differentiable_[id.index()]) continue;
      seeded_.push_back(values_[id.index()]);
      seeds_.push_back(add_input(gradient_name(id), id));
    }
    if (is_last) add_loss();
    EGRET_RETURN_IF_ERROR(add_gradients(incoming));
    return b_.finish();
  }

  Value add_input(const std::string& name, NodeId id) {
    return b_.input(name, loss_.graph.node(id).type);
  }

  void add_operator(NodeId id) {
    const ir::Node& node = loss_.graph.node(id);
    std::vector<Value> inputs;
    for (const NodeId input : node.inputs) {
      Value& value = values_[input.index()];
      if (!value.valid()) value = leaf(input);
      inputs.push_back(value);
    }
    values_[id.index()] = b_.add(*node.op, inputs, node.attrs);
  }

  Value leaf(NodeId id) {
    const ir::Node& node = loss_.graph.node(id);
    if (node.kind == NodeKind::kConstant) return b_.constant(node.data);
    const auto& inputs = loss_.graph.inputs();
    const auto at = static_cast<std::size_t>(std::ranges::find(inputs, id) - inputs.begin());
    if (at <= loss_.model_inputs) {
      data_.push_back({0, at});
      return b_.input(data_name(at), node.type);
    }
    const std::size_t parameter = at - loss_.model_inputs - 1;
    parameters_.push_back({0, parameter, 0});
    return b_.input(parameter_name(parameter), node.type);
  }

  void add_loss() {
    const NodeId id = loss_.graph.outputs().front().node;
    b_.output("loss", values_[id.index()]);
    seeded_.push_back(values_[id.index()]);
    seeds_.push_back(b_.scalar(loss_.graph.node(id).type.dtype, loss_scale_));
  }

  base::Status add_gradients(std::span<const NodeId> incoming) {
    std::vector<Value> wanted;
    for (const NodeId id : incoming) {
      if (differentiable_[id.index()]) wanted.push_back(values_[id.index()]);
    }
    for (const StageParameter& parameter : parameters_) {
      const std::size_t at = loss_.model_inputs + 1 + parameter.parameter;
      wanted.push_back(values_[loss_.graph.inputs()[at].index()]);
    }
    EGRET_ASSIGN_OR_RETURN(const std::vector<Value> found,
                           ir::gradients(b_, seeded_, seeds_, wanted));
    for (std::size_t i = 0; i < found.size(); ++i)
      b_.output("gradient" + std::to_string(i), found[i]);
    return base::ok();
  }

  // Inputs and outputs of the joint graph are found by name: merging equal nodes renumbers them.
  base::Result<Stage> divided(const ir::Graph& joint, std::span<const NodeId> incoming,
                              std::span<const NodeId> outgoing, bool is_last) {
    std::map<std::string, std::size_t> inputs;
    for (const NodeId id : joint.inputs()) inputs[joint.node(id).name] = id.index();
    std::vector<std::size_t> outputs;
    for (const auto& output : joint.outputs()) outputs.push_back(output.node.index());

    Stage stage;
    stage.data = data_;
    for (StageData& data : stage.data) data.node = inputs.at(data_name(data.input));
    stage.parameters = parameters_;
    std::size_t next = 0;  // output
    for (const NodeId id : outgoing) {
      stage.outgoing.push_back({outputs[next++], loss_.graph.node(id).type, {}});
      if (differentiable_[id.index()])
        stage.outgoing.back().gradient = inputs.at(gradient_name(id));
    }
    if (is_last) stage.loss = outputs[next++];
    const std::size_t forward = next;
    for (const NodeId id : incoming) {
      stage.incoming.push_back({inputs.at(value_name(id)), loss_.graph.node(id).type, {}});
      if (differentiable_[id.index()]) stage.incoming.back().gradient = outputs[next++];
    }
    const std::size_t backward = next;
    for (StageParameter& parameter : stage.parameters) {
      parameter.node = inputs.at(parameter_name(parameter.parameter));
      parameter.gradient = outputs[next++];
    }
    for (const std::size_t node : outputs) {
      if (joint.nodes()[node].kind == NodeKind::kConstant)
        stage.constants[node] = joint.nodes()[node].data;
    }
    const auto part = [&](std::size_t first, std::size_t last) {
      return std::vector<std::size_t>(outputs.begin() + static_cast<std::ptrdiff_t>(first),
                                      outputs.begin() + static_cast<std::ptrdiff_t>(last));
    };
    const PassDivision whole = division_of(joint, {part(0, forward), part(forward, next)});
    const PassDivision split =
        division_of(joint, {part(0, forward), part(forward, backward), part(backward, next)});
    const auto at = [&](PassKind kind) -> StagePass& {
      return stage.passes[static_cast<std::size_t>(kind)];
    };
    EGRET_ASSIGN_OR_RETURN(at(PassKind::kForward), pass_of(joint, whole, 0));
    EGRET_ASSIGN_OR_RETURN(at(PassKind::kBackward), pass_of(joint, whole, 1));
    EGRET_ASSIGN_OR_RETURN(at(PassKind::kInputs), pass_of(joint, split, 1));
    EGRET_ASSIGN_OR_RETURN(at(PassKind::kWeights), pass_of(joint, split, 2));
    stage.joint = joint;
    return stage;
  }

  const ir::TrainingGraph& loss_;
  const OperatorLine& line_;
  const std::vector<bool>& differentiable_;
  const double loss_scale_;
  ir::GraphBuilder b_;
  std::vector<Value> values_;  // by node of the loss graph
  std::vector<Value> seeded_, seeds_;
  std::vector<StageData> data_;
  std::vector<StageParameter> parameters_;
};

double bytes_of(std::span<const BoundaryValue> values, bool gradients) {
  double bytes = 0;
  for (const BoundaryValue& value : values) {
    if (!gradients || value.gradient) bytes += static_cast<double>(value.type.bytes());
  }
  return bytes;
}

// The loss with the first values of its parameters as constants, under the same node numbers: equal
// layers have weights of their own, and inputs in common.
ir::Graph with_constant_parameters(const ir::TrainingGraph& loss) {
  std::vector<const ir::Tensor*> values(loss.graph.size(), nullptr);
  for (std::size_t i = 0; i < loss.parameters.size(); ++i)
    values[loss.graph.inputs()[loss.model_inputs + 1 + i].index()] = &loss.initial[i];
  ir::Graph result;
  for (std::size_t i = 0; i < loss.graph.size(); ++i) {
    ir::Node node = loss.graph.node(NodeId(i));
    if (values[i] != nullptr) {
      node.kind = NodeKind::kConstant;
      node.data = *values[i];
    }
    result.append(std::move(node));
  }
  for (const auto& output : loss.graph.outputs()) result.add_output(output.name, output.node);
  return result;
}

base::Result<std::vector<std::size_t>> cuts_of(const ir::TrainingGraph& loss,
                                               const OperatorLine& line,
                                               const StagingOptions& options) {
  if (!options.stage_operators.empty()) return operator_cuts(line, options.stage_operators);
  if (!options.stage_layers.empty())
    return layer_cuts(with_constant_parameters(loss), line, options.stage_layers);
  return balanced_cuts(loss.graph, line, options.stages, options.rates,
                       options.link_bytes_per_second);
}

}  // namespace

const Mesh& Stage::mesh() const {
  static const Mesh one;
  return division ? division->joint.mesh : one;
}

Placement Stage::placement(std::size_t node) const {
  return division ? division->joint.nodes[node].placement : Placement();
}

ir::Tensor Stage::share(std::size_t node, const ir::Tensor& whole, std::int64_t place) const {
  return block_of(whole, placement(node), mesh(), place);
}

double Stage::outgoing_bytes() const { return bytes_of(outgoing, false); }
double Stage::gradient_bytes() const { return bytes_of(incoming, true); }

base::Result<std::vector<std::size_t>> piece_cuts(const ir::TrainingGraph& loss,
                                                  const OperatorLine& line,
                                                  std::int64_t most_pieces,
                                                  const cost::Rates& rates,
                                                  double link_bytes_per_second) {
  const auto most = static_cast<std::size_t>(most_pieces);
  if (auto cuts = seam_cuts(with_constant_parameters(loss), line, most)) return *std::move(cuts);
  const auto pieces = static_cast<std::int64_t>(std::min(most, line.operators.size()));
  return balanced_cuts(loss.graph, line, pieces, rates, link_bytes_per_second);
}

base::Result<StageGraph> stage_graph(const ir::TrainingGraph& loss, const OperatorLine& line,
                                     std::size_t begin, std::size_t end, double loss_scale) {
  const std::vector<bool> differentiable = depends_on_parameters(loss);
  return StageWriter(loss, line, differentiable, loss_scale).write_joint(begin, end);
}

base::Result<StagedStep> staged_step(const ir::Graph& model, const ir::TrainingOptions& training,
                                     const StagingOptions& options) {
  StagedStep step;
  EGRET_ASSIGN_OR_RETURN(step.loss, ir::loss_graph(model, training));
  const OperatorLine line(step.loss.graph);
  EGRET_ASSIGN_OR_RETURN(const std::vector<std::size_t> cuts, cuts_of(step.loss, line, options));
  const std::vector<bool> differentiable = depends_on_parameters(step.loss);
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    EGRET_ASSIGN_OR_RETURN(Stage stage,
                           StageWriter(step.loss, line, differentiable, options.loss_scale)
                               .write(cuts[s], cuts[s + 1]));
    step.stages.push_back(std::move(stage));
  }
  return step;
}

}  // namespace egret::parallel
