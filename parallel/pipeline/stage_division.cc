// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/stage_division.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "parallel/laws/law_steps.h"
#include "parallel/pipeline/pass_division.h"
#include "parallel/placed/program_reader.h"
#include "parallel/plan/plan_file.h"
#include "parallel/plan/planner.h"
#include "rules/tensors/constant_folding.h"

namespace egret::parallel {
namespace {

using base::Result;
using base::Status;
using Kind = PlacedNode::Kind;

// Places of a stage's results among the outputs of its joint graph.
struct ResultPlaces {
  explicit ResultPlaces(const Stage& stage) {
    for (const BoundaryValue& crossing : stage.incoming) inputs += crossing.gradient ? 1 : 0;
    forward = stage.outgoing.size() + (stage.loss ? 1 : 0);
    count = forward + inputs + stage.parameters.size();
  }

  std::size_t forward = 0;  // outgoing values, and the loss; gradients of incoming values follow
  std::size_t inputs = 0;   // so many of them; gradients of parameters follow
  std::size_t count = 0;
};

const std::string& name_of(const Stage& stage, std::size_t node) {
  return stage.joint.nodes()[node].name;
}

// The nodes of the placed joint graph that a stage knows by number.
class StageNumbers {
 public:
  StageNumbers(const Stage& stage, PlacedGraph& joint) : stage_(stage), joint_(joint) {}

  // STAGE gets the numbers.
  Status write(Stage& stage) {
    std::size_t next = 0;
    const auto result = [&] { return joint_.outputs[next++].node; };
    for (BoundaryValue& crossing : stage.outgoing) {
      if (crossing.gradient) {
        EGRET_ASSIGN_OR_RETURN(crossing.gradient, input(*crossing.gradient));
      }
      crossing.value = result();
    }
    if (stage.loss) stage.loss = result();
    for (BoundaryValue& crossing : stage.incoming) {
      EGRET_ASSIGN_OR_RETURN(crossing.value, input(crossing.value));
      if (crossing.gradient) crossing.gradient = result();
    }
    for (StageParameter& parameter : stage.parameters) {
      parameter.gradient = result();
      EGRET_ASSIGN_OR_RETURN(parameter.node,
                             input(parameter.node, joint_.nodes[parameter.gradient].placement));
    }
    return write_data(stage);
  }

 private:
  // A number that the joint graph of one rank has. An input that no operator reads is added, as
  // boundaries and parameters still name it.
  Result<std::size_t> input(std::size_t node, Placement where) {
    const std::string& name = name_of(stage_, node);
    const std::vector<std::size_t> found = readings(name);
    if (found.size() > 1)
      return base::unsupported("a plan that reads '" + name + "' under several placements");
    if (!found.empty()) return found.front();
    PlacedNode& added = joint_.nodes.emplace_back();
    added.kind = Kind::kInput;
    added.name = name;
    added.whole = stage_.joint.nodes()[node].type;
    added.placement = where;
    EGRET_ASSIGN_OR_RETURN(added.type, local_type(added.whole, where, joint_.mesh));
    return joint_.nodes.size() - 1;
  }
  Result<std::size_t> input(std::size_t node) {
    return input(node, Placement(joint_.mesh.axis_count()));
  }

  std::vector<std::size_t> readings(const std::string& name) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < joint_.nodes.size(); ++i) {
      if (joint_.nodes[i].kind == Kind::kInput && joint_.nodes[i].name == name) found.push_back(i);
    }
    return found;
  }

  // Every rank has all data, so that a plan may read them under several placements.
  Status write_data(Stage& stage) {
    stage.data.clear();
    for (const StageData& data : stage_.data) {
      for (const std::size_t node : readings(name_of(stage_, data.node)))
        stage.data.push_back({node, data.input});
    }
    return base::ok();
  }

  const Stage& stage_;
  PlacedGraph& joint_;
};

PassDivision division_of(const PlacedGraph& joint, std::vector<std::vector<std::size_t>> outputs) {
  std::vector<std::vector<std::size_t>> inputs;
  std::vector<bool> computed;
  for (const PlacedNode& node : joint.nodes) {
    inputs.push_back(node.inputs);
    computed.push_back(node.kind != Kind::kInput && node.kind != Kind::kConstant);
  }
  return {std::move(inputs), std::move(computed), std::move(outputs)};
}

