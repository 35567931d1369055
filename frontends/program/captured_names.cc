// SPDX-License-Identifier: Apache-2.0
#include "frontends/program/captured_names.h"

#include <functional>

#include "frontends/onnx.pb.h"

namespace egret::frontends {
namespace {

void collect_defined(const onnx::GraphProto& graph, std::set<std::string>& names) {
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
}

// Calls `use` with each name that a body reads from outside of all bodies of the node.
using Use = std::function<void(std::string& name)>;

void visit_body(onnx::GraphProto& graph, std::set<std::string> inner, const Use& use);

void visit_bodies(onnx::NodeProto& node, const std::set<std::string>& inner, const Use& use) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) visit_body(*attribute.mutable_g(), inner, use);
    for (auto& graph : *attribute.mutable_graphs()) visit_body(graph, inner, use);
  }
}

void visit_body(onnx::GraphProto& graph, std::set<std::string> inner, const Use& use) {
  collect_defined(graph, inner);
  const auto read = [&](std::string& name) {
    if (!name.empty() && !inner.contains(name)) use(name);
  };
  for (auto& node : *graph.mutable_node()) {
    for (std::string& name : *node.mutable_input()) read(name);
    visit_bodies(node, inner, use);
  }
  for (auto& output : *graph.mutable_output()) read(*output.mutable_name());
}

}  // namespace

std::vector<std::string> captured_names(const onnx::NodeProto& node) {
  onnx::NodeProto copy = node;
  std::vector<std::string> names;
  std::set<std::string> known;
  visit_bodies(copy, {}, [&](std::string& name) {
    if (known.insert(name).second) names.push_back(name);
  });
  return names;
}

void rename_captured(onnx::NodeProto& node, const std::map<std::string, std::string>& names) {
  visit_bodies(node, {}, [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  });
}

void collect_inner_names(const onnx::NodeProto& node, std::set<std::string>& names) {
  for (const auto& attribute : node.attribute()) {
    const auto collect = [&](const onnx::GraphProto& graph) {
      collect_defined(graph, names);
      for (const auto& inner : graph.node()) collect_inner_names(inner, names);
    };
    if (attribute.has_g()) collect(attribute.g());
    for (const auto& graph : attribute.graphs()) collect(graph);
  }
}

}  // namespace egret::frontends
