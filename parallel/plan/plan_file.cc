// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/plan_file.h"

#include "ir/graph/graph_text.h"
#include "parallel/laws/laws.h"

namespace egret::parallel {
namespace {

using base::Json;
using base::Result;
using base::Status;
using Kind = PlacedNode::Kind;

constexpr std::int64_t kWrittenOut = 16;  // elements

// Small constants are written out, so that a plan can be read without guessing them from a hash.
Json values_of(const ir::Tensor& tensor) {
  Json values = Json::array();
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    ir::is_float(tensor.dtype()) ? values.push(tensor.f64_at(i)) : values.push(tensor.i64_at(i));
  }
  return values;
}

// Infinities have no form in JSON.
bool is_written_out(const ir::Tensor& tensor) {
  if (tensor.elements() > kWrittenOut) return false;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = tensor.f64_at(i);
    if (!(value - value == 0)) return false;
  }
  return true;
}

Json attributes_json(const ir::Attrs& attrs) {
  Json attributes = Json::object();
  for (const auto& [name, value] : attrs.entries()) attributes.set(name, ir::to_string(value));
  return attributes;
}

void write_ring(const Ring& ring, const Mesh& mesh, Json& json) {
  Json nodes = Json::array();
  for (const RingNode& node : ring.nodes) {
    Json inputs = Json::array();
    for (const int input : node.inputs) inputs.push(static_cast<std::int64_t>(input));
    nodes.push(Json::object()
                   .set("op", node.op->name())
                   .set("attributes", attributes_json(node.attrs))
                   .set("inputs", std::move(inputs))
                   .set("placement", to_string(node.placement, mesh))
                   .set("step", to_string(node.step)));
  }
  Json steps = Json::array();
  Json passes = Json::array();
  for (std::size_t i = 0; i < ring.inputs.size(); ++i) {
    steps.push(to_string(ring.inputs[i].step));
    if (ring.inputs[i].passes) passes.push(static_cast<std::int64_t>(i));
  }
  json.set("ring", std::move(nodes)).set("axis", mesh.axis(ring.axis).name);
  json.set("steps", std::move(steps)).set("passes", std::move(passes));
}

Json node_json(const PlacedNode& node, const Mesh& mesh) {
  Json json = Json::object();
  switch (node.kind) {
    case Kind::kInput: json.set("input", node.name); break;
    case Kind::kConstant:
      json.set("constant", node.name);
      if (is_written_out(node.data)) json.set("values", values_of(node.data));
      json.set("hash", node.data.content_hash().to_hex());
      break;
    case Kind::kOperator:
      json.set("op", node.op->name()).set("attributes", attributes_json(node.attrs));
      break;
    case Kind::kRing: write_ring(node.ring, mesh, json); break;
    case Kind::kCollective:
      json.set("collective", name_of(node.collective))
          .set("axis", mesh.axis(node.collective.axis).name)
          .set("from", to_string(node.collective.from))
          .set("to", to_string(node.collective.to));
      break;
  }
  if (!node.inputs.empty()) {
    Json inputs = Json::array();
    for (const std::size_t input : node.inputs) inputs.push(static_cast<std::int64_t>(input));
    json.set("inputs", std::move(inputs));
  }
  json.set("placement", to_string(node.placement, mesh));
  json.set("type", ir::to_string(node.whole));
  return json;
}

Result<std::string> text_of(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  if (found == nullptr) return base::bad_input("'" + std::string(key) + "' is missing");
  return found->as_string();
}

Result<const std::vector<Json>*> list_of(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  if (found == nullptr || !found->is_array())
    return base::bad_input("'" + std::string(key) + "' must be a list");
  return &found->items();
}

Result<std::size_t> index_of(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  if (found == nullptr) return base::bad_input("'" + std::string(key) + "' is missing");
  EGRET_ASSIGN_OR_RETURN(const std::int64_t number, found->as_integer());
  if (number < 0) return base::bad_input("'" + std::string(key) + "' is negative");
  return static_cast<std::size_t>(number);
}

// A plan may be edited by hand: each part is checked where it is read, and the whole by check().
class ProgramReader {
 public:
  ProgramReader(const FindWeight& weights) : weights_(weights) {}

