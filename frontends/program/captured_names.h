// SPDX-License-Identifier: Apache-2.0
// The values of the outer graph that the bodies of a node read (Loop, Scan, If).
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

namespace egret::onnx {
class NodeProto;
}

namespace egret::frontends {

// Their names, one for each use in the order of the bodies, so neither their number nor their order
// changes with the names: two values may become one, as equal ones do where a model is optimized.
// Linear in the bodies; no recursion deeper than the nesting of bodies, which protobuf limits to
// 100.
std::vector<std::string> captured_names(const onnx::NodeProto& node);
// Gives captured values other names, one for each use.
void rename_captured(onnx::NodeProto& node, std::span<const std::string> names);
// All names that the bodies define.
void collect_inner_names(const onnx::NodeProto& node, std::set<std::string>& names);

}  // namespace egret::frontends
