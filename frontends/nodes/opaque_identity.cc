// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/opaque_identity.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/hash.h"
#include "frontends/nodes/form_changes.h"
#include "frontends/nodes/node_parts.h"
#include "frontends/onnx.pb.h"
#include "frontends/program/captured_names.h"
#include "ir/ops/opaque.h"

namespace egret::frontends {
namespace {

onnx::NodeProto node_of(const OpaqueNode& node) {
  onnx::NodeProto proto;
  proto.ParsePartialFromString(node.proto);
  return proto;
}

bool same_fixed(const FixedInput& a, const FixedInput& b) {
  if (a.index() != b.index()) return false;
  if (const auto* tensor = std::get_if<ir::Tensor>(&a)) {
    const ir::Tensor& other = std::get<ir::Tensor>(b);
    return tensor->type() == other.type() && std::ranges::equal(tensor->data(), other.data());
  }
  const auto* sizes = std::get_if<std::vector<ir::Index>>(&a);
  return sizes == nullptr || std::ranges::equal(*sizes, std::get<std::vector<ir::Index>>(b),
                                                [](ir::Index x, ir::Index y) { return x.same(y); });
}

std::string base_key(const OpaqueNode& node) {
  if (!node.value.empty())
    return "value " + node.value + "#" + base::content_hash(node.tensor).to_hex();
  const onnx::NodeProto named = node_of(node);
  return named.op_type() + (named.name().empty() ? "" : " '" + named.name() + "'") + "#" +
         base::content_hash(without_names(named).SerializeAsString()).to_hex();
}

}  // namespace

onnx::NodeProto without_names(const onnx::NodeProto& node) {
  onnx::NodeProto bare = node;
  std::set<std::string> inner;
  collect_inner_names(bare, inner);
  std::string prefix = "captured ";
  const auto is_taken = [&](const std::string& name) { return name.starts_with(prefix); };
  while (std::ranges::any_of(inner, is_taken)) prefix += "'";
  std::map<std::string, std::string> numbered;
  for (const std::string& name : captured_names(bare))
    numbered.emplace(name, prefix + std::to_string(numbered.size()));
  rename_captured(bare, numbered);
  bare.clear_name();
  bare.clear_doc_string();
  bare.clear_metadata_props();
  for (std::string& name : *bare.mutable_input()) name = name.empty() ? "" : "?";
  for (std::string& name : *bare.mutable_output()) name = "?";
  return bare;
}

// As deep as bodies nest, which protobuf limits to 100.
bool reads_alike(const onnx::NodeProto& node, int from, int to) {
  const auto all = [&](const onnx::GraphProto& body) {
    return std::ranges::all_of(
        body.node(), [&](const onnx::NodeProto& inner) { return reads_alike(inner, from, to); });
  };
  return has_same_form(node.op_type(), from, to) &&
         std::ranges::all_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
           return (!attribute.has_g() || all(attribute.g())) &&
                  std::ranges::all_of(attribute.graphs(), all);
         });
}

void name_by_meaning(ir::Graph& graph, OpaqueNodes& nodes) {
  if (!ir::has_undefined(graph)) return;
  std::map<std::string, std::string> key_of;  // by old key
  std::map<std::string, int> count;
  ir::Graph renamed;
  renamed.copy_header(graph);
  for (const ir::Node& given : graph.nodes()) {
    ir::Node node = given;
    const std::string old = node.op == &ir::opaque_operator() ? node.attrs.text("node") : "";
    if (!old.empty() && ir::body_of(graph, node) == nullptr) {
      const auto [known, is_new] = key_of.try_emplace(old);
      if (is_new) {
        const std::string base = base_key(nodes.at(old));
        const int number = count[base]++;
        known->second = number == 0 ? base : base + "-" + std::to_string(number);
      }
      node.attrs = ir::opaque_attrs(known->second, node.attrs.text("type"));
    }
    renamed.append(std::move(node));
  }
  for (const ir::Graph::Output& output : graph.outputs())
    renamed.add_output(output.name, output.node);
  OpaqueNodes moved;
  for (auto& [key, node] : nodes) {
    const auto found = key_of.find(key);
    moved.emplace(found != key_of.end() ? found->second : key, std::move(node));
  }
  nodes = std::move(moved);
  graph = std::move(renamed);
}

base::Status check_same_meaning(const OpaqueNode& a, const OpaqueNode& b) {
  if (a.value != b.value || a.tensor != b.tensor)
    return base::mismatch("the initializer or input is another one");
  const onnx::NodeProto first = without_names(node_of(a));
  const onnx::NodeProto second = without_names(node_of(b));
  if (first.SerializeAsString() != second.SerializeAsString())
    return base::mismatch("its operator, attributes or bodies differ");
  if (has_external_tensor(first))
    return base::mismatch("a tensor of its attributes or bodies lies in another file");
  if (!std::ranges::equal(a.fixed, b.fixed, [](const auto& x, const auto& y) {
        return x.first == y.first && same_fixed(x.second, y.second);
      }))
    return base::mismatch("its fixed inputs differ");
  const auto [low, high] = std::minmax(a.opset, b.opset);
  const bool alike = low == high || (low > 0 && reads_alike(first, low, high));
  return alike ? base::ok()
               : base::mismatch("opset " + std::to_string(low) + " and opset " +
                                std::to_string(high) + " may read it differently");
}

}  // namespace egret::frontends
