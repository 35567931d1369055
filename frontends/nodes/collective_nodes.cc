// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/collective_nodes.h"

#include <algorithm>
#include <array>

#include "frontends/onnx.pb.h"

namespace egret::frontends {
namespace {

constexpr std::array<std::string_view, 2> kMicrosoft{"AllReduce", "AllGather"};
constexpr std::array<std::string_view, 5> kOwn{"AllReduce", "AllGather", "ReduceScatter",
                                               "AllToAll", "Shard"};

bool is_collective(const onnx::NodeProto& node) {
  const std::string_view type = node.op_type();
  if (node.domain() == kCollectiveDomain) return std::ranges::find(kOwn, type) != kOwn.end();
  return node.domain() == "com.microsoft" &&
         std::ranges::find(kMicrosoft, type) != kMicrosoft.end();
}

// Kinds of attributes, as onnx.proto numbers them.
enum AttributeType { kInteger = 2, kText = 3, kIntegers = 7 };

onnx::AttributeProto& attribute(onnx::NodeProto& node, const std::string& name,
                                AttributeType type) {
  onnx::AttributeProto& made = *node.add_attribute();
  made.set_name(name);
  made.set_type(type);
  return made;
}

}  // namespace

std::optional<CollectiveNode> collective_node(const OpaqueNode& opaque) {
  onnx::NodeProto node;
  if (!node.ParsePartialFromString(opaque.proto) || !is_collective(node) || node.input_size() != 1)
    return std::nullopt;
  CollectiveNode found{node.op_type()};
  for (const onnx::AttributeProto& one : node.attribute()) {
    if (one.name() == "ranks") {
      found.ranks.assign(one.ints().begin(), one.ints().end());
    } else if (one.has_s()) {
      found.texts[one.name()] = one.s();
    } else {
      found.numbers[one.name()] = one.i();
    }
  }
  return found;
}

OpaqueNode opaque_node(const CollectiveNode& collective) {
  onnx::NodeProto node;
  node.set_op_type(collective.op_type);
  node.set_domain(std::string(kCollectiveDomain));
  node.add_input("x");
  node.add_output("y");
  for (const auto& [name, number] : collective.numbers)
    attribute(node, name, kInteger).set_i(number);
  for (const auto& [name, text] : collective.texts) attribute(node, name, kText).set_s(text);
  if (!collective.ranks.empty()) {
    onnx::AttributeProto& ranks = attribute(node, "ranks", kIntegers);
    for (const std::int64_t rank : collective.ranks) ranks.add_ints(rank);
  }
  OpaqueNode opaque;
  node.SerializeToString(&opaque.proto);
  return opaque;
}

}  // namespace egret::frontends
