// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "base/system/file.h"
#include "ir/evaluate/interpreter.h"
#include "tests/frontends/onnx_model.h"

namespace egret::frontends {
namespace {

using base::StatusCode;
using ir::DType;
using ir::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> operators(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Node& node : graph.nodes()) {
    if (node.op != nullptr) names.push_back(node.op->name());
  }
  return names;
}

std::vector<double> run(const ir::Graph& graph, const std::vector<Tensor>& inputs) {
  const auto outputs = ir::interpret(graph, inputs, {.precision = ir::Precision::kF32});
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  std::vector<double> values;
  for (std::int64_t i = 0; outputs.ok() && i < outputs->front().elements(); ++i)
    values.push_back(outputs->front().f64_at(i));
  return values;
}

Tensor vector(std::vector<double> values) {
  return Tensor::of(DType::kF32, ir::Shape{static_cast<std::int64_t>(values.size())}, values);
}

TEST(OnnxImport, NamesAndDescriptionsAreKept) {
  OnnxModel m(12);
  m.proto.set_producer_name("maker");
  m.proto.set_doc_string("what it is");
  m.proto.set_domain("org.example");
  m.proto.set_model_version(5);
  auto* entry = m.proto.add_metadata_props();
  entry->set_key("author");
  entry->set_value("somebody");
  m.input("x", {2});
  m.node("Relu", {"x"}, {"middle"});
  m.node("Neg", {"middle"}, {"y"});
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->info.opsets.at(""), 12);
  EXPECT_EQ(model->info.ir_version, 8);
  EXPECT_EQ(model->info.producer_name, "maker");
  EXPECT_EQ(model->info.doc_string, "what it is");
  EXPECT_EQ(model->info.domain, "org.example");
  EXPECT_EQ(model->info.model_version, 5);
  EXPECT_EQ(model->graph.metadata.at("author"), "somebody");
  EXPECT_EQ(model->graph.node(model->graph.inputs()[0]).name, "x");
  EXPECT_EQ(model->graph.node(ir::NodeId(1)).name, "middle");
  EXPECT_EQ(model->graph.outputs()[0].name, "y");
}

TEST(OnnxImport, DimensionsWithoutASizeAreSymbols) {
  OnnxModel m;
  auto* shape = m.input("x", {});
  shape->add_dim()->set_dim_param("N");
  shape->add_dim();
  shape->add_dim()->set_dim_value(4);
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(to_string(model->graph.node(model->graph.outputs()[0].node).type), "f32[N,x_1,4]");

  const auto bound = m.import({.bind = {{"N", 8}, {"x_1", 2}}});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(to_string(bound->graph.node(bound->graph.outputs()[0].node).type), "f32[8,2,4]");

  const auto wrong = m.import({.bind = {{"M", 8}}});
  EXPECT_EQ(wrong.status().code(), StatusCode::kUsage);
  EXPECT_THAT(wrong.status().message(), HasSubstr("'M'"));
  EXPECT_THAT(wrong.status().message(), HasSubstr("'N', 'x_1'"));
}

