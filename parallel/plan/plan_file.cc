// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/plan_file.h"

namespace egret::parallel {
namespace {

using base::Json;
using base::Result;
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
    case Kind::kBack: json.set("back", true); break;
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
  if (node.again) json.set("again", static_cast<std::int64_t>(*node.again));
  json.set("placement", to_string(node.placement, mesh));
  json.set("type", ir::to_string(node.whole));
  return json;
}

Json to_json(const PlanRecomputation& one) {
  return Json::object()
      .set("computations", static_cast<std::int64_t>(one.computations))
      .set("copies_back", static_cast<std::int64_t>(one.copies))
      .set("time_s", one.time_s)
      .set("bound_s", one.bound_s)
      .set("placed_time_s", one.placed_time_s);
}

Result<std::string> text_of(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  if (found == nullptr) return base::bad_input("'" + std::string(key) + "' is missing");
  return found->as_string();
}

}  // namespace

Json to_json(const ParallelPlan& plan, const PlanOrigin& origin) {
  Json json = base::versioned_json();
  json.set("model", origin.model).set("model_hash", origin.model_hash);
  json.set("bind", Json::array(origin.bind));
  if (origin.training) json.set("training", *origin.training);
  json.set("machine", origin.machine).set("mesh", to_string(plan.program.mesh));
  json.set("time_s", plan.time_s).set("bound_s", plan.bound_s);
  if (plan.overlaps) json.set("overlap", true).set("sequential_s", plan.sequential_s);
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
  if (plan.program.in_order) json.set("in_order", true);
  if (plan.program.storage_bytes_per_second > 0)
    json.set("storage_bytes_per_second", plan.program.storage_bytes_per_second);
  if (plan.recomputation) json.set("recomputation", to_json(*plan.recomputation));
  json.set("placed_values", static_cast<std::int64_t>(plan.placed_values))
      .set("placed_nodes", static_cast<std::int64_t>(plan.placed_nodes));
  json.set("check", name_of(plan.check)).set("interrupted", plan.interrupted);
  return json.set("seconds", plan.seconds).set("checking", plan.checking);
}

Result<PlanOrigin> read_origin(const Json& plan) {
  if (!plan.is_object() || plan.find("model") == nullptr || plan.find("program") == nullptr)
    return base::bad_input("not a plan of `egret plan`");
  EGRET_RETURN_IF_ERROR(base::check_schema_version(plan, "plans"));
  PlanOrigin origin;
  EGRET_ASSIGN_OR_RETURN(origin.model, text_of(plan, "model"));
  EGRET_ASSIGN_OR_RETURN(origin.model_hash, text_of(plan, "model_hash"));
  const Json* bind = plan.find("bind");
  if (bind == nullptr || !bind->is_array()) return base::bad_input("'bind' must be a list");
  for (const Json& one : bind->items()) {
    EGRET_ASSIGN_OR_RETURN(std::string text, one.as_string());
    origin.bind.push_back(std::move(text));
  }
  EGRET_ASSIGN_OR_RETURN(origin.machine, text_of(plan, "machine"));
  if (const Json* training = plan.find("training")) origin.training = *training;
  return origin;
}

}  // namespace egret::parallel