  // The mesh and placements are those of a file, not of a flag.
  Result<PlacedGraph> read(const Json& plan) {
    Result<PlacedGraph> graph = read_graph(plan);
    const bool of_flag = !graph.ok() && graph.status().code() == base::StatusCode::kUsage;
    return of_flag ? base::bad_input(graph.status().message()) : std::move(graph);
  }

 private:
  Result<PlacedGraph> read_graph(const Json& plan) {
    EGRET_ASSIGN_OR_RETURN(const std::string mesh, text_of(plan, "mesh"));
    EGRET_ASSIGN_OR_RETURN(graph_.mesh, Mesh::parse(mesh));
    EGRET_ASSIGN_OR_RETURN(const auto* program, list_of(plan, "program"));
    for (const Json& item : *program) {
      const Status status = read_node(item);
      if (!status.ok()) return status.at("node " + std::to_string(graph_.nodes.size()));
    }
    EGRET_ASSIGN_OR_RETURN(const auto* outputs, list_of(plan, "outputs"));
    for (const Json& item : *outputs) {
      EGRET_ASSIGN_OR_RETURN(const std::string name, text_of(item, "name"));
      const auto node = index_of(item, "node");
      if (!node.ok()) return node.status().at("output '" + name + "'");
      graph_.outputs.push_back({name, *node});
    }
    EGRET_ASSIGN_OR_RETURN(const auto* carried, list_of(plan, "carried"));
    for (const Json& item : *carried) {
      EGRET_ASSIGN_OR_RETURN(const std::size_t node, index_of(item, "node"));
      EGRET_ASSIGN_OR_RETURN(const std::size_t output, index_of(item, "output"));
      graph_.carried.push_back({node, output});
    }
    EGRET_RETURN_IF_ERROR(check(graph_));
    return std::move(graph_);
  }

  Status read_node(const Json& item) {
    PlacedNode node;
    EGRET_ASSIGN_OR_RETURN(const std::string type, text_of(item, "type"));
    EGRET_ASSIGN_OR_RETURN(node.whole, ir::parse_type(type));
    if (!node.whole.is_concrete()) return base::bad_input("sizes must be numbers, not symbols");
    EGRET_ASSIGN_OR_RETURN(const std::string placement, text_of(item, "placement"));
    EGRET_ASSIGN_OR_RETURN(node.placement, Placement::parse(placement, graph_.mesh));
    EGRET_ASSIGN_OR_RETURN(node.type, local_type(node.whole, node.placement, graph_.mesh));
    if (item.find("inputs") != nullptr) {
      EGRET_ASSIGN_OR_RETURN(const auto* inputs, list_of(item, "inputs"));
      for (const Json& input : *inputs) {
        EGRET_ASSIGN_OR_RETURN(const std::int64_t number, input.as_integer());
        if (number < 0 || number >= static_cast<std::int64_t>(graph_.nodes.size()))
          return base::bad_input("its inputs must come before it");
        node.inputs.push_back(static_cast<std::size_t>(number));
      }
    }
    if (item.find("input") != nullptr) {
      node.kind = Kind::kInput;
      EGRET_ASSIGN_OR_RETURN(node.name, text_of(item, "input"));
    } else if (item.find("constant") != nullptr) {
      EGRET_RETURN_IF_ERROR(read_constant(item, node));
    } else if (item.find("op") != nullptr) {
      EGRET_RETURN_IF_ERROR(read_operator(item, node));
    } else if (item.find("ring") != nullptr) {
      EGRET_RETURN_IF_ERROR(read_ring(item, node));
    } else {
      EGRET_RETURN_IF_ERROR(read_collective(item, node));
    }
    graph_.nodes.push_back(std::move(node));
    return base::ok();
  }

