// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/opaque_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "frontends/program/captured_names.h"
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

// y of f32[4], declared.
void declare_y(OnnxModel& model) {
  model.output("y");
  auto* tensor = model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(kFloatCode);
  tensor->mutable_shape()->add_dim()->set_dim_value(4);
}

// y = Loop(x), with a body of one node. Its graph is given to `fill`.
template <typename Fill>
OnnxModel looping(const Fill& fill) {
  OnnxModel model(13);
  model.input("x", {4});
  onnx::GraphProto& body = *model.node("Loop", {"", "", "x"}, {"y"}).graph("body");
  body.set_name("body");
  for (const char* name : {"i", "c", "v"}) body.add_input()->set_name(name);
  fill(body);
  add_node(body, "Identity", {"c"}, {"d"});
  for (const char* name : {"d", "w"}) body.add_output()->set_name(name);
  declare_y(model);
  return model;
}

// A Loop whose body calls my::F, which calls my::G, which applies that operator; my::H is not
// called.
OnnxModel loop_of_functions(const std::string& op, int version = 1) {
  OnnxModel model = looping([](onnx::GraphProto& body) {
    add_node(body, "F", {"v"}, {"w"});
    body.mutable_node(0)->set_domain("my");
  });
  model.opset_import("my", version);
  for (const char* name : {"F", "G", "H"}) {
    auto& function = *model.proto.add_functions();
    function.set_domain("my");
    function.set_name(name);
    function.add_input("a");
    function.add_output("b");
    add_node(function, *name == 'F' ? "G" : *name == 'G' ? op : "Abs", {"a"}, {"b"});
    if (*name == 'F') function.mutable_node(0)->set_domain("my");
    auto* opset = function.add_opset_import();
    opset->set_domain("");
    opset->set_version(13);
  }
  return model;
}

TEST(OpaqueIdentity, ComparesTheFunctionsThatBodiesCall) {
  const ImportedModel one = kept(loop_of_functions("Relu"));
  ASSERT_EQ(keys(one).size(), 1);
  EXPECT_EQ(one.info.functions.size(), 2);
  EXPECT_TRUE(check_same_nodes(one.info, kept(loop_of_functions("Relu")).info).ok());
  EXPECT_THAT(check_same_nodes(one.info, kept(loop_of_functions("Neg")).info).message(),
              HasSubstr("the functions that it calls differ"));
  EXPECT_THAT(check_same_nodes(one.info, kept(loop_of_functions("Relu", 2)).info).message(),
              HasSubstr("the domain 'my' has the versions 1 and 2"));
}

TEST(OpaqueIdentity, ExportKeepsTheFunctionsThatBodiesCall) {
  const ImportedModel one = kept(loop_of_functions("Relu", 7));
  const auto exported = export_onnx(one.graph, one.info);
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  EXPECT_EQ(exported->opsets.at("my"), 7);
  const auto again = import_written(*exported, {.opaque_nodes = true});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->info.functions, one.info.functions);
  EXPECT_TRUE(check_same_nodes(one.info, again->info).ok());
}

// The bodies of nodes of other domains are in the opset of the model.
TEST(OpaqueIdentity, ComparesTheOpsetOfBodiesOfForeignNodes) {
  const auto foreign = [](const char* op, int opset) {
    OnnxModel model = looping([&](onnx::GraphProto& body) { add_node(body, op, {"v"}, {"w"}); });
    model.opset_import("my", 1);
    model.graph().mutable_node(0)->set_domain("my");
    model.proto.mutable_opset_import(0)->set_version(opset);
    return kept(model).info;
  };
  EXPECT_TRUE(check_same_nodes(foreign("Relu", 12), foreign("Relu", 13)).ok());
  EXPECT_THAT(check_same_nodes(foreign("Softmax", 12), foreign("Softmax", 13)).message(),
              HasSubstr("opset 12 and opset 13 may read its bodies differently"));
}

// Two models that name the same file may lie in two folders.
TEST(OpaqueIdentity, RefusesTensorsInOtherFiles) {
  const auto put_elsewhere = [](onnx::TensorProto& tensor) {
    fill_header(&tensor, "t", kFloatCode, {4});
    tensor.set_data_location(1);
    auto* location = tensor.add_external_data();
    location->set_key("location");
    location->set_value("w.bin");
  };
  const OnnxModel in_body = looping([&](onnx::GraphProto& body) {
    put_elsewhere(*body.add_initializer());
    add_node(body, "Add", {"v", "t"}, {"w"});
  });
  OnnxModel in_attribute(13);
  in_attribute.opset_import("my", 1);
  in_attribute.input("x", {4});
  put_elsewhere(*in_attribute.node("Custom", {"x"}, {"y"}).tensor("weights"));
  in_attribute.graph().mutable_node(0)->set_domain("my");
  declare_y(in_attribute);
  OnnxModel in_function = loop_of_functions("Relu");
  auto& constant = *in_function.proto.mutable_functions(1)->add_node();
  constant.set_op_type("Constant");
  constant.add_output("unused");
  put_elsewhere(*Attributes(&constant).tensor("value"));
  for (const OnnxModel& model : {in_body, in_attribute, in_function}) {
    const OnnxModelInfo info = kept(model).info;
    ASSERT_EQ(info.opaque_nodes.size(), 1);
    EXPECT_THAT(check_same_nodes(info, info).message(), HasSubstr("lies in another file"));
  }
}

