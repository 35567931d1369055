// SPDX-License-Identifier: Apache-2.0
#include "parallel/ranks/exchange_axis.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

namespace egret::parallel {
namespace {

using Ranks = std::vector<std::int64_t>;

std::string listed(std::span<const std::int64_t> ranks) {
  std::string text;
  for (const std::int64_t rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

base::Status check_list(const Ranks& group, const Mesh& mesh, std::int64_t rank) {
  const std::set<std::int64_t> different(group.begin(), group.end());
  if (different.size() != group.size() || *different.begin() < 0 ||
      *different.rbegin() >= mesh.ranks()) {
    return base::bad_input("the group " + listed(group) + " is no list of different ranks of " +
                           to_string(mesh));
  }
  if (different.contains(rank)) return base::ok();
  return base::bad_input("rank " + std::to_string(rank) + " is not in its group " + listed(group));
}

// The one axis with more than one device, if the group is all ranks.
std::optional<int> only_axis(const Mesh& mesh) {
  std::optional<int> only;
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (mesh.size(axis) == 1) continue;
    if (only) return std::nullopt;
    only = axis;
  }
  return only;
}

base::Status in_another_order(std::int64_t rank, const Ranks& found, const Mesh& mesh, int axis) {
  return base::unsupported("rank " + std::to_string(rank) + " exchanges with ranks " +
                           listed(found) + " in this order, and along the axis '" +
                           mesh.axis(axis).name + "' they are " + listed(mesh.group(rank, axis)));
}

// Of groups by rank.
base::Result<std::optional<int>> axis_of(std::span<const Ranks> groups, const Mesh& mesh) {
  if (std::ranges::all_of(groups, [](const Ranks& group) { return group.size() == 1; }))
    return std::optional<int>();
  std::optional<base::Status> near;  // the right ranks in another order
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    bool same = true;
    for (std::size_t i = 0; same && i < groups.size(); ++i) {
      const auto rank = static_cast<std::int64_t>(i);
      const Ranks expected = mesh.group(rank, axis);
      same = expected == groups[i];
      if (!same && std::ranges::is_permutation(expected, groups[i]))
        near = in_another_order(rank, groups[i], mesh, axis);
    }
    if (same) return std::optional(axis);
  }
  if (near) return *near;
  return base::unsupported("the group of ranks " + listed(groups.front()) + " is no axis of " +
                           to_string(mesh));
}

}  // namespace

base::Result<std::vector<std::int64_t>> group_of(const RankCollective& step, const Mesh& mesh,
                                                 std::int64_t rank) {
  Ranks group;
  if (!step.axis.empty()) {
    const int axis = mesh.find(step.axis);
    if (axis < 0)
      return base::bad_input("the mesh " + to_string(mesh) + " has no axis '" + step.axis + "'");
    group = mesh.group(rank, axis);
    if (!step.group.empty() && step.group != group) {
      return base::bad_input("rank " + std::to_string(rank) + " exchanges with ranks " +
                             listed(step.group) + ", and along the axis '" + step.axis +
                             "' that it names they are " + listed(group));
    }
  } else if (!step.group.empty()) {
    EGRET_RETURN_IF_ERROR(check_list(step.group, mesh, rank));
    group = step.group;
  } else {
    group.resize(static_cast<std::size_t>(mesh.ranks()));
    std::iota(group.begin(), group.end(), 0);
  }
  const auto size = static_cast<std::int64_t>(group.size());
  if (step.size != 0 && step.size != size) {
    return base::bad_input("group_size is " + std::to_string(step.size) + ", and rank " +
                           std::to_string(rank) + " exchanges with " + std::to_string(size) +
                           " ranks, itself included");
  }
  return group;
}

base::Result<std::optional<int>> exchange_axis(std::span<const RankCollective* const> steps,
                                               const Mesh& mesh) {
  const RankCollective& first = *steps.front();
  EGRET_ASSIGN_OR_RETURN(Ranks group, group_of(first, mesh, 0));
  if (steps.size() == 1) {  // a mesh may have many more ranks than there are files
    const bool all = static_cast<std::int64_t>(group.size()) == mesh.ranks();
    if (!first.group.empty() && !all) {
      const std::set<std::int64_t> members(group.begin(), group.end());
      std::int64_t rank = 0;
      while (members.contains(rank)) ++rank;
      EGRET_RETURN_IF_ERROR(group_of(first, mesh, rank).status());
    }
    if (!first.axis.empty()) {
      const int axis = mesh.find(first.axis);
      return mesh.size(axis) == 1 ? std::optional<int>() : std::optional(axis);
    }
    if (mesh.ranks() == 1) return std::optional<int>();
    const std::optional<int> only = only_axis(mesh);
    if (!only) return base::unsupported("it does not say along which axis of " + to_string(mesh));
    if (group != mesh.group(0, *only)) return in_another_order(0, group, mesh, *only);
    return only;
  }
  const bool unsaid = std::ranges::all_of(
      steps, [](const RankCollective* step) { return step->axis.empty() && step->group.empty(); });
  std::vector<Ranks> groups{std::move(group)};
  for (std::size_t rank = 1; rank < steps.size(); ++rank) {
    EGRET_ASSIGN_OR_RETURN(Ranks next,
                           group_of(*steps[rank], mesh, static_cast<std::int64_t>(rank)));
    groups.push_back(std::move(next));
  }
  if (unsaid && mesh.ranks() > 1 && !only_axis(mesh))
    return base::unsupported("it does not say along which axis of " + to_string(mesh));
  return axis_of(groups, mesh);
}

}  // namespace egret::parallel