TEST(OnnxImport, WhatFailsForWantOfSizesNamesThoseThatAreOpen) {
  OnnxModel m;
  m.input("x", {})->add_dim()->set_dim_param("p2o.Dim.0");
  m.input("shape", {1}, kInt64Code);
  m.node("Reshape", {"x", "shape"}, {"y"});
  m.output("y");
  const auto open = m.import();
  EXPECT_EQ(open.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(open.status().message(), HasSubstr("; inputs with open sizes: 'x' f32[p2o.Dim.0]"));
  const auto bound = m.import({.bind = {{"p2o.Dim.0", 8}}});
  EXPECT_EQ(bound.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(bound.status().message(), ::testing::Not(HasSubstr("p2o.Dim.0")));
}

TEST(OnnxImport, InitializersThatAreListedAsInputsAreConstants) {
  OnnxModel m;
  m.proto.set_ir_version(3);
  m.input("x", {2});
  m.input("w", {2});
  auto* w = m.initializer("w", kFloatCode, {2});
  w->add_float_data(1);
  w->add_float_data(2);
  m.node("Add", {"x", "w"}, {"y"});
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->graph.inputs().size(), 1U);
  EXPECT_THAT(run(model->graph, {vector({10, 20})}), ElementsAre(11, 22));
}

TEST(OnnxImport, InitializersAreWhatTheirInputsDeclare) {
  const auto error = [](const std::vector<std::int64_t>& declared, int code) {
    OnnxModel m;
    m.input("x", {2});
    m.input("w", declared, code);
    m.initializer("w", kFloatCode, {2})->set_raw_data(std::string(8, '\0'));
    m.node("Add", {"x", "w"}, {"y"});
    m.output("y");
    const auto model = m.import();
    return model.ok() ? "" : model.status().message();
  };
  EXPECT_EQ(error({2}, kFloatCode), "");
  EXPECT_THAT(error({3}, kFloatCode),
              HasSubstr("initializer 'w': is f32[2], but is declared as a graph input of type "));
  EXPECT_THAT(error({2, 1}, kFloatCode), HasSubstr("[2,1]"));
  EXPECT_THAT(error({2}, kInt64Code), HasSubstr("initializer 'w': is f32[2]"));
}

TEST(OnnxImport, ComputationsOnStaticShapesBecomeConstants) {
  OnnxModel m;
  m.input("x", {2, 3, 4});
  m.integers("zero", {0});
  m.integers("rest", {-1});
  m.node("Shape", {"x"}, {"shape"});
  m.node("Gather", {"shape", "zero"}, {"batch"});
  m.node("Concat", {"batch", "rest"}, {"target"}).integer("axis", 0);
  m.node("Reshape", {"x", "target"}, {"y"});
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(operators(model->graph), ElementsAre("reshape"));
  EXPECT_EQ(to_string(model->graph.node(model->graph.outputs()[0].node).type), "f32[2,12]");
}

TEST(OnnxImport, UnsortedNodesAreSorted) {
  OnnxModel m;
  m.input("x", {1});
  m.node("Neg", {"b"}, {"y"});
  m.node("Exp", {"a"}, {"b"});
  m.node("Relu", {"x"}, {"a"});
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(operators(model->graph), ElementsAre("relu", "exp", "neg"));
}

TEST(OnnxImport, FunctionsAreInlinedWithTheirAttributes) {
  OnnxModel m;
  m.opset_import("local", 1);
  onnx::FunctionProto& f = *m.proto.add_functions();
  f.set_name("scaled");
  f.set_domain("local");
  f.add_input("a");
  f.add_output("r");
  f.add_attribute("slope");
  add_node(f, "LeakyRelu", {"a"}, {"l"}).reference("alpha", 1, "slope");
  add_node(f, "Neg", {"l"}, {"r"});
  m.input("x", {2});
  m.node("scaled", {"x"}, {"m"}).real("slope", 0.5F);
  m.node("scaled", {"m"}, {"y"}).real("slope", 0.25F);
  m.graph().mutable_node(0)->set_domain("local");
  m.graph().mutable_node(1)->set_domain("local");
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(operators(model->graph), ElementsAre("leaky_relu", "neg", "leaky_relu", "neg"));
  // x = 4: 4, -4; then -1, 1.  x = -4: -2, 2; then 2, -2.
  EXPECT_THAT(run(model->graph, {vector({4, -4})}), ElementsAre(1, -2));
  EXPECT_EQ(model->graph.node(ir::NodeId(2)).name, "m");
}

TEST(OnnxImport, IfSelectsBetweenItsBranches) {
  OnnxModel m;
  m.input("x", {2});
  m.input("c", {}, 9);
  auto branches = m.node("If", {"c"}, {"y"});
  for (const char* which : {"then_branch", "else_branch"}) {
    onnx::GraphProto& graph = *branches.graph(which);
    add_node(graph, std::string(which) == "then_branch" ? "Neg" : "Relu", {"x"}, {"r"});
    graph.add_output()->set_name("r");
  }
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(run(model->graph, {vector({3, -3}), Tensor::scalar(DType::kBool, 1)}),
              ElementsAre(-3, 3));
  EXPECT_THAT(run(model->graph, {vector({3, -3}), Tensor::scalar(DType::kBool, 0)}),
              ElementsAre(3, 0));
  const auto fixed = m.import({.fixed_inputs = {{"c", Tensor::scalar(DType::kBool, 1)}}});
  ASSERT_TRUE(fixed.ok()) << fixed.status().message();
  EXPECT_THAT(operators(fixed->graph), ElementsAre("neg"));
}

TEST(OnnxImport, OldBroadcastingByAttributeIsTranslated) {
  OnnxModel m(6);
  m.input("x", {2, 2});
  m.input("b", {2});
  m.node("Add", {"x", "b"}, {"y"}).integer("broadcast", 1).integer("axis", 0);
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Tensor x = Tensor::of(DType::kF32, ir::Shape{2, 2}, std::vector<double>{1, 2, 3, 4});
  EXPECT_THAT(run(model->graph, {x, vector({10, 20})}), ElementsAre(11, 12, 23, 24));
}

TEST(OnnxImport, AttributesWithoutEffectAreNoted) {
  OnnxModel m;
  m.input("x", {2});
  m.node("Relu", {"x"}, {"y"}).integers("consumed_inputs", {1});
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(model->notes, ElementsAre(HasSubstr("'consumed_inputs'")));
}

// Why a model with one more node is refused; "" if it is not.
std::string error_of(const std::string& op, const std::function<void(Attributes&)>& attributes) {
  OnnxModel m;
  m.input("x", {1, 2, 4, 4});
  m.initializer("w", kFloatCode, {2, 2, 3, 3})->set_raw_data(std::string(2 * 2 * 9 * 4, '\0'));
  Attributes added = m.node(op, {"x", op == "Conv" ? "w" : "x"}, {"y"});
  if (op == "Relu") m.graph().mutable_node(0)->mutable_input()->RemoveLast();
  attributes(added);
  m.output("y");
  const auto model = m.import();
  if (model.ok()) return "";
  // An attribute that an operator does not have may belong to a later version.
  const bool unknown = model.status().message().find("has no attribute") != std::string::npos;
  EXPECT_EQ(model.status().code(), unknown ? StatusCode::kUnsupported : StatusCode::kBadInput);
  return model.status().message();
}

// A misspelt attribute would make another function of the model without a word.
TEST(OnnxImport, AttributesThatOperatorsDoNotHaveAreRefused) {
  EXPECT_EQ(error_of("Conv", [](Attributes& a) { a.integers("strides", {2, 2}); }), "");
  EXPECT_THAT(error_of("Conv",
                       [](Attributes& a) {
                         a.integers("stride", {2, 2});
                       }),
              HasSubstr("node 0 (Conv): has no attribute 'stride'; did you mean \"strides\"?"));
  EXPECT_THAT(error_of("Conv",
                       [](Attributes& a) {
                         a.integers("pad", {1, 1, 1, 1});
                       }),
              HasSubstr("'pad'"));
  EXPECT_THAT(error_of("Relu", [](Attributes& a) { a.real("alpha", 0.1F); }),
              HasSubstr("node 0 (Relu): has no attribute 'alpha'"));
  EXPECT_THAT(error_of("Relu", [](Attributes& a) { a.integer("", 1); }),
              HasSubstr("has no attribute ''"));
}

TEST(OnnxImport, AttributesThatAreMissingOrGivenTwiceAreRefused) {
  EXPECT_EQ(error_of("Concat", [](Attributes& a) { a.integer("axis", 1); }), "");
  EXPECT_THAT(error_of("Concat", [](Attributes&) {}),
              HasSubstr("node 0 (Concat): attribute 'axis' is missing"));
  EXPECT_THAT(error_of("Concat", [](Attributes& a) { a.integer("axis", 1).integer("axis", 1); }),
              HasSubstr("node 0 (Concat): attribute 'axis' is given twice"));
}

TEST(OnnxImport, WeightsOfALossAreOneAClass) {
  for (const std::int64_t size : {5, 4, 0}) {
    OnnxModel m;
    m.input("x", {3, 5});
    m.input("target", {3}, kInt64Code);
    m.input("weight", {size});
    m.node("NegativeLogLikelihoodLoss", {"x", "target", "weight"}, {"y"});
    m.output("y");
    const auto model = m.import();
    EXPECT_EQ(model.ok(), size == 5);
    if (size == 5) continue;
    EXPECT_THAT(model.status().message(), HasSubstr("there are 5 classes, their weights are f32["));
  }
}

TEST(OnnxImport, TheErrorNamesFileAndNode) {
  OnnxModel m;
  m.input("x", {2, 3});
  m.node("MatMul", {"x", "x"}, {"y"});
  m.graph().mutable_node(0)->set_name("product");
  m.output("y");
  const auto model = m.import();
  EXPECT_EQ(model.status().code(), StatusCode::kBadInput);
  EXPECT_THAT(model.status().message(), HasSubstr("model: node 0 (MatMul 'product'): "));
}

// A model larger than every buffer between the file and the parser, weights in raw and typed
// fields.
class OnnxFile : public testing::Test {
 protected:
  OnnxFile() {
    std::string pattern = testing::TempDir() + "egret_onnx_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    model_.input("x", {1});
    auto* raw = model_.initializer("raw", kFloatCode, {kElements});
    auto* typed = model_.initializer("typed", kFloatCode, {kElements});
    std::vector<float> values(kElements);
    for (int i = 0; i < kElements; ++i) values[static_cast<std::size_t>(i)] = 0.5F * float(i);
    raw->set_raw_data(values.data(), values.size() * sizeof(float));
    for (const float value : values) typed->add_float_data(-value);
    model_.node("Sub", {"raw", "typed"}, {"difference"});
    model_.node("Mul", {"difference", "x"}, {"y"});
    model_.output("y");
  }
  ~OnnxFile() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/m.onnx"; }

  static constexpr int kElements = 300'000;
  OnnxModel model_;

 private:
  std::string folder_;
};

TEST_F(OnnxFile, IsReadInPiecesAsItsBytesAreRead) {
  ASSERT_TRUE(base::write_file(path(), model_.bytes()).ok());
  const auto model = import_onnx(path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::vector<double> y = run(model->graph, {vector({2})});
  ASSERT_EQ(y.size(), std::size_t{kElements});
  for (int i = 0; i < kElements; ++i) ASSERT_EQ(y[static_cast<std::size_t>(i)], 2 * i);
}

TEST_F(OnnxFile, ComesThroughAPipeToo) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path(), std::ios::binary) << model_.bytes(); });
  const auto model = import_onnx(path());
  writer.join();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->graph.inputs().size(), 1U);
}

TEST_F(OnnxFile, IsRefusedWhereItBreaks) {
  const std::string whole = model_.bytes();
  ASSERT_TRUE(base::write_file(path(), whole.substr(0, whole.size() - 7)).ok());
  const auto cut = import_onnx(path());
  EXPECT_EQ(cut.status().code(), StatusCode::kBadInput);
  // As the same bytes in memory are, whatever of them was read at a time.
  const std::string part = whole.substr(0, whole.size() - 7);
  const auto in_memory = import_onnx_bytes(std::as_bytes(std::span(part)), "", {}, path());
  EXPECT_EQ(cut.status().message(), in_memory.status().message());
  EXPECT_THAT(cut.status().message(), HasSubstr(path() + ": is not an ONNX model: "));
  EXPECT_THAT(cut.status().message(), HasSubstr(" of " + std::to_string(part.size())));
  EXPECT_EQ(import_onnx(path() + "x").status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace egret::frontends
