// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "parallel/ranks/rank_programs.h"

namespace egret::parallel {

// The ranks with which a rank exchanges, in the order of their blocks: those that the exchange
// lists, those along the axis that it names, or all. Errors: bad_input for an axis that the mesh
// lacks, a list that is not of different ranks or lacks the rank itself, and where list, axis and
// group_size contradict each other. O(size of the group).
base::Result<std::vector<std::int64_t>> group_of(const RankCollective& step, const Mesh& mesh,
                                                 std::int64_t rank);

// The axis of the mesh along which all ranks exchange. nullopt: each rank is alone in its group, so
// the exchange changes nothing. `steps` has the exchange of each rank, or one that all ranks run.
// Errors: those of group_of(); unsupported where the groups are not those along an axis, in its
// order.
base::Result<std::optional<int>> exchange_axis(std::span<const RankCollective* const> steps,
                                               const Mesh& mesh);

}  // namespace egret::parallel