  Status read_constant(const Json& item, PlacedNode& node) const {
    node.kind = Kind::kConstant;
    EGRET_ASSIGN_OR_RETURN(node.name, text_of(item, "constant"));
    EGRET_ASSIGN_OR_RETURN(const std::string hash, text_of(item, "hash"));
    if (item.find("values") == nullptr) {
      const ir::Tensor* weight = weights_(hash);
      if (weight == nullptr || weight->type() != node.whole) {
        return base::bad_input("the model has no weight '" + node.name + "' with the hash " + hash +
                               ". The plan was made for another model");
      }
      node.data = *weight;
      return base::ok();
    }
    EGRET_ASSIGN_OR_RETURN(const auto* values, list_of(item, "values"));
    node.data = ir::Tensor(node.whole);
    if (static_cast<std::int64_t>(values->size()) != node.data.elements())
      return base::bad_input("the number of values differs from the number of elements");
    for (std::size_t i = 0; i < values->size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      if (ir::is_float(node.whole.dtype)) {
        EGRET_ASSIGN_OR_RETURN(const double value, (*values)[i].as_real());
        node.data.set_f64(at, value);
      } else {
        EGRET_ASSIGN_OR_RETURN(const std::int64_t value, (*values)[i].as_integer());
        node.data.set_i64(at, value);
      }
    }
    const std::string given = node.data.content_hash().to_hex();
    if (given == hash) return base::ok();
    return base::bad_input("the values of '" + node.name + "' have the hash " + given + ", not " +
                           hash + ". They were changed after the plan was made");
  }

  static Result<const ir::Operator*> operator_of(const Json& item, std::size_t inputs) {
    EGRET_ASSIGN_OR_RETURN(const std::string name, text_of(item, "op"));
    const ir::Operator* op = ir::find_operator(name);
    if (op == nullptr) return base::bad_input("unknown operator '" + name + "'");
    EGRET_RETURN_IF_ERROR(ir::check_arity(*op, inputs));
    return op;
  }

  static Result<ir::Attrs> attrs_of(const Json& item, const ir::Operator& op) {
    ir::Attrs given;
    const Json* attributes = item.find("attributes");
    if (attributes != nullptr && attributes->is_object()) {
      for (const auto& [key, text] : attributes->members()) {
        EGRET_ASSIGN_OR_RETURN(const std::string written, text.as_string());
        EGRET_ASSIGN_OR_RETURN(ir::AttrValue value, ir::parse_attr_value(written));
        given.set(key, std::move(value));
      }
    }
    return ir::canonical_attrs(op.attrs(), given);
  }

  // A ring cuts its tensors over time as a mesh axis cuts them over devices, so both have one
  // notation.
  static Result<AxisPlacement> read_step(const std::string& text) {
    EGRET_ASSIGN_OR_RETURN(const Mesh line, Mesh::of({{"time", 1}}));
    EGRET_ASSIGN_OR_RETURN(const Placement placement, Placement::parse("time:" + text, line));
    return placement.along(0);
  }

  Status read_ring(const Json& item, PlacedNode& node) const {
    node.kind = Kind::kRing;
    EGRET_ASSIGN_OR_RETURN(const std::string axis, text_of(item, "axis"));
    node.ring.axis = graph_.mesh.find(axis);
    if (node.ring.axis < 0) return base::bad_input("unknown mesh axis '" + axis + "'");
    EGRET_ASSIGN_OR_RETURN(const auto* steps, list_of(item, "steps"));
    for (const Json& one : *steps) {
      EGRET_ASSIGN_OR_RETURN(const std::string text, one.as_string());
      EGRET_ASSIGN_OR_RETURN(const AxisPlacement step, read_step(text));
      node.ring.inputs.push_back({false, step});
    }
    EGRET_ASSIGN_OR_RETURN(const auto* passes, list_of(item, "passes"));
    for (const Json& one : *passes) {
      EGRET_ASSIGN_OR_RETURN(const std::int64_t input, one.as_integer());
      if (input < 0 || input >= static_cast<std::int64_t>(node.ring.inputs.size()))
        return base::bad_input("a ring passes an input that does not exist");
      node.ring.inputs[static_cast<std::size_t>(input)].passes = true;
    }
    EGRET_ASSIGN_OR_RETURN(const auto* nodes, list_of(item, "ring"));
    for (const Json& one : *nodes) EGRET_RETURN_IF_ERROR(read_ring_node(one, node.ring));
    return base::ok();
  }

