// SPDX-License-Identifier: Apache-2.0
// Strongly connected components of a directed graph (Tarjan 1972).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace egret::base {

// Vertex v has edges to targets[begin[v]] .. targets[begin[v + 1] - 1]; `begin` has one entry more
// than there are vertices. For each vertex the number of its component; those that an edge leads to
// have lower numbers. O(vertices + edges), with a stack of its own.
std::vector<std::uint32_t> strong_components(std::span<const std::uint32_t> begin,
                                             std::span<const std::uint32_t> targets);

}  // namespace egret::base
