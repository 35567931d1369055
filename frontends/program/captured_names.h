// SPDX-License-Identifier: Apache-2.0
// The values of the outer graph that the bodies of a node read (Loop, Scan, If).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace egret::onnx {
class NodeProto;
}

namespace egret::frontends {

// Their names, each once, in the order in which the bodies first read them: it does not change
// with the names. Linear in the bodies; no recursion deeper than the nesting of bodies, which
// protobuf limits to 100.
std::vector<std::string> captured_names(const onnx::NodeProto& node);
// Gives captured values other names.
void rename_captured(onnx::NodeProto& node, const std::map<std::string, std::string>& names);
// All names that the bodies define.
void collect_inner_names(const onnx::NodeProto& node, std::set<std::string>& names);

}  // namespace egret::frontends
