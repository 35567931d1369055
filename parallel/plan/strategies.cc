// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/strategies.h"

#include <algorithm>
#include <array>

namespace egret::parallel {
namespace {

using ir::TensorType;
using Role = LeafRole;

Placement cut_by_all(int dim, const Mesh& mesh) {
  Placement placement(mesh.axis_count());
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (mesh.size(axis) > 1) placement = placement.with(axis, AxisPlacement::split(dim));
  }
  return placement;
}

bool is_cut_by_all(const Placement& placement, const Mesh& mesh) {
  for (int axis = 0; axis < placement.axis_count(); ++axis) {
    if (mesh.size(axis) > 1 && !placement.along(axis).is_split()) return false;
  }
  return true;
}

bool any(Role, const TensorType&, const Placement&, const Mesh&) { return true; }

bool single(Role, const TensorType&, const Placement& placement, const Mesh&) {
  return placement.is_copy();
}

bool data(Role role, const TensorType&, const Placement& placement, const Mesh& mesh) {
  if (role == Role::kConstant) return true;
  return role == Role::kInput ? placement == cut_by_all(0, mesh) : placement.is_copy();
}

bool tensor(Role role, const TensorType& whole, const Placement& placement, const Mesh& mesh) {
  if (role == Role::kInput) return placement.is_copy();
  return role == Role::kConstant || whole.rank() < 2 || whole.elements() == 1 ||
         is_cut_by_all(placement, mesh);
}

bool zero_1(Role role, const TensorType& whole, const Placement& placement, const Mesh& mesh) {
  return role == Role::kState ? placement == even_cut(whole, mesh)
                              : data(role, whole, placement, mesh);
}

bool zero_3(Role role, const TensorType& whole, const Placement& placement, const Mesh& mesh) {
  return role == Role::kParameter ? placement == even_cut(whole, mesh)
                                  : zero_1(role, whole, placement, mesh);
}

// The first dimension that the last axis of the mesh can cut; a copy if there is none.
Placement even_cut_along_last(const TensorType& whole, const Mesh& mesh) {
  for (int dim = 0; dim < whole.rank(); ++dim) {
    const Placement placement =
        Placement(mesh.axis_count()).with(mesh.axis_count() - 1, AxisPlacement::split(dim));
    if (local_type(whole, placement, mesh).ok()) return placement;
  }
  return Placement(mesh.axis_count());
}

bool hybrid_zero(Role role, const TensorType& whole, const Placement& placement, const Mesh& mesh) {
  return role == Role::kParameter || role == Role::kState
             ? placement == even_cut_along_last(whole, mesh)
             : data(role, whole, placement, mesh);
}

// Whether the last axis alone, or all others, cut something (CUT), or hold copies.
bool is_cut_along(const Placement& placement, const Mesh& mesh, bool last, bool cut) {
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (mesh.size(axis) == 1 || (axis + 1 == mesh.axis_count()) != last) continue;
    if (placement.along(axis).is_split() != cut) return false;
  }
  return true;
}

bool data_tensor(Role role, const TensorType& whole, const Placement& placement, const Mesh& mesh) {
  if (role == Role::kConstant) return true;
  if (role == Role::kInput) {
    return placement == cut_by_all(0, mesh).with(mesh.axis_count() - 1, AxisPlacement::copy());
  }
  const bool is_matrix = whole.rank() >= 2 && whole.elements() > 1;
  return is_cut_along(placement, mesh, /*last=*/false, /*cut=*/false) &&
         (!is_matrix || is_cut_along(placement, mesh, /*last=*/true, /*cut=*/true));
}

// A stack of matrices is taken for one of each expert.
bool expert(Role role, const TensorType& whole, const Placement& placement, const Mesh& mesh) {
  constexpr int kStackRank = 3;
  return role != Role::kInput && role != Role::kConstant && whole.rank() == kStackRank
             ? placement == cut_by_all(0, mesh)
             : data(role, whole, placement, mesh);
}

constexpr std::array kStrategies{
    Strategy{"any", "whatever takes least time", false, false, true, any},
    Strategy{"single", "every device computes everything", false, true, false, single},
    Strategy{"data", "inputs are cut in their first dimension, all else is copied", false, true,
             false, data},
    Strategy{"tensor",
             "inputs are copies, weights of two dimensions or more are cut (of multilayer "
             "perceptrons and transformers: Megatron-LM's)",
             false, true, true, tensor},
    Strategy{"data-tensor", "tensor along the last axis of the mesh, data along the others", false,
             false, true, data_tensor},
    Strategy{"expert", "data, with stacks of matrices cut in their first dimension (GShard's)",
             false, false, false, expert},
    Strategy{"zero-1", "data, with the optimizer's state in blocks", true, true, true, zero_1},
    Strategy{"zero-3", "zero-1, with the parameters in blocks too", true, true, true, zero_3},
    Strategy{"hybrid-zero",
             "data, with parameters and state in blocks along the last axis of the mesh", true,
             false, true, hybrid_zero},
};

}  // namespace

std::span<const Strategy> strategies() { return kStrategies; }

const Strategy* find_strategy(std::string_view name) {
  const auto found = std::ranges::find(kStrategies, name, &Strategy::name);
  return found == kStrategies.end() ? nullptr : &*found;
}

// The first dimension that all axes together can cut; a copy if there is none, as for scalars and
// odd sizes.
Placement even_cut(const TensorType& whole, const Mesh& mesh) {
  for (int dim = 0; dim < whole.rank(); ++dim) {
    const Placement placement = cut_by_all(dim, mesh);
    if (local_type(whole, placement, mesh).ok()) return placement;
  }
  return Placement(mesh.axis_count());
}

}  // namespace egret::parallel
