// SPDX-License-Identifier: Apache-2.0
// What belongs to a node that stays as it is, beside the node: its bodies (Loop, Scan, If), the
// functions that it calls, and the files that its tensors lie in. Linear in these; no recursion
// deeper than the nesting of bodies, which protobuf limits to 100.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

namespace egret::onnx {
class FunctionProto;
class GraphProto;
class NodeProto;
}  // namespace egret::onnx

namespace egret::frontends {

// Visits the node, and then those of its bodies and of the bodies in them.
void for_each_node(const onnx::NodeProto& node,
                   const std::function<void(const onnx::NodeProto&)>& visit);

// The domains of these nodes other than ai.onnx.
std::set<std::string> foreign_domains(const onnx::NodeProto& node);

// Functions by function_key() (frontends/program/onnx_program.h).
using Functions = std::map<std::string, const onnx::FunctionProto*>;
// Adds the functions that these nodes call, and those that functions among `all` call in turn.
void collect_calls(const onnx::NodeProto& node, const Functions& all, Functions& called);

// Whether elements of a tensor among the attributes or in a body lie in another file.
bool has_external_tensor(const onnx::NodeProto& node);
bool has_external_tensor(const onnx::GraphProto& graph);

}  // namespace egret::frontends
