// SPDX-License-Identifier: Apache-2.0
// What `optimize` writes of nodes that import takes apart, and of what Egret cannot express.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "driver/models/open_model.h"
#include "tests/tools/optimized_model.h"

namespace egret::tools {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using frontends::add_node;
using frontends::kFloatCode;
using frontends::OnnxModel;

constexpr int kBoolCode = 9;
constexpr int kStringCode = 8;

class WholeNodes : public OptimizedModel {
 protected:
  onnx::ModelProto optimized(const OnnxModel& model, const std::string& options = "") {
    return OptimizedModel::optimized(model, "--quick " + options);
  }

  static const onnx::NodeProto& node(const onnx::ModelProto& model, const std::string& type) {
    const auto& nodes = model.graph().node();
    const auto found = std::ranges::find_if(
        nodes, [&](const onnx::NodeProto& one) { return one.op_type() == type; });
    EXPECT_NE(found, nodes.end()) << type;
    return *found;
  }

  // Its input is y, and its scale and zero point come from y's range.
  static OnnxModel quantized() {
    OnnxModel model(13);
    model.input("x", {4, 8});
    model.node("Neg", {"x"}, {"n"});
    model.node("Neg", {"n"}, {"y"});
    model.node("DynamicQuantizeLinear", {"y"}, {"q", "scale", "zero"});
    for (const char* name : {"q", "scale", "zero"}) model.output(name);
    return model;
  }
};

TEST_F(WholeNodes, AreWrittenAsOneNodeWithAllTheirOutputs) {
  OnnxModel model = quantized();
  model.graph().mutable_node(2)->set_name("the quantizer");
  model.graph().mutable_node(2)->set_doc_string("of y");
  const onnx::ModelProto result = optimized(model);
  ASSERT_THAT(operators(result), ElementsAre("DynamicQuantizeLinear"));
  const onnx::NodeProto& whole = result.graph().node(0);
  EXPECT_THAT(whole.input(), ElementsAre("x"));
  EXPECT_THAT(whole.output(), ElementsAre("q", "scale", "zero"));
  EXPECT_EQ(whole.name(), "the quantizer");
  EXPECT_EQ(whole.doc_string(), "of y");
}

TEST_F(WholeNodes, AreNotWrittenForOutputsThatNobodyReads) {
  OnnxModel model(13);
  model.input("x", {4, 8});
  model.integers("k", {2});
  model.node("TopK", {"x", "k"}, {"values", "indices"});
  model.node("Relu", {"values"}, {"y"});
  model.output("y");
  const onnx::ModelProto result = optimized(model);
  EXPECT_THAT(operators(result), ElementsAre("TopK", "Relu"));
}

// An operator of a newer set raises the set; ReduceSum took its axes as an attribute before 13.
TEST_F(WholeNodes, AreWrittenAsOperatorsWhereTheirFormHasChanged) {
  OnnxModel model(11);
  model.input("x", {4, 8});
  model.node("Split", {"x"}, {"a", "b"}).integer("axis", 1);
  model.node("Mul", {"a", "b"}, {"c"});
  model.node("Sigmoid", {"c"}, {"s"});
  model.node("Mul", {"c", "s"}, {"m"});
  model.node("ReduceSum", {"m"}, {"y"}).integers("axes", {1}).integer("keepdims", 0);
  model.output("y");
  const onnx::ModelProto result = optimized(model);
  ASSERT_THAT(operators(result), Contains("Split"));
  const std::int64_t opset = result.opset_import(0).version();
  const onnx::NodeProto& split = node(result, "Split");
  EXPECT_EQ(split.input_size(), opset >= 13 ? 2 : 1) << "opset " << opset;
}

TEST_F(WholeNodes, IfStaysWithTheValuesThatItsBranchesRead) {
  OnnxModel model(13);
  model.input("c", {}, kBoolCode);
  model.input("x", {4});
  model.node("Neg", {"x"}, {"n"});
  model.node("Neg", {"n"}, {"p"});
  auto branch = model.node("If", {"c"}, {"y"});
  for (const char* which : {"then_branch", "else_branch"}) {
    onnx::GraphProto* graph = branch.graph(which);
    graph->set_name(which);
    const bool is_then = std::string(which) == "then_branch";
    add_node(*graph, is_then ? "Exp" : "Relu", {"p"}, {std::string(which) + "_y"});
    graph->add_output()->set_name(std::string(which) + "_y");
  }
  model.output("y");
  const onnx::ModelProto result = optimized(model);
  ASSERT_THAT(operators(result), ElementsAre("If"));
  const onnx::GraphProto& then_branch = result.graph().node(0).attribute(0).g();
  EXPECT_EQ(then_branch.node(0).input(0), "x") << "the two negations are gone";
}

// One branch makes a sequence, which Egret lacks.
TEST_F(WholeNodes, AnIfWithAnUnknownOperatorStaysClosed) {
  OnnxModel model(13);
  model.input("c", {}, kBoolCode);
  model.input("x", {4});
  auto branch = model.node("If", {"c"}, {"y"});
  for (const char* which : {"then_branch", "else_branch"}) {
    onnx::GraphProto* graph = branch.graph(which);
    graph->set_name(which);
    add_node(*graph, "SequenceConstruct", {"x", "x"}, {std::string(which) + "_y"});
    graph->add_output()->set_name(std::string(which) + "_y");
  }
  model.output("y");
  EXPECT_THAT(operators(optimized(model)), ElementsAre("If"));
}

TEST_F(WholeNodes, InputsThatAreNoTensorsOfNumbersKeepTheirPlaces) {
  OnnxModel model(13);
  model.opset_import("ai.onnx.ml", 3);
  model.input("a", {2});
  model.input("words", {2}, kStringCode);
  model.input("b", {2});
  model.node("StringNormalizer", {"words"}, {"upper"}).text("case_change_action", "UPPER");
  model.node("Add", {"a", "b"}, {"sum"});
  model.node("Neg", {"sum"}, {"n"});
  model.node("Neg", {"n"}, {"y"});
  model.output("y");
  model.output("upper");
  auto* type = model.graph().mutable_output(1)->mutable_type()->mutable_tensor_type();
  type->set_elem_type(kStringCode);
  type->mutable_shape()->add_dim()->set_dim_value(2);
  const onnx::ModelProto result = optimized(model);
  std::vector<std::string> names;
  for (const auto& input : result.graph().input()) names.push_back(input.name());
  EXPECT_THAT(names, ElementsAre("a", "words", "b"));
  EXPECT_EQ(result.graph().input(1).type().tensor_type().elem_type(), kStringCode);
  EXPECT_EQ(result.graph().output(1).type().tensor_type().elem_type(), kStringCode);
  EXPECT_THAT(operators(result), Not(Contains("Neg")));
}

TEST_F(WholeNodes, StrictRefusesWhatEgretCannotExpress) {
  ASSERT_TRUE(base::write_file(path("q.onnx"), quantized().bytes()).ok());
  const std::string rest = " -o " + path("o.onnx") + " --strict --quick --cost-db " + path("costs");
  EXPECT_EQ(run_program("optimize " + path("q.onnx") + rest).code, 0) << "it has a definition";
  OnnxModel model(13);
  model.opset_import("com.example", 1);
  model.input("x", {4});
  model.node("Mystery", {"x"}, {"y"});
  model.graph().mutable_node(0)->set_domain("com.example");
  model.output("y");
  ASSERT_TRUE(base::write_file(path("m.onnx"), model.bytes()).ok());
  const ProgramRun run = run_program("optimize " + path("m.onnx") + rest);
  EXPECT_EQ(run.code, 4);
  EXPECT_THAT(run.err, HasSubstr("--strict: Egret cannot express com.example::Mystery"));
}

TEST_F(WholeNodes, RoundingByALargeNumberStays) {
  OnnxModel model(13);
  model.input("x", {4});
  model.initializer("large", kFloatCode, {})->add_float_data(12582912.0F);
  model.node("Add", {"x", "large"}, {"a"});
  model.node("Sub", {"a", "large"}, {"y"});
  model.output("y");
  EXPECT_THAT(operators(optimized(model)), ElementsAre("Add", "Sub"));
}

// Each sum whose term cancels recovers what an earlier sum lost.
TEST_F(WholeNodes, CompensatedSumsStay) {
  OnnxModel two_sum(13);  // Knuth's
  two_sum.input("a", {4});
  two_sum.input("b", {4});
  two_sum.node("Add", {"a", "b"}, {"s"});
  two_sum.node("Sub", {"s", "a"}, {"b_part"});
  two_sum.node("Sub", {"s", "b_part"}, {"a_part"});
  two_sum.node("Sub", {"a", "a_part"}, {"a_rest"});
  two_sum.node("Sub", {"b", "b_part"}, {"b_rest"});
  two_sum.node("Add", {"a_rest", "b_rest"}, {"y"});
  two_sum.output("y");
  two_sum.output("s");
  EXPECT_THAT(operators(optimized(two_sum)), ElementsAre("Add", "Sub", "Sub", "Sub", "Sub", "Add"));
  EXPECT_LT(operators(optimized(two_sum, "--fp reals")).size(), 6U);

  OnnxModel split(13);  // Dekker's: the upper half of the digits
  split.input("a", {4});
  split.initializer("factor", kFloatCode, {})->add_float_data(4097.0F);
  split.node("Mul", {"a", "factor"}, {"c"});
  split.node("Sub", {"c", "a"}, {"big"});
  split.node("Sub", {"c", "big"}, {"y"});
  split.output("y");
  EXPECT_THAT(operators(optimized(split)), ElementsAre("Mul", "Sub", "Sub"));
}

// No part of a compensated sum: the same value twice, a constant that cancels, products.
TEST_F(WholeNodes, OtherDifferencesAreSimplified) {
  OnnxModel model(13);
  model.input("mask", {4});
  model.initializer("one", kFloatCode, {})->add_float_data(1.0F);
  model.node("Sub", {"one", "mask"}, {"hidden"});
  model.node("Sub", {"one", "hidden"}, {"y"});
  model.node("Neg", {"y"}, {"z"});
  model.output("z");
  EXPECT_THAT(operators(optimized(model)), ElementsAre("Neg"));
}

// The mask is multiplied out nowhere: (scores + lowest) - mask * lowest would be 0 for every score.
TEST_F(WholeNodes, ProductsWithTheLowestNumberStay) {
  for (const float large : {std::numeric_limits<float>::lowest(), -1e9F}) {
    for (const std::string op_type : {"Mul", "Div"}) {
      OnnxModel model(13);
      model.input("scores", {4, 4});
      model.input("mask", {4});
      model.initializer("one", kFloatCode, {})->add_float_data(1.0F);
      const float factor = op_type == "Mul" ? large : 1e-9F;
      model.initializer("large", kFloatCode, {})->add_float_data(factor);
      model.node("Sub", {"one", "mask"}, {"hidden"});
      model.node(op_type, {"hidden", "large"}, {"bias"});
      model.node("Add", {"scores", "bias"}, {"y"});
      model.output("y");
      const auto kept = operators(optimized(model));
      EXPECT_THAT(kept, Contains("Sub")) << op_type << " by " << factor;
      EXPECT_THAT(kept, Contains(op_type)) << op_type << " by " << factor;
    }
  }
}

// Relu on odd and even sizes: the first profile's numbers are those of the examples.
TEST_F(WholeNodes, SeveralProfilesAreMeasuredAndChecked) {
  OnnxModel model(13);
  auto* shape = model.input("x", {0, 8});
  shape->mutable_dim(0)->set_dim_param("batch");
  model.node("Transpose", {"x"}, {"t"}).integers("perm", {1, 0});
  model.node("Transpose", {"t"}, {"u"}).integers("perm", {1, 0});
  model.node("Relu", {"u"}, {"y"});
  model.output("y");
  ASSERT_TRUE(base::write_file(path("m.onnx"), model.bytes()).ok());
  const ProgramRun run = run_program("optimize " + path("m.onnx") + " -o " + path("o.onnx") +
                                     " --cost-db " + path("costs") +
                                     " --measure-time 0.01 --profile-time 0.1 --allow-slower "
                                     "--at batch=2*0.75 --at batch=16*0.25 --range batch=2..16");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("measured at batch=2"));
  EXPECT_THAT(run.out, HasSubstr("also at     batch=16"));
  EXPECT_THAT(run.out, Not(HasSubstr("batch=1;"))) << "1 is out of the range";
}

TEST(OpenModel, ProfilesEndWithAWeightOrWhereANameComesAgain) {
  const auto profiles = driver::parse_profiles({"b=1,s=128*0.7", "b=8", "s=32", "b=2"});
  ASSERT_TRUE(profiles.ok()) << profiles.status().message();
  ASSERT_EQ(profiles->size(), 3U);
  EXPECT_EQ((*profiles)[0].sizes, (ir::SymbolValues{{"b", 1}, {"s", 128}}));
  EXPECT_EQ((*profiles)[0].weight, 0.7);
  EXPECT_EQ((*profiles)[1].sizes, (ir::SymbolValues{{"b", 8}, {"s", 32}}));
  EXPECT_EQ((*profiles)[2].sizes, (ir::SymbolValues{{"b", 2}}));
  for (const char* wrong : {"b", "=3", "b=0", "b=x", "b=2*0", "b=2*x"})
    EXPECT_EQ(driver::parse_profiles({wrong}).status().code(), base::StatusCode::kUsage) << wrong;
}

}  // namespace
}  // namespace egret::tools