// A pass as a program of its own. What other passes compute, and the inputs of the joint graph, are
// its inputs.
class PassWriter {
 public:
  explicit PassWriter(const PlacedGraph& joint) : joint_(joint) {}

  void write(const PassDivision& division, std::size_t pass, StagePass& numbers,
             PlacedGraph& program) {
    program_ = &program;
    numbers_ = &numbers;
    written_.clear();
    program.mesh = joint_.mesh;
    for (const std::size_t i : division.computed(pass)) {
      PlacedNode node = joint_.nodes[i];
      for (std::size_t& input : node.inputs) input = operand(input);
      append(i, std::move(node));
    }
    numbers.outputs = division.results(pass);
    for (const std::size_t i : numbers.outputs)
      program.outputs.push_back({"v" + std::to_string(i), written_.at(i)});
  }

 private:
  std::size_t append(std::size_t number, PlacedNode node) {
    program_->nodes.push_back(std::move(node));
    return written_[number] = program_->nodes.size() - 1;
  }

  std::size_t operand(std::size_t number) {
    if (const auto found = written_.find(number); found != written_.end()) return found->second;
    const PlacedNode& from = joint_.nodes[number];
    if (from.kind == Kind::kConstant) return append(number, from);
    numbers_->inputs.push_back(number);
    PlacedNode node;
    node.kind = Kind::kInput;
    node.name = "v" + std::to_string(number);
    node.whole = from.whole;
    node.type = from.type;
    node.placement = from.placement;
    return append(number, std::move(node));
  }

  const PlacedGraph& joint_;
  PlacedGraph* program_ = nullptr;
  StagePass* numbers_ = nullptr;
  std::map<std::size_t, std::size_t> written_;  // places in the program, by number
};

void write_passes(const ResultPlaces& places, Stage& stage) {
  const PlacedGraph& joint = stage.division->joint;
  const auto results = [&](std::size_t first, std::size_t last) {
    std::vector<std::size_t> nodes;
    for (std::size_t i = first; i < last; ++i) nodes.push_back(joint.outputs[i].node);
    return nodes;
  };
  const std::size_t inputs = places.forward + places.inputs;
  const PassDivision whole =
      division_of(joint, {results(0, places.forward), results(places.forward, places.count)});
  const PassDivision split = division_of(
      joint,
      {results(0, places.forward), results(places.forward, inputs), results(inputs, places.count)});
  PassWriter writer(joint);
  const auto write = [&](PassKind kind, const PassDivision& division, std::size_t pass) {
    const auto at = static_cast<std::size_t>(kind);
    stage.passes[at] = {};
    writer.write(division, pass, stage.passes[at], stage.division->passes[at]);
  };
  write(PassKind::kForward, whole, 0);
  write(PassKind::kBackward, whole, 1);
  write(PassKind::kInputs, split, 1);
  write(PassKind::kWeights, split, 2);
}

}  // namespace

Result<base::Json> plan_stage(const Stage& stage, const Cluster& machine,
                              const StagePlanOptions& options) {
  PlanTask task{.graph = stage.joint};
  const std::size_t first = ResultPlaces(stage).count - stage.parameters.size();
  for (std::size_t i = 0; i < stage.joint.outputs().size(); ++i) {
    const std::string& name = stage.joint.outputs()[i].name;
    if (i < first) {
      task.free.insert(name);
      continue;
    }
    const std::size_t parameter = stage.parameters[i - first].node;
    task.carried.push_back({.input = name_of(stage, parameter), .output = name});
  }
  ParallelPlanOptions planning;
  // ZeRO-3 is data parallelism where there is nothing to keep in blocks.
  const bool trains = !task.carried.empty();
  planning.strategy = !trains && options.strategy == "zero-3" ? "data" : options.strategy;
  planning.extract_time = options.extract_time;
  planning.limit_check = 0;  // divided_stage() checks each node against the laws
  planning.layers = 0;
  planning.baselines = options.strategy == "any";
  EGRET_ASSIGN_OR_RETURN(const ParallelPlan plan, make_plan(task, machine, planning));
  PlanOrigin origin;
  origin.machine = machine.name;
  return to_json(plan, origin);
}

