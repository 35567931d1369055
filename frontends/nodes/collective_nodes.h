// SPDX-License-Identifier: Apache-2.0
// Nodes of ONNX models that exchange values between ranks. To Egret they are opaque.
//
// The operators AllReduce and AllGather of com.microsoft, as ONNX Runtime has them, and these of
// the domain "egret":
//
//   AllReduce      group_size, reduction ("sum", "max")
//   AllGather      group_size, axis
//   ReduceScatter  group_size, axis, reduction
//   AllToAll       group_size, split_axis (cut afterwards), concat_axis (cut before)
//   Shard          group_size, axis: keeps a block, and sends nothing
//
// All may have mesh_axis, the name of an axis of the mesh, or ranks, those of the group in the
// order of their blocks. Without both, the group is all ranks. Other attributes are refused, since
// they could change what a node does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "frontends/nodes/opaque_nodes.h"

namespace egret::frontends {

inline constexpr std::string_view kCollectiveDomain = "egret";

struct CollectiveNode {
  std::string op_type;
  std::map<std::string, std::int64_t> numbers{};
  std::map<std::string, std::string> texts{};
  std::vector<std::int64_t> ranks{};
};

// nullopt: the node is something else. Errors: bad_input for an attribute that the operator does
// not have, of another type, or given twice, and for a node with other than one input and result.
base::Result<std::optional<CollectiveNode>> collective_node(const OpaqueNode& node);
// Of the domain "egret".
OpaqueNode opaque_node(const CollectiveNode& node);

}  // namespace egret::frontends