  Status read_ring_node(const Json& item, Ring& ring) const {
    constexpr std::int64_t kMost = 1 << 20;
    RingNode node;
    EGRET_ASSIGN_OR_RETURN(const auto* inputs, list_of(item, "inputs"));
    for (const Json& one : *inputs) {
      EGRET_ASSIGN_OR_RETURN(const std::int64_t input, one.as_integer());
      if (input < -kMost || input > kMost) return base::bad_input("its input does not exist");
      node.inputs.push_back(static_cast<int>(input));
    }
    EGRET_ASSIGN_OR_RETURN(node.op, operator_of(item, node.inputs.size()));
    EGRET_ASSIGN_OR_RETURN(node.attrs, attrs_of(item, *node.op));
    EGRET_ASSIGN_OR_RETURN(const std::string placement, text_of(item, "placement"));
    EGRET_ASSIGN_OR_RETURN(node.placement, Placement::parse(placement, graph_.mesh));
    EGRET_ASSIGN_OR_RETURN(const std::string step, text_of(item, "step"));
    EGRET_ASSIGN_OR_RETURN(node.step, read_step(step));
    ring.nodes.push_back(std::move(node));
    return base::ok();
  }

  // The attributes of the parts are not in the file: the laws give them.
  Status read_operator(const Json& item, PlacedNode& node) const {
    EGRET_ASSIGN_OR_RETURN(node.op, operator_of(item, node.inputs.size()));
    EGRET_ASSIGN_OR_RETURN(node.attrs, attrs_of(item, *node.op));
    std::vector<ir::TensorType> types;
    std::vector<Placement> placements;
    for (const std::size_t input : node.inputs) {
      types.push_back(graph_.nodes[input].whole);
      placements.push_back(graph_.nodes[input].placement);
    }
    EGRET_RETURN_IF_ERROR(ir::infer_type(*node.op, node.attrs, types).status());
    EGRET_ASSIGN_OR_RETURN(node.part_attrs, part_attrs(*node.op, node.attrs, types, placements,
                                                       node.placement, graph_.mesh));
    return base::ok();
  }

  Status read_collective(const Json& item, PlacedNode& node) const {
    node.kind = Kind::kCollective;
    if (node.inputs.size() != 1) return base::bad_input("a collective must have one input");
    EGRET_ASSIGN_OR_RETURN(const std::string name, text_of(item, "collective"));
    EGRET_ASSIGN_OR_RETURN(const std::string axis, text_of(item, "axis"));
    node.collective.axis = graph_.mesh.find(axis);
    if (node.collective.axis < 0) return base::bad_input("unknown mesh axis '" + axis + "'");
    EGRET_ASSIGN_OR_RETURN(const std::string from, text_of(item, "from"));
    EGRET_ASSIGN_OR_RETURN(const std::string to, text_of(item, "to"));
    node.collective.from = graph_.nodes[node.inputs[0]].placement.along(node.collective.axis);
    node.collective.to = node.placement.along(node.collective.axis);
    const std::string held =
        to_string(node.collective.from) + " to " + to_string(node.collective.to);
    if (name_of(node.collective) != name)
      return base::mismatch("collective '" + name + "' cannot change " + held);
    if (from + " to " + to != held) {
      return base::mismatch("collective '" + name + "' is said to change " + from + " to " + to +
                            ", and what it reads and leaves are " + held);
    }
    return base::ok();
  }

  const FindWeight& weights_;
  PlacedGraph graph_;
};

}  // namespace

// Over the graph's text without its name and metadata, which do not change what it computes.
std::string model_hash(const ir::Graph& model) {
  ir::Graph bare = model;
  bare.name.clear();
  bare.metadata.clear();
  return base::content_hash(ir::to_text(bare)).to_hex();
}

