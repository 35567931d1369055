// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/collective_nodes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

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
enum AttributeType { kUnstated = 0, kInteger = 2, kText = 3, kIntegers = 7 };

struct AttributeRow {
  std::string_view name;
  AttributeType type;
  std::string_view operators;  // that have it; empty: all
};
constexpr AttributeRow kAttributes[] = {
    {"group_size", kInteger, ""},
    {"mesh_axis", kText, ""},
    {"ranks", kIntegers, ""},
    {"reduction", kText, "AllReduce ReduceScatter"},
    {"axis", kInteger, "AllGather ReduceScatter Shard"},
    {"split_axis", kInteger, "AllToAll"},
    {"concat_axis", kInteger, "AllToAll"},
};

// Errors: bad_input.
base::Status check_attribute(const std::string& op_type, const onnx::AttributeProto& one) {
  const auto row = std::ranges::find(kAttributes, one.name(), &AttributeRow::name);
  if (row == std::end(kAttributes) ||
      (!row->operators.empty() && row->operators.find(op_type) == std::string_view::npos))
    return base::bad_input("it has no attribute '" + one.name() + "'");
  const bool filled = row->type == kInteger ? one.has_i()
                      : row->type == kText  ? one.has_s()
                                            : one.ints_size() > 0;
  const auto type = static_cast<int>(one.type());
  // Files of early versions of ONNX state no types.
  if (!filled || (type != row->type && type != kUnstated) || !one.ref_attr_name().empty()) {
    return base::bad_input("attribute '" + one.name() + "' must be " +
                           (row->type == kInteger ? "an integer"
                            : row->type == kText  ? "a string"
                                                  : "a list of integers that is not empty"));
  }
  return base::ok();
}

onnx::AttributeProto& attribute(onnx::NodeProto& node, const std::string& name,
                                AttributeType type) {
  onnx::AttributeProto& made = *node.add_attribute();
  made.set_name(name);
  made.set_type(type);
  return made;
}

}  // namespace

base::Result<std::optional<CollectiveNode>> collective_node(const OpaqueNode& opaque) {
  onnx::NodeProto node;
  if (!node.ParsePartialFromString(opaque.proto) || !is_collective(node))
    return std::optional<CollectiveNode>();
  if (node.input_size() != 1 || node.output_size() != 1)
    return base::bad_input(node.op_type() + " has one input and one result");
  CollectiveNode found{node.op_type()};
  std::set<std::string> names;
  for (const onnx::AttributeProto& one : node.attribute()) {
    EGRET_RETURN_IF_ERROR(check_attribute(node.op_type(), one).at(node.op_type()));
    if (!names.insert(one.name()).second)
      return base::bad_input(node.op_type() + ": attribute '" + one.name() + "' is given twice");
    if (one.name() == "ranks") {
      found.ranks.assign(one.ints().begin(), one.ints().end());
    } else if (one.has_s()) {
      found.texts[one.name()] = one.s();
    } else {
      found.numbers[one.name()] = one.i();
    }
  }
  return std::optional(std::move(found));
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
