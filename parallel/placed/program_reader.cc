// SPDX-License-Identifier: Apache-2.0
#include "parallel/placed/program_reader.h"

#include <utility>

#include "ir/graph/graph_text.h"
#include "parallel/laws/law_steps.h"
#include "parallel/placed/placed_check.h"

namespace egret::parallel {
namespace {

using base::Json;
using base::Result;
using base::Status;
using Kind = PlacedNode::Kind;

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
  ProgramReader(const FindWeight& weights, LawCache& laws) : weights_(weights), laws_(laws) {}

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
    if (const Json* in_order = plan.find("in_order")) {
      EGRET_ASSIGN_OR_RETURN(graph_.in_order, in_order->as_bool());
    }
    if (const Json* rate = plan.find("storage_bytes_per_second")) {
      EGRET_ASSIGN_OR_RETURN(graph_.storage_bytes_per_second, rate->as_real());
    }
    EGRET_RETURN_IF_ERROR(check(graph_, laws_));
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
    } else if (item.find("back") != nullptr) {
      node.kind = Kind::kBack;
    } else {
      EGRET_RETURN_IF_ERROR(read_collective(item, node));
    }
    if (item.find("again") != nullptr) {
      EGRET_ASSIGN_OR_RETURN(node.again, index_of(item, "again"));
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
    if (ir::element_count(node.whole.shape()) != static_cast<std::int64_t>(values->size()))
      return base::bad_input("the number of values differs from the number of elements");
    node.data = ir::Tensor(node.whole);
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
  Status read_operator(const Json& item, PlacedNode& node) {
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
                                                       node.placement, graph_.mesh, laws_));
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
  LawCache& laws_;
  PlacedGraph graph_;
};

}  // namespace

Result<PlacedGraph> read_program(const Json& plan, const FindWeight& weights) {
  LawCache laws;
  return read_program(plan, weights, laws);
}

Result<PlacedGraph> read_program(const Json& plan, const FindWeight& weights, LawCache& laws) {
  return ProgramReader(weights, laws).read(plan);
}

}  // namespace egret::parallel
