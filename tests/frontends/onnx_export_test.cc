// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "ir/graph/graph_text.h"
#include "ir/graph/operator_registration.h"
#include "tests/frontends/onnx_model.h"

namespace egret::frontends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Tensor;
using ir::TensorType;
using ir::Value;
using testing::ElementsAre;
using testing::IsEmpty;

onnx::ModelProto parsed(const ExportedModel& model) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(model.bytes));
  return proto;
}

std::vector<std::string> op_types(const onnx::ModelProto& proto) {
  std::vector<std::string> types;
  for (const auto& node : proto.graph().node()) types.push_back(node.op_type());
  return types;
}

ir::Graph finish(GraphBuilder& b) {
  auto graph = b.finish();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

ExportedModel exported(const ir::Graph& graph, const OnnxModelInfo& info = {},
                       const ExportOptions& options = {}) {
  auto model = export_onnx(graph, info, options);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? *std::move(model) : ExportedModel{};
}

TEST(OnnxExport, TheSameGraphGivesTheSameBytes) {
  const auto build = [] {
    GraphBuilder b;
    const Value x = b.input("x", TensorType(DType::kF32, {2, 3}));
    const Value w = b.constant(Tensor::filled(TensorType(DType::kF32, {3, 3}), 0.5));
    b.output("y", b.add("softmax", {b.add("matmul", {x, w})}, {{"axis", std::int64_t{1}}}));
    return finish(b);
  };
  EXPECT_EQ(exported(build()).bytes, exported(build()).bytes);
}

TEST(OnnxExport, CountedTypesHaveTheirDomain) {
  ir::register_operator(ir::primitive("test_negative", "-x", {"x"})
                            .defined_by([](ir::Definition& d) {
                              d.pointwise([](ir::Scalar x) { return ir::Scalar(0) - x; });
                            })
                            .onnx_export([](ir::OnnxWriter& writer) {
                              writer.emit("Negative", {writer.input(0)}, {}, "org.example");
                              return base::ok();
                            }));
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF32, {2, 3}));
  b.output("y", b.add("relu", {b.add("test_negative", {x})}));
  const auto counts = count_onnx_operators(finish(b));
  ASSERT_TRUE(counts.ok()) << counts.status().message();
  EXPECT_THAT(*counts,
              ElementsAre(testing::Pair("Relu", 1), testing::Pair("org.example::Negative", 1)));
}

TEST(OnnxExport, SlicesThatAreAWholeAreOneSplit) {
  const auto build = [](std::int64_t last_start) {
    GraphBuilder b;
    const Value x = b.input("x", TensorType(DType::kF32, {2, 7}));
    const auto piece = [&](std::int64_t start, std::int64_t size) {
      return b.add(
          "slice", {x},
          {{"axis", std::int64_t{1}}, {"start", start}, {"size", size}, {"step", std::int64_t{1}}});
    };
    b.output("c", piece(last_start, 7 - last_start));
    b.output("a", piece(0, 2));
    b.output("b", piece(2, 3));
    return finish(b);
  };
  for (const std::int64_t opset : {11, 17}) {
    OnnxModelInfo info;
    info.opsets[""] = opset;
    const ExportedModel model = exported(build(5), info);
    EXPECT_THAT(op_types(parsed(model)), ElementsAre("Split"));
    EXPECT_THAT(parsed(model).graph().node(0).output(), ElementsAre("a", "b", "c"));
    const auto again = import_onnx_bytes(std::as_bytes(std::span(model.bytes)), "");
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_THAT(to_text(again->graph), testing::HasSubstr("start=5"));
    EXPECT_THAT(op_types(parsed(exported(build(4), info))), ElementsAre("Slice", "Slice", "Slice"));
  }
}