Result<Stage> divided_stage(const Stage& stage, const base::Json& plan) {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph folded, rules::fold_constants(stage.joint));
  std::map<std::string, const ir::Tensor*> constants;
  for (const ir::Node& node : folded.nodes()) {
    if (node.kind == ir::NodeKind::kConstant)
      constants[node.data.content_hash().to_hex()] = &node.data;
  }
  const auto constant_called = [&](const std::string& hash) -> const ir::Tensor* {
    const auto found = constants.find(hash);
    return found == constants.end() ? nullptr : found->second;
  };
  Stage divided = stage;
  divided.division.emplace();
  PlacedGraph& joint = divided.division->joint;
  EGRET_ASSIGN_OR_RETURN(joint, read_program(plan, constant_called));
  const ResultPlaces places(stage);
  const bool fits = std::ranges::equal(joint.outputs, stage.joint.outputs(), {},
                                       &PlacedGraph::Output::name, &ir::Graph::Output::name);
  if (!fits || places.count != joint.outputs.size())
    return base::mismatch("the plan is of another stage");
  EGRET_RETURN_IF_ERROR(StageNumbers(stage, joint).write(divided));
  for (const StageParameter& parameter : divided.parameters) {
    if (divided.placement(parameter.node) != divided.placement(parameter.gradient)) {
      return base::mismatch("the gradient of parameter '" + name_of(stage, parameter.node) +
                            "' has another placement than the parameter");
    }
  }
  divided.constants.clear();
  for (const PlacedGraph::Output& output : joint.outputs) {
    const PlacedNode& node = joint.nodes[output.node];
    if (node.kind == Kind::kConstant) divided.constants[output.node] = node.data;
  }
  write_passes(places, divided);
  return divided;
}

namespace {

// Copies, and the placements of operands that are as large as the result.
std::vector<Placement> candidates(const PlacedGraph& graph, const PlacedNode& node) {
  std::vector<Placement> found;
  for (const std::size_t input : node.inputs) {
    const PlacedNode& operand = graph.nodes[input];
    if (operand.whole.shape() == node.whole.shape()) found.push_back(operand.placement);
  }
  found.emplace_back(graph.mesh.axis_count());
  return found;
}

Status place_operator(PlacedGraph& graph, PlacedNode& node, LawCache& laws) {
  std::vector<ir::TensorType> wholes;
  std::vector<Placement> placements;
  for (const std::size_t input : node.inputs) {
    wholes.push_back(graph.nodes[input].whole);
    placements.push_back(graph.nodes[input].placement);
  }
  Status refused;
  for (const Placement& placement : candidates(graph, node)) {
    auto attrs = part_attrs(*node.op, node.attrs, wholes, placements, placement, graph.mesh, laws);
    if (!attrs.ok()) {
      refused = attrs.status();
      continue;
    }
    node.part_attrs = *std::move(attrs);
    node.placement = placement;
    return base::ok();
  }
  return refused;
}

}  // namespace

Result<PlacedGraph> divided_update(
    const ir::Graph& update, const Mesh& mesh,
    const std::function<Placement(std::size_t input)>& placement_of) {
  PlacedGraph graph;
  graph.mesh = mesh;
  LawCache laws;
  std::size_t next = 0;
  for (const ir::Node& from : update.nodes()) {
    PlacedNode node;
    node.name = from.name;
    node.whole = from.type;
    node.placement = Placement(mesh.axis_count());
    if (from.kind == ir::NodeKind::kInput) {
      node.kind = Kind::kInput;
      node.placement = placement_of(next++);
    } else if (from.kind == ir::NodeKind::kConstant) {
      node.kind = Kind::kConstant;
      node.data = from.data;
    } else {
      node.op = from.op;
      node.attrs = from.attrs;
      for (const ir::NodeId input : from.inputs) node.inputs.push_back(input.index());
      EGRET_RETURN_IF_ERROR(place_operator(graph, node, laws).at("the optimizer on parts"));
    }
    EGRET_ASSIGN_OR_RETURN(node.type, local_type(node.whole, node.placement, mesh));
    graph.nodes.push_back(std::move(node));
  }
  for (const auto& output : update.outputs())
    graph.outputs.push_back({output.name, output.node.index()});
  EGRET_RETURN_IF_ERROR(check(graph).at("the optimizer on parts"));
  return graph;
}

}  // namespace egret::parallel
