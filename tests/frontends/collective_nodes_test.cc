// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/collective_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "frontends/onnx.pb.h"

namespace egret::frontends {
namespace {

using ::testing::HasSubstr;

OpaqueNode node_of(const char* type, const std::function<void(onnx::NodeProto&)>& change = {}) {
  onnx::NodeProto node;
  node.set_op_type(type);
  node.set_domain("egret");
  node.add_input("x");
  node.add_output("y");
  if (change) change(node);
  OpaqueNode opaque;
  node.SerializeToString(&opaque.proto);
  return opaque;
}

std::string error_of(const char* type, const std::function<void(onnx::NodeProto&)>& change) {
  const auto found = collective_node(node_of(type, change));
  if (found.ok()) return *found ? "" : "another node";
  EXPECT_EQ(found.status().code(), base::StatusCode::kBadInput);
  return found.status().message();
}

onnx::AttributeProto& attribute(onnx::NodeProto& node, const char* name, int type) {
  onnx::AttributeProto& made = *node.add_attribute();
  made.set_name(name);
  made.set_type(type);
  return made;
}

TEST(CollectiveNodes, AreReadAsTheyAreWritten) {
  const CollectiveNode written{
      "AllReduce", {{"group_size", 2}}, {{"reduction", "max"}, {"mesh_axis", "x"}}, {0, 1}};
  const auto read = collective_node(opaque_node(written));
  ASSERT_TRUE(read.ok() && read->has_value()) << read.status().message();
  EXPECT_EQ((*read)->op_type, "AllReduce");
  EXPECT_EQ((*read)->numbers, written.numbers);
  EXPECT_EQ((*read)->texts, written.texts);
  EXPECT_EQ((*read)->ranks, written.ranks);
  EXPECT_EQ(error_of("Relu", {}), "another node");
}

// ONNX Runtime would refuse them or do something else.
TEST(CollectiveNodes, HaveNoOtherAttributes) {
  const auto add = [](const char* name, int type) {
    return [=](onnx::NodeProto& node) { attribute(node, name, type).set_s("avg"); };
  };
  EXPECT_EQ(error_of("AllReduce", add("reduction", 3)), "");
  EXPECT_EQ(error_of("AllReduce", add("op", 3)), "AllReduce: it has no attribute 'op'");
  EXPECT_EQ(error_of("AllGather", add("reduction", 3)),
            "AllGather: it has no attribute 'reduction'");
  EXPECT_EQ(error_of("AllGather", add("split_axis", 3)),
            "AllGather: it has no attribute 'split_axis'");
  EXPECT_EQ(error_of("AllReduce",
                     [&](onnx::NodeProto& node) {
                       add("reduction", 3)(node);
                       add("reduction", 3)(node);
                     }),
            "AllReduce: attribute 'reduction' is given twice");
}

TEST(CollectiveNodes, HaveAttributesOfTheRightType) {
  EXPECT_THAT(
      error_of("AllGather", [](onnx::NodeProto& node) { attribute(node, "axis", 1).set_f(1); }),
      HasSubstr("attribute 'axis' must be an integer"));
  EXPECT_THAT(error_of("AllReduce",
                       [](onnx::NodeProto& node) { attribute(node, "reduction", 2).set_i(1); }),
              HasSubstr("attribute 'reduction' must be a string"));
  EXPECT_THAT(
      error_of("AllReduce", [](onnx::NodeProto& node) { attribute(node, "ranks", 2).set_i(1); }),
      HasSubstr("attribute 'ranks' must be a list of integers"));
  EXPECT_THAT(error_of("AllReduce", [](onnx::NodeProto& node) { node.add_input("z"); }),
              HasSubstr("one input and one result"));
}

}  // namespace
}  // namespace egret::frontends