TEST(OnnxExport, InputsOutputsAndMetadataAreKept) {
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF32, ir::Dims{ir::symbolic_dim("N"), 3}));
  b.output("y", b.add("relu", {x}));
  ir::Graph graph = finish(b);
  graph.name = "little";
  graph.metadata["author"] = "somebody";
  const auto proto = parsed(exported(graph, {.opsets = {{"", 9}}, .doc_string = "doc"},
                                     {.manifest = {{"egret.version", "1"}}}));
  EXPECT_EQ(proto.graph().name(), "little");
  EXPECT_EQ(proto.doc_string(), "doc");
  EXPECT_EQ(proto.opset_import(0).version(), 9);
  ASSERT_EQ(proto.metadata_props_size(), 2);
  EXPECT_EQ(proto.metadata_props(0).key(), "author");
  EXPECT_EQ(proto.metadata_props(1).key(), "egret.version");
  EXPECT_EQ(proto.graph().input(0).name(), "x");
  EXPECT_EQ(proto.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_EQ(proto.graph().output(0).name(), "y");
}

TEST(OnnxExport, NamesOfSizesAreWrittenAsTheyWereRead) {
  GraphBuilder b;
  b.output("y", b.add("relu", {b.input("x", TensorType(DType::kF32, {ir::symbolic_dim("N.0")}))}));
  const auto proto = parsed(exported(finish(b)));
  EXPECT_EQ(proto.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "N.0");
}

TEST(OnnxExport, AnOutputThatIsAnInputOrNamedTwiceIsCopied) {
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF32, {2}));
  const Value y = b.add("relu", {x});
  b.output("x", x);  // the very input: nothing to write
  b.output("copy", x);
  b.output("y", y);
  b.output("z", y);
  const auto proto = parsed(exported(finish(b)));
  EXPECT_THAT(op_types(proto), ElementsAre("Relu", "Identity", "Identity"));
  EXPECT_EQ(proto.graph().node(1).output(0), "copy");
  EXPECT_EQ(proto.graph().node(2).output(0), "z");
  EXPECT_EQ(proto.graph().node(2).input(0), "y");
}

TEST(OnnxExport, CompositesYoungerThanTheOpsetAreWrittenAsTheirBody) {
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF32, {2, 4}));
  b.output("y", b.add("gelu", {x}));
  const ir::Graph graph = finish(b);
  const ExportedModel old = exported(graph, {.opsets = {{"", 13}}});
  EXPECT_EQ(old.opsets.at(""), 13);
  EXPECT_THAT(old.raised_for, IsEmpty());
  EXPECT_GT(parsed(old).graph().node_size(), 3);
  EXPECT_THAT(op_types(parsed(exported(graph, {.opsets = {{"", 20}}}))), ElementsAre("Gelu"));
}

TEST(OnnxExport, CompositesRaiseTheOpsetAsFarAsIsAsked) {
  GraphBuilder b;
  const TensorType row(DType::kF32, {4});
  const Value x = b.input("x", TensorType(DType::kF32, {2, 4}));
  b.output("y", b.add("layer_norm", {x, b.input("scale", row), b.input("bias", row)},
                      {{"axis", std::int64_t{1}}, {"epsilon", 1e-5}}));
  const ir::Graph graph = finish(b);
  const OnnxModelInfo info{.opsets = {{"", 13}}};
  const ExportedModel whole = exported(graph, info, {.opset_for_composites = 17});
  EXPECT_EQ(whole.opsets.at(""), 17);
  EXPECT_EQ(whole.raised_for, "layer_norm");
  EXPECT_THAT(op_types(parsed(whole)), ElementsAre("LayerNormalization"));
  const ExportedModel body = exported(graph, info, {.opset_for_composites = 16});
  EXPECT_EQ(body.opsets.at(""), 13);
  EXPECT_GT(parsed(body).graph().node_size(), 5);
}

