// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/node_headers.h"

#include <set>
#include <vector>

#include "frontends/onnx.pb.h"

namespace egret::frontends {
namespace {

const std::string& first_output(const onnx::NodeProto& node) {
  static const std::string none;
  for (const std::string& name : node.output()) {
    if (!name.empty()) return name;
  }
  return none;
}

}  // namespace

NodeHeaders headers_of(const onnx::GraphProto& graph) {
  NodeHeaders headers;
  for (const onnx::NodeProto& node : graph.node()) {
    const bool bare =
        node.name().empty() && node.doc_string().empty() && node.metadata_props().empty();
    if (bare || first_output(node).empty()) continue;
    onnx::NodeProto header;
    header.set_op_type(node.op_type());
    if (!node.domain().empty()) header.set_domain(node.domain());
    if (!node.name().empty()) header.set_name(node.name());
    if (!node.doc_string().empty()) header.set_doc_string(node.doc_string());
    *header.mutable_metadata_props() = node.metadata_props();
    headers.emplace(first_output(node), header.SerializeAsString());
  }
  return headers;
}

void put_headers(const NodeHeaders& headers, onnx::GraphProto& graph) {
  std::set<std::string> names;
  std::vector<onnx::NodeProto*> rest;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    const auto found = headers.find(first_output(node));
    onnx::NodeProto header;
    const bool same = found != headers.end() && header.ParseFromString(found->second) &&
                      header.op_type() == node.op_type() && header.domain() == node.domain();
    if (!same) {
      rest.push_back(&node);
      continue;
    }
    if (!header.name().empty()) node.set_name(header.name());
    if (!header.doc_string().empty()) node.set_doc_string(header.doc_string());
    *node.mutable_metadata_props() = header.metadata_props();
    names.insert(node.name());
  }
  for (onnx::NodeProto* node : rest) {
    std::string name = node->name();
    for (int i = 1; !name.empty() && !names.insert(name).second; ++i)
      name = node->name() + "_" + std::to_string(i);
    node->set_name(name);
  }
}

}  // namespace egret::frontends
