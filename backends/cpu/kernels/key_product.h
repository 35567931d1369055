// SPDX-License-Identifier: Apache-2.0
// Products of one row with a computed matrix that lies transposed: the scores of one query with the
// keys of a cache. Each column of the matrix is contiguous, so each result is a dot product of two
// runs of memory.
//
// Each key is used once, so reading the keys bounds the time. A chain of pointwise operators behind
// the product runs on each block of results.
//
// The squares of the keys' lengths, by which a norm of the keys divides the scores, may be computed
// in the same pass.
#pragma once

#include <span>

#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// For a matmul. Errors: unsupported where it is not such a product, where the matrix is constant or
// lies otherwise, and where the chain is not ProductChain's. Only reorders of inputs have been
// added in that case.
base::Status make_key_product(PlanBuilder& builder, const Group& group);

// Whether make_joint_key_product() makes one kernel of the nodes, ascending, that stores the values
// of the last and of these nodes: the product, the transposition of its keys and the chain; and, if
// the nodes have it, the sum or the mean of the keys' squares along their width. O(nodes^2).
bool is_joint_key_product(const ir::Graph& graph, std::span<const ir::NodeId> nodes,
                          std::span<const ir::NodeId> stored, Precision precision);
// Errors: unsupported where an operand of the chain is not ProductChain's. Only reorders of inputs
// have been added in that case.
base::Status make_joint_key_product(PlanBuilder& builder, const Group& group,
                                    std::span<const ir::NodeId> stored);

}  // namespace egret::backends::cpu
