// SPDX-License-Identifier: Apache-2.0
#include "driver/proofs/rank_models.h"

#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "frontends/nodes/collective_nodes.h"
#include "ir/ops/opaque.h"

namespace egret::driver {
namespace {

namespace fs = std::filesystem;
using frontends::CollectiveNode;
using ir::NodeId;
using parallel::RankCollective;
using Kind = RankCollective::Kind;

constexpr std::pair<std::string_view, Kind> kKinds[] = {{"AllReduce", Kind::kAllReduce},
                                                        {"AllGather", Kind::kAllGather},
                                                        {"ReduceScatter", Kind::kReduceScatter},
                                                        {"AllToAll", Kind::kAllToAll},
                                                        {"Shard", Kind::kSlice}};

// `rank`: of the tensor. Errors: bad_input.
base::Result<RankCollective> read_collective(const CollectiveNode& node, int rank) {
  RankCollective step;
  for (const auto& [name, kind] : kKinds) {
    if (name == node.op_type) step.kind = kind;
  }
  const auto dim = [&](const char* name, int& result) {
    const auto found = node.numbers.find(name);
    const std::int64_t axis = found == node.numbers.end() ? 0 : found->second;
    if (axis < -rank || axis >= rank)
      return base::bad_input(std::string(name) + " " + std::to_string(axis) +
                             " is no axis of a tensor of rank " + std::to_string(rank));
    result = static_cast<int>(axis < 0 ? axis + rank : axis);
    return base::ok();
  };
  const bool swaps = step.kind == Kind::kAllToAll;
  if (step.kind != Kind::kAllReduce)
    EGRET_RETURN_IF_ERROR(dim(swaps ? "split_axis" : "axis", step.dim));
  if (swaps) EGRET_RETURN_IF_ERROR(dim("concat_axis", step.from_dim));
  if (const auto text = node.texts.find("reduction"); text != node.texts.end()) {
    if (text->second != "sum" && text->second != "max")
      return base::bad_input("there is no reduction '" + text->second + "'; it is sum or max");
    step.maximum = text->second == "max";
  }
  if (const auto text = node.texts.find("mesh_axis"); text != node.texts.end())
    step.axis = text->second;
  step.group = node.ranks;
  if (const auto size = node.numbers.find("group_size"); size != node.numbers.end()) {
    if (size->second < 1) return base::bad_input("group_size is " + std::to_string(size->second));
    step.size = size->second;
  }
  return step;
}

// The name of a rank's file: its number.
std::optional<std::size_t> number_of(const std::string& file) {
  std::string_view name = file;
  if (!name.starts_with("rank") || !name.ends_with(".onnx")) return std::nullopt;
  name = name.substr(4, name.size() - 9);
  if (name.starts_with("_")) name.remove_prefix(1);
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

ir::Integers sizes_of(const ir::TensorType& type) {
  const auto shape = type.shape();
  return {shape.begin(), shape.end()};
}

CollectiveNode to_node(const parallel::Collective& step, const parallel::Mesh& mesh) {
  const std::string_view name = parallel::name_of(step);
  CollectiveNode node;
  node.numbers["group_size"] = mesh.size(step.axis);
  node.texts["mesh_axis"] = mesh.axis(step.axis).name;
  if (step.from.is_partial())
    node.texts["reduction"] = step.from.kind == parallel::AxisPlacement::Kind::kMax ? "max" : "sum";
  if (name == "all_reduce") {
    node.op_type = "AllReduce";
  } else if (name == "all_gather") {
    node.op_type = "AllGather";
    node.numbers["axis"] = step.from.dim;
  } else if (name == "all_to_all") {
    node.op_type = "AllToAll";
    node.numbers["split_axis"] = step.to.dim;
    node.numbers["concat_axis"] = step.from.dim;
  } else {
    node.op_type = name == "reduce_scatter" ? "ReduceScatter" : "Shard";
    node.numbers["axis"] = step.to.dim;
  }
  return node;
}

}  // namespace

base::Result<parallel::RankProgram> rank_program(const frontends::ImportedModel& model) {
  const ir::Graph graph = ir::expand_bodies(model.graph);
  parallel::RankProgram program;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    ir::Node node = graph.node(NodeId(i));
    if (node.op == &ir::opaque_output()) {
      const NodeId whole = node.inputs.front();
      const std::string& key = graph.node(whole).attrs.text("node");
      const auto known = model.info.opaque_nodes.find(key);
      const std::string place = "node '" + node.name + "'";
      std::optional<CollectiveNode> found;
      if (known != model.info.opaque_nodes.end()) {
        auto read = frontends::collective_node(known->second);
        if (!read.ok()) return read.status().at(place);
        found = *std::move(read);
      }
      if (!found || graph.node(whole).inputs.size() != 1) {
        return base::unsupported("node '" + node.name + "' of type " +
                                 graph.node(whole).attrs.text("type") +
                                 " is no exchange between ranks, and Egret does not define it");
      }
      auto step = read_collective(*found, node.type.rank());
      if (!step.ok()) return step.status().at(place);
      program.collectives.emplace(NodeId(i), *std::move(step));
      node.inputs = graph.node(whole).inputs;
    }
    program.graph.append(std::move(node));
  }
  for (const auto& output : graph.outputs()) program.graph.add_output(output.name, output.node);
  program.graph.copy_header(graph);
  return program;
}

base::Status remove_other_ranks(const std::string& folder, std::int64_t ranks) {
  std::error_code error;
  std::vector<fs::path> others;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const auto number = number_of(name);
    const bool is_own = number && name == "rank" + std::to_string(*number) + ".onnx";
    if (is_own && *number >= static_cast<std::size_t>(ranks)) others.push_back(entry->path());
  }
  for (const fs::path& other : others) {
    if (!error) fs::remove(other, error);
  }
  return error ? base::unavailable(folder + ": " + error.message()) : base::ok();
}