TEST(OnnxExport, PrimitivesYoungerThanTheOpsetRaiseIt) {
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kI32, {2}));
  b.output("y", b.add("bit_and", {x, x}));
  const ExportedModel model = exported(finish(b), {.opsets = {{"", 13}}});
  EXPECT_EQ(model.opsets.at(""), 18);
  EXPECT_EQ(model.raised_for, "bit_and");
  EXPECT_GE(parsed(model).ir_version(), 8);
}

TEST(OnnxExport, PaddingBetweenElementsIsPaddingOfAxesOfOneElement) {
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF32, {2, 3}));
  b.output("y", b.add("pad", {x},
                      {{"before", ir::Integers{0, 1}},
                       {"after", ir::Integers{0, -1}},
                       {"interior", ir::Integers{0, 2}},
                       {"value", 9.0}}));
  const ir::Graph graph = finish(b);
  const ExportedModel model = exported(graph);
  EXPECT_THAT(op_types(parsed(model)), ElementsAre("Reshape", "Pad", "Reshape", "Pad"));
  const auto again = import_onnx_bytes(std::as_bytes(std::span(model.bytes)), "");
  ASSERT_TRUE(again.ok()) << again.status().message();
  base::Random random(1);
  const std::vector inputs{Tensor::random(graph.node(graph.inputs()[0]).type, random)};
  const auto expected = ir::interpret(graph, inputs);
  const auto actual = ir::interpret(again->graph, inputs);
  ASSERT_TRUE(expected.ok() && actual.ok());
  EXPECT_TRUE(std::ranges::equal((*expected)[0].data(), (*actual)[0].data()));
}

TEST(OnnxExport, WeightsGoToAnotherFileOnRequestAndComeBack) {
  const std::string folder = testing::TempDir() + "/egret_export";
  std::filesystem::create_directories(folder);
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF32, {64}));
  const Tensor large = Tensor::filled(TensorType(DType::kF32, {1024, 64}), 0.25);
  const Tensor small = Tensor::filled(TensorType(DType::kF32, {64}), 2);
  const Value sum =
      b.add("add", {b.add("mul", {x, b.constant(small, "small")}), b.constant(large, "large")});
  b.output("y", sum);
  ExportedModel model = exported(
      finish(b), {}, {.external_data_path = folder + "/model.data", .always_external = true});
  EXPECT_EQ(model.external_bytes, 1024 * 64 * 4);
  EXPECT_LT(model.bytes.size(), 4096U);
  ASSERT_TRUE(model.write(folder + "/model.onnx").ok());
  const auto again = import_onnx(folder + "/model.onnx");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_THAT(again->data_files, ElementsAre(folder + "/model.data"));
  int found = 0;
  for (const ir::Node& node : again->graph.nodes()) {
    if (node.name == "large") found += node.data.content_hash() == large.content_hash() ? 1 : 0;
    if (node.name == "small") found += node.data.content_hash() == small.content_hash() ? 1 : 0;
  }
  EXPECT_EQ(found, 2);
  std::filesystem::remove_all(folder);
}

TEST(OnnxExport, WeightsStayAsTheyWereWhereTheModelCannotBeWritten) {
  const std::string folder = testing::TempDir() + "/egret_export_fails";
  const std::string data = folder + "/model.data";
  std::filesystem::create_directories(folder + "/model.onnx");  // no place for a file
  ASSERT_TRUE(base::write_file(data, "weights of another model").ok());
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF32, {64}));
  const Tensor large = Tensor::filled(TensorType(DType::kF32, {1024, 64}), 0.25);
  b.output("y", b.add("add", {x, b.constant(large, "large")}));
  {
    ExportedModel model =
        exported(finish(b), {}, {.external_data_path = data, .always_external = true});
    EXPECT_EQ(*base::read_file(data, 1 << 20), "weights of another model");
    EXPECT_FALSE(model.write(folder + "/model.onnx").ok());
  }
  EXPECT_EQ(*base::read_file(data, 1 << 20), "weights of another model");
  const auto entries = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 2) << "no temporary file stays";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace egret::frontends
