// SPDX-License-Identifier: Apache-2.0
// What verbs do with models whose sizes are open, or whose operators Egret lacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/optimized_model.h"

namespace egret::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using frontends::OnnxModel;

class ModelFile : public OptimizedModel {
 protected:
  onnx::ModelProto optimized(const OnnxModel& model, const std::string& options = "") {
    return OptimizedModel::optimized(model, "--no-measure --profile-time 0 " + options);
  }

  static void open_axis(onnx::TensorShapeProto* shape, int axis, const std::string& name) {
    shape->mutable_dim(axis)->set_dim_param(name);
  }
};

TEST_F(ModelFile, OpenSizesAreSetToUsualNumbersThatANoteStates) {
  ir::GraphBuilder b;
  const auto input = [&](const char* name, ir::Index size) {
    return b.input(name, ir::TensorType(ir::DType::kF32, ir::Dims{size, ir::symbolic_dim("M")}));
  };
  const ir::Value x = input("x", ir::symbolic_dim("batch.0"));
  const ir::Value y = input("y", ir::Index(1));
  b.output("z", b.add("add", {x, y}));
  const auto model = frontends::export_onnx(b.finish().value(), {}, {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_TRUE(base::write_file(path("m.onnx"), model->bytes).ok());
  const ProgramRun run = run_program("run " + path("m.onnx"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("open sizes are taken as --bind batch.0=1 --bind M=64\n"));
  const ProgramRun bound = run_program("run " + path("m.onnx") + " --bind batch.0=2 --bind M=3");
  EXPECT_EQ(bound.code, 0) << bound.err;
  EXPECT_THAT(bound.err, Not(HasSubstr("open sizes")));
}

// A reshape to sizes that the model computes from its input's.
TEST_F(ModelFile, OptimizeKeepsOpenSizes) {
  OnnxModel model(17);
  auto* shape = model.input("x", {0, 0, 8});
  open_axis(shape, 0, "batch");
  open_axis(shape, 1, "seq");
  model.node("Shape", {"x"}, {"sizes"});
  model.integers("first", {0});
  model.integers("second", {1});
  model.integers("rest", {2, 4});
  model.node("Gather", {"sizes", "first"}, {"b"});
  model.node("Gather", {"sizes", "second"}, {"s"});
  model.node("Mul", {"b", "s"}, {"bs"});
  model.node("Concat", {"bs", "rest"}, {"target"}).integer("axis", 0);
  model.node("Transpose", {"x"}, {"t"}).integers("perm", {2, 1, 0});
  model.node("Transpose", {"t"}, {"u"}).integers("perm", {2, 1, 0});
  model.node("Reshape", {"u", "target"}, {"r"});
  model.node("Relu", {"r"}, {"v"});
  model.node("Relu", {"v"}, {"y"});
  model.output("y");
  const onnx::ModelProto result = optimized(model, "--at batch=2 --at seq=6");
  EXPECT_EQ(std::ranges::count(operators(result), "Transpose"), 0);
  EXPECT_EQ(std::ranges::count(operators(result), "Relu"), 1);
  const auto& input = result.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(input.dim(0).dim_param(), "batch");
  EXPECT_EQ(input.dim(1).dim_param(), "seq");
  EXPECT_THAT(run_.out, HasSubstr("measured at batch=2, seq=6\nalso at     batch=1, seq=1"));
  for (const char* sizes : {"--bind batch=1 --bind seq=1", "--bind batch=5 --bind seq=3"}) {
    const ProgramRun compared =
        run_program("compare " + path("m.onnx") + " " + path("o.onnx") + " " + sizes);
    EXPECT_EQ(compared.code, 0) << compared.out << compared.err;
  }
}

TEST_F(ModelFile, SizesToMeasureAtMustBeOpenInTheModel) {
  OnnxModel model;
  open_axis(model.input("x", {0, 4}), 0, "batch");
  model.node("Relu", {"x"}, {"y"});
  model.output("y");
  ASSERT_TRUE(base::write_file(path("m.onnx"), model.bytes()).ok());
  const ProgramRun run =
      run_program("optimize " + path("m.onnx") + " -o " + path("o.onnx") + " --at seq=3");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("--at: the model has no open size 'seq'"));
}

TEST_F(ModelFile, UnknownOperatorsStayAsTheyAre) {
  OnnxModel model;
  model.opset_import("com.example", 3);
  model.input("x", {2, 8});
  model.node("Relu", {"x"}, {"a"});
  model.node("Relu", {"a"}, {"b"});
  model.node("Mystery", {"b", "", "x"}, {"c", "d"}).integer("strength", 7);
  model.graph().mutable_node(2)->set_domain("com.example");
  model.graph().mutable_node(2)->set_name("the mystery");
  for (const char* name : {"c", "d"}) {
    auto* info = model.graph().add_value_info();
    info->set_name(name);
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(frontends::kFloatCode);
    type->mutable_shape()->add_dim()->set_dim_value(4);
  }
  model.node("Add", {"c", "d"}, {"e"});
  model.node("Neg", {"e"}, {"f"});
  model.node("Neg", {"f"}, {"y"});
  model.output("y");
  const onnx::ModelProto result = optimized(model);
  EXPECT_THAT(operators(result), ElementsAre("Relu", "Mystery", "Add"));
  const onnx::NodeProto& mystery = result.graph().node(1);
  EXPECT_EQ(mystery.domain(), "com.example");
  EXPECT_EQ(mystery.name(), "the mystery");
  EXPECT_EQ(mystery.attribute(0).i(), 7);
  ASSERT_EQ(mystery.input_size(), 3);
  EXPECT_EQ(mystery.input(0), result.graph().node(0).output(0));
  EXPECT_EQ(mystery.input(1), "");
  EXPECT_EQ(mystery.input(2), "x");
  const auto opset = std::ranges::find(result.opset_import(), "com.example",
                                       [](const auto& entry) { return entry.domain(); });
  ASSERT_NE(opset, result.opset_import().end());
  EXPECT_EQ(opset->version(), 3);
}

// What reads a value of unknown type stays as well; the rest of the model is optimized.
TEST_F(ModelFile, ValuesOfUnknownTypePassThrough) {
  OnnxModel model;
  model.opset_import("com.example", 3);
  model.input("x", {2, 8});
  model.node("Relu", {"x"}, {"a"});
  model.node("Relu", {"a"}, {"b"});
  model.node("Mystery", {"b"}, {"c"});
  model.graph().mutable_node(2)->set_domain("com.example");
  model.node("Relu", {"c"}, {"d"});
  model.node("Relu", {"d"}, {"y"});
  model.output("y");
  const onnx::ModelProto result = optimized(model);
  EXPECT_THAT(operators(result), ElementsAre("Relu", "Mystery", "Relu", "Relu"));
  EXPECT_EQ(result.graph().output(0).name(), "y");
  EXPECT_FALSE(result.graph().output(0).has_type());
}

// A shape that a value has is one node, and a run of its axes as well.
TEST_F(ModelFile, SizesAreTakenFromValuesThatHaveThem) {
  OnnxModel model(17);
  auto* shape = model.input("x", {0, 0, 8});
  open_axis(shape, 0, "batch");
  open_axis(shape, 1, "seq");
  model.integers("first", {0});
  model.integers("second", {1});
  model.integers("third", {2});
  model.node("Shape", {"x"}, {"sizes"});
  const auto half = [](frontends::Attributes node) {
    frontends::fill_header(node.tensor("value"), "", frontends::kFloatCode, {1})
        ->add_float_data(0.5);
  };
  half(model.node("ConstantOfShape", {"sizes"}, {"halves"}));
  model.node("Gather", {"sizes", "first"}, {"batch"});
  model.node("Gather", {"sizes", "second"}, {"seq"});
  model.node("Concat", {"third", "batch", "seq"}, {"target"}).integer("axis", 0);
  half(model.node("ConstantOfShape", {"target"}, {"others"}));
  model.output("halves");
  model.output("others");
  const onnx::ModelProto result = optimized(model);
  EXPECT_THAT(operators(result), testing::UnorderedElementsAre("Shape", "ConstantOfShape", "Shape",
                                                               "Concat", "ConstantOfShape"));
  const ProgramRun compared = run_program("compare " + path("m.onnx") + " " + path("o.onnx") +
                                          " --bind batch=3 --bind seq=5");
  EXPECT_EQ(compared.code, 0) << compared.out << compared.err;
}

// An element of a sequence at a known position is what the sequence was made of.
TEST_F(ModelFile, KnownElementsOfSequencesNeedNoSequence) {
  OnnxModel model(17);
  model.input("x", {2, 8});
  model.node("Neg", {"x"}, {"n"});
  model.initializer("last", frontends::kInt64Code, {})->add_int64_data(-1);
  model.node("SequenceConstruct", {"x", "n"}, {"many"});
  model.node("SequenceAt", {"many", "last"}, {"e"});
  model.node("Neg", {"e"}, {"y"});
  model.output("y");
  EXPECT_THAT(operators(optimized(model)), ElementsAre("Identity"));
}

// What the model states of a sequence is stated again, not the type of a tensor.
TEST_F(ModelFile, TypesOfSequencesStay) {
  OnnxModel model(17);
  model.input("x", {2, 8});
  model.input("at", {}, frontends::kInt64Code);
  model.node("SequenceConstruct", {"x", "x"}, {"many"});
  model.node("Identity", {"many"}, {"same"});
  model.node("SequenceAt", {"same", "at"}, {"y"});
  model.output("y");
  auto* info = model.graph().add_value_info();
  info->set_name("many");
  info->mutable_type()->mutable_sequence_type();
  const onnx::ModelProto result = optimized(model);
  EXPECT_THAT(operators(result), ElementsAre("SequenceConstruct", "SequenceAt"));
  ASSERT_EQ(result.graph().value_info_size(), 1);
  EXPECT_TRUE(result.graph().value_info(0).type().has_sequence_type());
}

// The body of a loop reads a value that rewriting replaces.
TEST_F(ModelFile, BodiesReadTheValuesThatReplaceTheirs) {
  OnnxModel model;
  model.input("x", {2, 8});
  model.node("Neg", {"x"}, {"n"});
  model.node("Neg", {"n"}, {"same"});
  model.node("Relu", {"same"}, {"captured"});
  model.integers("trips", {3});
  auto loop = model.node("Loop", {"trips", "", "captured"}, {"y"});
  onnx::GraphProto& body = *loop.graph("body");
  for (const char* name : {"i", "go", "state"}) body.add_input()->set_name(name);
  frontends::add_node(body, "Identity", {"go"}, {"goes"});
  frontends::add_node(body, "Add", {"state", "captured"}, {"sum"});
  for (const char* name : {"goes", "sum"}) body.add_output()->set_name(name);
  model.output("y");
  const onnx::ModelProto result = optimized(model);
  EXPECT_THAT(operators(result), ElementsAre("Relu", "Loop"));
  const std::string& relu = result.graph().node(0).output(0);
  const onnx::NodeProto& written = result.graph().node(1);
  EXPECT_EQ(written.input(2), relu);
  EXPECT_EQ(written.attribute(0).g().node(1).input(0), "state");
  EXPECT_EQ(written.attribute(0).g().node(1).input(1), relu);
}

}  // namespace
}  // namespace egret::tools