base::Result<std::vector<std::string>> rank_files(const std::string& folder) {
  std::map<std::size_t, std::string> found;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const auto number = number_of(entry->path().filename().string());
    if (!number) continue;
    const auto [known, is_new] = found.emplace(*number, entry->path().string());
    if (is_new) continue;
    return base::bad_input(known->second + " and " + entry->path().string() + " are both of rank " +
                           std::to_string(*number));
  }
  if (error) return base::bad_input(folder + ": " + error.message());
  if (found.empty()) return base::bad_input("no file rank0.onnx, rank1.onnx, ...").at(folder);
  std::vector<std::string> files;
  for (const auto& [number, file] : found) {
    if (number != files.size())
      return base::bad_input("there is no rank " + std::to_string(files.size())).at(folder);
    files.push_back(file);
  }
  return files;
}

base::Status check_rank_models(const parallel::PlacedGraph& placed) {
  for (std::size_t i = 0; i < placed.nodes.size(); ++i) {
    const parallel::PlacedNode& node = placed.nodes[i];
    if (node.kind != parallel::PlacedNode::Kind::kRing && !node.placement.has_halo()) continue;
    return base::unsupported("rings and halos have no ONNX operator")
        .at("node " + std::to_string(i));
  }
  return base::ok();
}

base::Result<frontends::ExportedModel> rank_model(const parallel::PlacedGraph& placed,
                                                  std::int64_t rank,
                                                  const frontends::OnnxModelInfo& source) {
  using Node = parallel::PlacedNode::Kind;
  EGRET_RETURN_IF_ERROR(check_rank_models(placed));
  frontends::OnnxModelInfo info = source;
  ir::Graph graph;
  std::vector<NodeId> made;
  for (std::size_t i = 0; i < placed.nodes.size(); ++i) {
    const parallel::PlacedNode& node = placed.nodes[i];
    std::vector<NodeId> inputs;
    for (const std::size_t input : node.inputs) inputs.push_back(made[input]);
    if (node.kind == Node::kBack) {
      made.push_back(inputs.front());
    } else if (node.kind == Node::kInput) {
      made.push_back(
          graph.append({.kind = ir::NodeKind::kInput, .type = node.type, .name = node.name}));
    } else if (node.kind == Node::kConstant) {
      made.push_back(
          graph.append({.kind = ir::NodeKind::kConstant,
                        .type = node.type,
                        .data = parallel::block_of(node.data, node.placement, placed.mesh, rank),
                        .name = node.name}));
    } else if (node.kind == Node::kOperator) {
      made.push_back(graph.append({.op = node.op,
                                   .attrs = node.part_attrs,
                                   .inputs = std::move(inputs),
                                   .type = node.type,
                                   .name = node.name}));
    } else {
      const CollectiveNode step = to_node(node.collective, placed.mesh);
      const std::string name = "exchanged" + std::to_string(i);
      info.opaque_nodes[name] = frontends::opaque_node(step);
      info.typed_values.insert(name);
      const NodeId whole = graph.append({.op = &ir::opaque_operator(),
                                         .attrs = ir::opaque_attrs(name, "egret::" + step.op_type),
                                         .inputs = std::move(inputs)});
      made.push_back(
          graph.append({.op = &ir::opaque_output(),
                        .attrs = ir::opaque_output_attrs(0, node.type.dtype, sizes_of(node.type)),
                        .inputs = {whole},
                        .type = node.type,
                        .name = name}));
    }
  }
  for (const auto& output : placed.outputs) graph.add_output(output.name, made[output.node]);
  graph.name = "rank " + std::to_string(rank);
  graph.metadata[kMeshKey] = parallel::to_string(placed.mesh);
  EGRET_RETURN_IF_ERROR(graph.check_invariants());
  return frontends::export_onnx(graph, info, {});
}

}  // namespace egret::driver
