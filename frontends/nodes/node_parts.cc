// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/node_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "frontends/onnx.pb.h"
#include "frontends/program/onnx_program.h"
#include "frontends/wire/onnx_tensor.h"

namespace egret::frontends {
namespace {

void for_each_body(const onnx::NodeProto& node,
                   const std::function<void(const onnx::GraphProto&)>& visit) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const onnx::GraphProto& body : attribute.graphs()) visit(body);
  }
}

bool is_external_sparse(const onnx::SparseTensorProto& tensor) {
  return is_external(tensor.values()) || is_external(tensor.indices());
}

// Not those of bodies.
bool has_external_attribute(const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
    return (attribute.has_t() && is_external(attribute.t())) ||
           (attribute.has_sparse_tensor() && is_external_sparse(attribute.sparse_tensor())) ||
           std::ranges::any_of(attribute.tensors(), is_external);
  });
}

}  // namespace

void for_each_node(const onnx::NodeProto& node,
                   const std::function<void(const onnx::NodeProto&)>& visit) {
  visit(node);
  for_each_body(node, [&](const onnx::GraphProto& body) {
    for (const onnx::NodeProto& inner : body.node()) for_each_node(inner, visit);
  });
}

std::set<std::string> foreign_domains(const onnx::NodeProto& node) {
  std::set<std::string> domains;
  for_each_node(node, [&](const onnx::NodeProto& one) {
    if (std::string domain = canonical_domain(one.domain()); !domain.empty())
      domains.insert(std::move(domain));
  });
  return domains;
}

void collect_calls(const onnx::NodeProto& node, const Functions& all, Functions& called) {
  if (all.empty()) return;
  std::vector<const onnx::FunctionProto*> open;
  const auto collect = [&](const onnx::NodeProto& from) {
    for_each_node(from, [&](const onnx::NodeProto& one) {
      const auto found = all.find(function_key(one));
      if (found != all.end() && called.insert(*found).second) open.push_back(found->second);
    });
  };
  collect(node);
  while (!open.empty()) {
    const onnx::FunctionProto& function = *open.back();
    open.pop_back();
    for (const onnx::NodeProto& one : function.node()) collect(one);
  }
}

bool has_external_tensor(const onnx::NodeProto& node) {
  bool found = has_external_attribute(node);
  for_each_body(node,
                [&](const onnx::GraphProto& body) { found = found || has_external_tensor(body); });
  return found;
}

bool has_external_tensor(const onnx::GraphProto& graph) {
  return std::ranges::any_of(graph.initializer(), is_external) ||
         std::ranges::any_of(graph.sparse_initializer(), is_external_sparse) ||
         std::ranges::any_of(graph.node(),
                             [](const onnx::NodeProto& node) { return has_external_tensor(node); });
}

}  // namespace egret::frontends
