// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/opaque_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/ops/opaque.h"
#include "tests/frontends/onnx_model.h"

namespace egret::frontends {
namespace {

using ::testing::HasSubstr;

// y = Mystery(x), z = Mystery(x), as nodes that Egret lacks.
OnnxModel two_nodes(std::int64_t first, std::int64_t second) {
  OnnxModel model(13);
  model.opset_import("com.example", 3);
  model.input("x", {4});
  for (const auto& [name, number] : {std::pair{"y", first}, std::pair{"z", second}}) {
    model.node("Mystery", {"x"}, {name}).integer("number", number);
    auto* made = model.graph().mutable_node(model.graph().node_size() - 1);
    made->set_domain("com.example");
    model.output(name);
    auto* type = model.graph().mutable_output(model.graph().output_size() - 1);
    auto* tensor = type->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(kFloatCode);
    tensor->mutable_shape()->add_dim()->set_dim_value(4);
  }
  return model;
}

ImportedModel kept(const OnnxModel& model) {
  ImportOptions options;
  options.opaque_nodes = true;
  auto imported = model.import(options);
  EXPECT_TRUE(imported.ok()) << imported.status().message();
  return std::move(imported).value_or(ImportedModel());
}

std::vector<std::string> keys(const ImportedModel& model) {
  std::vector<std::string> all;
  for (const ir::Node& node : model.graph.nodes()) {
    if (node.op == &ir::opaque_operator()) all.push_back(node.attrs.text("node"));
  }
  return all;
}

// Of equal nodes each has a key of its own; they are the same keys in all models.
TEST(OpaqueIdentity, KeysSayWhatANodeIs) {
  const auto same = keys(kept(two_nodes(1, 1)));
  ASSERT_EQ(same.size(), 2);
  EXPECT_NE(same[0], same[1]);
  EXPECT_EQ(same[1], same[0] + "-1");
  const auto other = keys(kept(two_nodes(1, 2)));
  EXPECT_EQ(other[0], same[0]);
  EXPECT_NE(other[1], same[1]);
  OnnxModel renamed = two_nodes(1, 1);
  renamed.graph().mutable_node(0)->set_input(0, "x2");
  renamed.graph().mutable_input(0)->set_name("x2");
  renamed.graph().mutable_node(1)->set_input(0, "x2");
  EXPECT_EQ(keys(kept(renamed)), same);
  for (const auto& [key, node] : kept(two_nodes(1, 1)).info.opaque_nodes)
    EXPECT_THAT(same, testing::Contains(key));
}

OpaqueNode node_of(const std::string& op, int opset) {
  onnx::NodeProto proto;
  proto.set_op_type(op);
  proto.add_input("a");
  proto.add_output("b");
  return {.proto = proto.SerializeAsString(), .opset = opset};
}

TEST(OpaqueIdentity, ComparesMeanings) {
  EXPECT_TRUE(check_same_meaning(node_of("Bernoulli", 15), node_of("Bernoulli", 15)).ok());
  EXPECT_TRUE(check_same_meaning(node_of("Bernoulli", 15), node_of("Bernoulli", 16)).ok());
  EXPECT_THAT(check_same_meaning(node_of("Bernoulli", 15), node_of("Multinomial", 15)).message(),
              HasSubstr("its operator, attributes or bodies differ"));
  EXPECT_THAT(check_same_meaning(node_of("Softmax", 12), node_of("Softmax", 13)).message(),
              HasSubstr("opset 12 and opset 13 may read it differently"));
  OpaqueNode a = node_of("Resize", 13);
  OpaqueNode b = a;
  a.fixed[1] = ir::Tensor::of_integers(ir::Integers{1, 2});
  b.fixed[1] = ir::Tensor::of_integers(ir::Integers{1, 3});
  EXPECT_THAT(check_same_meaning(a, b).message(), HasSubstr("its fixed inputs differ"));
  b.fixed[1] = ir::Tensor::of_integers(ir::Integers{1, 2});
  EXPECT_TRUE(check_same_meaning(a, b).ok());
}

// The nodes of a body are read in the opset of the model, too.
TEST(OpaqueIdentity, BodiesAreReadInTheirOpset) {
  onnx::NodeProto loop;
  loop.set_op_type("Loop");
  onnx::GraphProto& body = *Attributes(&loop).graph("body");
  add_node(body, "Relu", {"a"}, {"b"});
  EXPECT_TRUE(reads_alike(loop, 12, 13));
  add_node(body, "Softmax", {"b"}, {"c"});
  EXPECT_TRUE(reads_alike(loop, 11, 12));
  EXPECT_FALSE(reads_alike(loop, 12, 13));
}

}  // namespace
}  // namespace egret::frontends
