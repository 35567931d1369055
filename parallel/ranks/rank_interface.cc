// SPDX-License-Identifier: Apache-2.0
#include "parallel/ranks/rank_interface.h"

#include <algorithm>
#include <string_view>

namespace egret::parallel {
namespace {

constexpr std::size_t kMostPlacements = 4096;  // that are tried for one leaf

// Whether each size of the part divides that of the whole.
bool may_be_cut_to(const ir::TensorType& whole, const ir::TensorType& part) {
  return std::ranges::equal(whole.shape(), part.shape(), [](std::int64_t a, std::int64_t b) {
    return a == b || (b > 0 && a % b == 0);
  });
}

std::string names_of(const ir::Graph& graph) {
  std::string names;
  for (const auto& output : graph.outputs())
    names += (names.empty() ? "'" : ", '") + output.name + "'";
  return names;
}

base::Result<Placement> placement_of_input(const ir::Node& node, const ir::TensorType& whole,
                                           const Mesh& mesh, const NamedPlacements& given) {
  const auto named = given.find(node.name);
  if (named != given.end()) {
    EGRET_ASSIGN_OR_RETURN(const ir::TensorType part, local_type(whole, named->second, mesh));
    if (part == node.type) return named->second;
    return base::mismatch("under " + to_string(named->second, mesh) + " a rank holds " +
                          ir::to_string(part) + " of " + ir::to_string(whole) + ", not " +
                          ir::to_string(node.type));
  }
  const std::vector<Placement> all = fitting(whole, node.type, mesh);
  if (all.empty()) {
    return base::unsupported(ir::to_string(node.type) + " is no part of " + ir::to_string(whole) +
                             " under any placement on " + to_string(mesh));
  }
  if (all.size() == 1) return all.front();
  return base::unsupported("its sizes do not say whether its placement is " +
                           to_string(all[0], mesh) + " or " + to_string(all[1], mesh) +
                           "; name it");
}

using InputTypes = std::map<std::string, const ir::TensorType*>;

Placement placement_to_leave(const std::string& name, const ir::TensorType& whole, const Mesh& mesh,
                             const InputTypes& inputs, const RankInterface& known,
                             const NamedPlacements& given) {
  if (const auto named = given.find(name); named != given.end()) return named->second;
  constexpr std::string_view kNext = ".next";
  if (name.ends_with(kNext)) {
    const std::string before = name.substr(0, name.size() - kNext.size());
    const auto type = inputs.find(before);
    const auto placement = known.inputs.find(before);
    if (type != inputs.end() && *type->second == whole && placement != known.inputs.end())
      return placement->second;
  }
  return Placement(mesh.axis_count());
}

}  // namespace

std::vector<Placement> fitting(const ir::TensorType& whole, const ir::TensorType& part,
                               const Mesh& mesh) {
  if (whole.dtype != part.dtype || !may_be_cut_to(whole, part)) return {};
  std::vector<Placement> all{Placement(mesh.axis_count())};
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (mesh.size(axis) == 1) continue;
    const std::size_t before = all.size();
    for (std::size_t i = 0; i < before; ++i) {
      for (int dim = 0; dim < whole.rank(); ++dim) {
        Placement cut = all[i].with(axis, AxisPlacement::split(dim));
        const auto type = local_type(whole, cut, mesh);
        if (type.ok() && may_be_cut_to(*type, part)) all.push_back(std::move(cut));
      }
    }
    if (all.size() > kMostPlacements) return {};
  }
  std::erase_if(all, [&](const Placement& one) { return *local_type(whole, one, mesh) != part; });
  return all;
}

bool are_same(const Placement& a, const Placement& b, const Mesh& mesh) {
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (mesh.size(axis) == 1) continue;
    if (a.along(axis) != b.along(axis)) return false;
    if (!a.along(axis).is_split()) continue;
    const auto cuts = [&](const Placement& one) {
      std::vector<int> found = one.cuts_of(a.along(axis).dim);
      std::erase_if(found, [&](int other) { return mesh.size(other) == 1; });
      return found;
    };
    if (cuts(a) != cuts(b)) return false;
  }
  return true;
}

base::Result<RankInterface> interface_of(const ir::Graph& rank, const Mesh& mesh,
                                         const ir::Graph& sequential,
                                         const NamedPlacements& given) {
  InputTypes inputs;
  for (const ir::NodeId id : sequential.inputs())
    inputs.emplace(sequential.node(id).name, &sequential.node(id).type);
  RankInterface found;
  for (const ir::NodeId id : rank.inputs()) {
    const ir::Node& node = rank.node(id);
    const auto input = inputs.find(node.name);
    if (input == inputs.end())
      return base::mismatch("the model has no input of this name").at("'" + node.name + "'");
    const auto placement = placement_of_input(node, *input->second, mesh, given);
    if (!placement.ok()) return placement.status().at("'" + node.name + "'");
    found.inputs.insert_or_assign(node.name, *placement);
  }
  if (!std::ranges::equal(rank.outputs(), sequential.outputs(), {}, &ir::Graph::Output::name,
                          &ir::Graph::Output::name)) {
    return base::mismatch("the outputs are " + names_of(rank) + ", and those of the model " +
                          names_of(sequential));
  }
  for (std::size_t i = 0; i < rank.outputs().size(); ++i) {
    const auto& output = sequential.outputs()[i];
    const ir::TensorType& whole = sequential.node(output.node).type;
    const ir::TensorType& own = rank.node(rank.outputs()[i].node).type;
    const Placement placement = placement_to_leave(output.name, whole, mesh, inputs, found, given);
    const auto part = local_type(whole, placement, mesh);
    if (!part.ok()) return part.status().at("output '" + output.name + "'");
    if (*part != own) {
      return base::mismatch("a rank leaves " + ir::to_string(own) + ", and " +
                            to_string(placement, mesh) + " of " + ir::to_string(whole) + " is " +
                            ir::to_string(*part) + "; a placement must be named for blocks")
          .at("output '" + output.name + "'");
    }
    found.outputs.push_back(placement);
  }
  return found;
}

}  // namespace egret::parallel