Json to_json(const ParallelPlan& plan, const PlanOrigin& origin) {
  Json json = base::versioned_json();
  json.set("model", origin.model).set("model_hash", origin.model_hash);
  json.set("bind", Json::array(origin.bind));
  if (origin.training) json.set("training", *origin.training);
  json.set("machine", origin.machine).set("mesh", to_string(plan.program.mesh));
  json.set("time_s", plan.time_s).set("bound_s", plan.bound_s);
  json.set("layers", plan.layers);
  json.set("memory_bytes", plan.memory_bytes).set("limit_bytes", plan.limit_bytes);
  Json communication = Json::array();
  for (const Communication& one : plan.communication) {
    communication.push(Json::object()
                           .set("collective", one.collective)
                           .set("axis", one.axis)
                           .set("bytes", one.bytes)
                           .set("count", one.count)
                           .set("time_s", one.time_s));
  }
  json.set("communication", std::move(communication));
  Json baselines = Json::object();
  for (const auto& [name, seconds] : plan.baselines) baselines.set(name, seconds);
  json.set("baselines", std::move(baselines));
  Json facts = Json::object();
  for (const auto& [name, one] : plan.baseline_facts) {
    facts.set(name, Json::object()
                        .set("memory_bytes", one.memory_bytes)
                        .set("fits", plan.limit_bytes <= 0 || one.memory_bytes <= plan.limit_bytes)
                        .set("sharded_inputs", one.divided_inputs));
  }
  json.set("baseline_facts", std::move(facts));
  Json searches = Json::array();
  for (const FoundPlan& one : plan.searches) {
    searches.push(Json::object()
                      .set("search", one.search)
                      .set("time_s", one.time_s)
                      .set("plans", one.plans)
                      .set("seconds", one.seconds)
                      .set("finished", one.finished));
  }
  if (!plan.searches.empty()) json.set("searches", std::move(searches));
  Json runners_up = Json::array();
  for (const RunnerUp& one : plan.runners_up) {
    Json row = Json::object();
    row.set("value", one.name).set("placement", one.placement);
    if (!one.other.empty()) {
      row.set("other", one.other)
          .set("time_s", one.time_s)
          .set("computing_s", one.computing_s)
          .set("sending_s", one.sending_s);
    }
    runners_up.push(std::move(row));
  }
  if (!plan.runners_up.empty()) json.set("runners_up", std::move(runners_up));
  Json placements = Json::object();
  Json program = Json::array();
  for (const PlacedNode& node : plan.program.nodes) {
    if (!node.name.empty()) placements.set(node.name, to_string(node.placement, plan.program.mesh));
    program.push(node_json(node, plan.program.mesh));
  }
  Json outputs = Json::array();
  for (const auto& output : plan.program.outputs) {
    placements.set(output.name,
                   to_string(plan.program.nodes[output.node].placement, plan.program.mesh));
    outputs.push(Json::object()
                     .set("name", output.name)
                     .set("node", static_cast<std::int64_t>(output.node)));
  }
  Json carried = Json::array();
  for (const auto& [node, output] : plan.program.carried) {
    carried.push(Json::object()
                     .set("node", static_cast<std::int64_t>(node))
                     .set("output", static_cast<std::int64_t>(output)));
  }
  json.set("placements", std::move(placements)).set("carried", std::move(carried));
  json.set("program", std::move(program)).set("outputs", std::move(outputs));
  json.set("placed_values", static_cast<std::int64_t>(plan.placed_values))
      .set("placed_nodes", static_cast<std::int64_t>(plan.placed_nodes));
  json.set("check", name_of(plan.check));
  return json.set("seconds", plan.seconds).set("checking", plan.checking);
}

Result<PlanOrigin> read_origin(const Json& plan) {
  if (!plan.is_object() || plan.find("model") == nullptr || plan.find("program") == nullptr)
    return base::bad_input("not a plan of `egret plan`");
  EGRET_RETURN_IF_ERROR(base::check_schema_version(plan, "plans"));
  PlanOrigin origin;
  EGRET_ASSIGN_OR_RETURN(origin.model, text_of(plan, "model"));
  EGRET_ASSIGN_OR_RETURN(origin.model_hash, text_of(plan, "model_hash"));
  EGRET_ASSIGN_OR_RETURN(const auto* bind, list_of(plan, "bind"));
  for (const Json& one : *bind) {
    EGRET_ASSIGN_OR_RETURN(std::string text, one.as_string());
    origin.bind.push_back(std::move(text));
  }
  EGRET_ASSIGN_OR_RETURN(origin.machine, text_of(plan, "machine"));
  if (const Json* training = plan.find("training")) origin.training = *training;
  return origin;
}

Result<PlacedGraph> read_program(const Json& plan, const FindWeight& weights) {
  return ProgramReader(weights).read(plan);
}

}  // namespace egret::parallel