// A node that reads the values `first` and `second` of the outer graph within a body; the body
// calls a value of its own `inner`.
onnx::NodeProto reading(const std::string& inner, const std::string& first,
                        const std::string& second) {
  onnx::NodeProto loop;
  loop.set_op_type("Loop");
  onnx::GraphProto& body = *Attributes(&loop).graph("body");
  add_node(body, "Relu", {"i"}, {inner});
  add_node(body, "Sub", {first, second}, {"s"});
  add_node(body, "Add", {inner, "s"}, {"t"});
  return loop;
}

TEST(OpaqueIdentity, CapturedValuesAreNoInnerOnes) {
  const auto text = [](const onnx::NodeProto& node) {
    return without_names(node).SerializeAsString();
  };
  // The first value that a body captures, and one of the body's own of that name.
  for (const std::string inner : {"captured 0", "captured 1", "captured '1"}) {
    onnx::NodeProto outer = reading(inner, "v", "w");
    outer.mutable_attribute(0)->mutable_g()->mutable_node(2)->set_input(1, "v");
    onnx::NodeProto own = outer;
    own.mutable_attribute(0)->mutable_g()->mutable_node(2)->set_input(1, inner);
    EXPECT_NE(text(outer), text(own)) << inner;
    EXPECT_EQ(text(reading(inner, "v", "w")), text(reading(inner, "a", "b"))) << inner;
  }
}

// An export may call captured values otherwise, in another alphabetical order: they are operands in
// the order in which bodies read them.
TEST(OpaqueIdentity, CapturedValuesAreInTheOrderOfTheirUse) {
  EXPECT_EQ(captured_names(reading("r", "b", "a")), (std::vector<std::string>{"i", "b", "a"}));
  EXPECT_EQ(without_names(reading("r", "a", "b")).SerializeAsString(),
            without_names(reading("r", "b", "a")).SerializeAsString());
  const auto model_of = [](const std::string& first, const std::string& second) {
    OnnxModel model = looping([&](onnx::GraphProto& body) {
      add_node(body, "Sub", {first, second}, {"s"});
      add_node(body, "Add", {"v", "s"}, {"w"});
    });
    model.node("Neg", {"x"}, {first});
    model.node("Abs", {"x"}, {second});
    return kept(model);
  };
  const ImportedModel one = model_of("a", "b");
  const ImportedModel other = model_of("b", "a");
  EXPECT_EQ(keys(one), keys(other));
  for (const ImportedModel* model : {&one, &other}) {
    for (const ir::Node& node : model->graph.nodes()) {
      if (node.op != &ir::opaque_operator()) continue;
      ASSERT_EQ(node.inputs.size(), 3);
      EXPECT_EQ(model->graph.node(node.inputs[1]).op->name(), "neg");
      EXPECT_EQ(model->graph.node(node.inputs[2]).op->name(), "abs");
    }
  }
}

// A value of unknown type is another one than a value of f32[], which has one element.
TEST(OpaqueIdentity, ValuesOfUnknownTypeDifferFromDeclaredOnes) {
  const auto symbols = [](bool declared) {
    OnnxModel model(13);
    model.opset_import("my", 1);
    model.input("x", {4});
    model.node("Custom1", {"x"}, {"c"});
    model.node("Custom2", {"c"}, {"y"});
    for (auto& node : *model.graph().mutable_node()) node.set_domain("my");
    declare_y(model);
    if (declared) {
      auto* value = model.graph().add_value_info();
      value->set_name("c");
      value->mutable_type()->mutable_tensor_type()->set_elem_type(kFloatCode);
      value->mutable_type()->mutable_tensor_type()->mutable_shape();
    }
    std::vector<ir::Attrs> all;
    const ImportedModel imported = kept(model);
    for (const ir::Node& node : imported.graph.nodes()) {
      if (node.op == &ir::opaque_output()) all.push_back(node.attrs);
    }
    return all;
  };
  const auto known = symbols(true);
  const auto unknown = symbols(false);
  ASSERT_EQ(known.size(), 2);
  ASSERT_EQ(unknown.size(), 2);
  EXPECT_NE(known[0], unknown[0]);
  EXPECT_EQ(known[1], unknown[1]);
}

}  // namespace
}  // namespace egret::frontends
