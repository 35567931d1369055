// SPDX-License-Identifier: Apache-2.0
// Types of what nodes make that stay as they are, where the model does not declare them.
#include <gtest/gtest.h>

#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include "ir/core/symbolic_scope.h"
#include "tests/frontends/onnx_model.h"

namespace egret::frontends {
namespace {

constexpr int kBoolCode = 9;

class ResultTypes : public testing::Test {
 protected:
  ResultTypes() : model_(17) { input("x", {"n", "s", "8"}); }

  void input(const char* name, const std::vector<std::string>& sizes, int code = kFloatCode) {
    onnx::TensorShapeProto* shape =
        model_.input(name, std::vector<std::int64_t>(sizes.size(), 0), code);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool number = std::isdigit(static_cast<unsigned char>(sizes[i].front())) != 0;
      if (number) shape->mutable_dim(static_cast<int>(i))->set_dim_value(std::stoi(sizes[i]));
      if (!number) shape->mutable_dim(static_cast<int>(i))->set_dim_param(sizes[i]);
    }
  }

  static void declare(onnx::ValueInfoProto* value, const char* name, int code,
                      const std::vector<std::int64_t>& sizes) {
    value->set_name(name);
    auto* tensor = value->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(code);
    tensor->mutable_shape();
    for (const std::int64_t size : sizes) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (size >= 0) dim->set_dim_value(size);
    }
  }

  // The types of the outputs y and z, with the number of operators of the graph that are opaque.
  std::string types(const std::vector<std::string>& outputs = {"y"}) {
    for (const std::string& output : outputs) model_.output(output);
    ImportOptions options;
    options.opaque_nodes = true;
    options.example_of = [](std::string_view, int) { return std::int64_t{4}; };
    const auto imported = model_.import(options);
    if (!imported.ok()) return std::string(imported.status().message());
    if (!imported->info.untyped_values.empty()) return "untyped";
    std::string text;
    for (const auto& output : imported->graph.outputs())
      text += (text.empty() ? "" : " ") + to_string(imported->graph.node(output.node).type);
    return text;
  }

  OnnxModel model_;
  ir::SymbolicScope scope_{{}, [](ir::Guard) { return std::optional<bool>(); }};
};

TEST_F(ResultTypes, OfAScanAreTheStatesAndAsManySlicesAsWereScanned) {
  input("zero", {"8"});
  input("rows", {"n", "8"});
  onnx::GraphProto* body =
      model_.node("Scan", {"zero", "rows"}, {"z", "y"}).integer("num_scan_inputs", 1).graph("body");
  for (const char* name : {"state", "row"}) declare(body->add_input(), name, kFloatCode, {8});
  add_node(*body, "Add", {"state", "row"}, {"sum"});
  add_node(*body, "Identity", {"sum"}, {"slice"});
  for (const char* name : {"sum", "slice"}) declare(body->add_output(), name, kFloatCode, {8});
  EXPECT_EQ(types({"y", "z"}), "f32[n,8] f32[8]");
}

// The number of turns is not known, nor is a size that the body leaves open.
TEST_F(ResultTypes, OfALoopAreThoseThatItsBodyDeclares) {
  auto* turns = model_.initializer("turns", kInt64Code, {});
  turns->add_int64_data(3);
  onnx::GraphProto* body = model_.node("Loop", {"turns", "", "x"}, {"z", "y"}).graph("body");
  declare(body->add_input(), "i", kInt64Code, {});
  declare(body->add_input(), "go", kBoolCode, {});
  declare(body->add_input(), "state", kFloatCode, {-1, -1, 8});
  add_node(*body, "Identity", {"go"}, {"goes"});
  add_node(*body, "Relu", {"state"}, {"next"});
  add_node(*body, "Neg", {"state"}, {"slice"});
  declare(body->add_output(), "goes", kBoolCode, {});
  declare(body->add_output(), "next", kFloatCode, {-1, -1, 8});
  declare(body->add_output(), "slice", kFloatCode, {4, 2});
  EXPECT_EQ(types({"y", "z"}), "f32[unk__y_0,4,2] f32[unk__z_0,unk__z_1,8]");
}

TEST_F(ResultTypes, OfAnIfAreThoseOfBothBranches) {
  input("go", {"1"}, kBoolCode);
  Attributes node = model_.node("If", {"go"}, {"y"});
  for (const std::int64_t rows : {2, 3}) {
    onnx::GraphProto* branch = node.graph(rows == 2 ? "then_branch" : "else_branch");
    add_node(*branch, "Unknown", {"x"}, {"made"});
    declare(branch->add_output(), "made", kFloatCode, {rows, 5});
  }
  EXPECT_EQ(types(), "f32[unk__y_0,5]");
}

// Another type than the branches state would be wrong for one of them.
TEST_F(ResultTypes, OfAnIfAreUnknownWhereItsBranchesDiffer) {
  input("go", {"1"}, kBoolCode);
  Attributes node = model_.node("If", {"go"}, {"y"});
  for (const bool yes : {true, false}) {
    onnx::GraphProto* branch = node.graph(yes ? "then_branch" : "else_branch");
    add_node(*branch, "Unknown", {"x"}, {"made"});
    declare(branch->add_output(), "made", yes ? kFloatCode : kInt64Code, {2});
  }
  EXPECT_EQ(types(), "untyped");
}

TEST_F(ResultTypes, OfResultsWhoseSizesDependOnData) {
  input("keep", {"s"}, kBoolCode);
  model_.node("NonZero", {"x"}, {"a"});
  model_.node("Compress", {"x", "keep"}, {"b"}).integer("axis", 1);
  model_.node("Unique", {"x"}, {"c", "d"});
  EXPECT_EQ(types({"a", "b", "c", "d"}),
            "i64[3,unk__a_1] f32[n,unk__b_1,8] f32[unk__c_0] i64[unk__d_0]");
}

TEST_F(ResultTypes, OfLayersOverOpenSequencesFollowFromTheirWeights) {
  input("sequence", {"t", "n", "8"});
  model_.initializer("w", kFloatCode, {1, 16, 8})->mutable_float_data()->Resize(128, 0.1F);
  model_.initializer("r", kFloatCode, {1, 16, 4})->mutable_float_data()->Resize(64, 0.1F);
  model_.node("LSTM", {"sequence", "w", "r"}, {"a", "b", "c"}).integer("hidden_size", 4);
  EXPECT_EQ(types({"a", "b", "c"}), "f32[t,1,n,4] f32[1,n,4] f32[1,n,4]");
}

TEST_F(ResultTypes, OfResizeKeepTheAxesThatAreNotScaled) {
  input("image", {"n", "3", "h", "w"});
  auto* scales = model_.initializer("scales", kFloatCode, {4});
  for (const float scale : {1.0F, 1.0F, 2.0F, 2.0F}) scales->add_float_data(scale);
  model_.node("Resize", {"image", "", "scales"}, {"y"}).text("mode", "linear");
  EXPECT_EQ(types(), "f32[n,3,unk__y_2,unk__y_3]");
}

// Egret has the operator, but needs a number; element type and rank are those of any number.
TEST_F(ResultTypes, OfOperatorsThatNeedNumbersComeFromAnExample) {
  input("image", {"n", "3", "h", "w"});
  model_.node("SpaceToDepth", {"image"}, {"y"}).integer("blocksize", 2);
  EXPECT_EQ(types(), "f32[unk__y_0,unk__y_1,unk__y_2,unk__y_3]");
  EXPECT_EQ(scope_.examples().at("unk__y_1"), 12);
  EXPECT_EQ(scope_.examples().at("unk__y_2"), 2);
}

// The branch that reads a third axis is not taken for such inputs; the other has a meaning.
TEST_F(ResultTypes, OfAnIfWithABranchThatHasNoMeaningAreDeclared) {
  input("go", {"1"}, kBoolCode);
  input("z", {"2", "5"});
  Attributes node = model_.node("If", {"go"}, {"y"});
  for (const std::int64_t axis : {1, 2}) {
    onnx::GraphProto* branch = node.graph(axis == 1 ? "then_branch" : "else_branch");
    add_node(*branch, "Softmax", {"z"}, {"made"}).integer("axis", axis);
    declare(branch->add_output(), "made", kFloatCode, {2, 5});
  }
  EXPECT_EQ(types(), "f32[2,5]");
}

TEST_F(ResultTypes, OfForeignOperatorsAreUnknown) {
  model_.opset_import("org.example", 1);
  model_.node("NonZero", {"x"}, {"y"});
  model_.graph().mutable_node(0)->set_domain("org.example");
  EXPECT_EQ(types(), "untyped");
}

// A size that the model declares by a name of its own follows from the node's inputs.
TEST_F(ResultTypes, OfOperatorsOfOnnxRuntimeFollowFromTheirInputs) {
  model_.opset_import("com.microsoft", 1);
  model_.node("MatMulNBits", {"x"}, {"packed"}).integer("K", 8).integer("N", 24);
  model_.node("QuickGelu", {"packed"}, {"y"});
  for (int node = 0; node < 2; ++node)
    model_.graph().mutable_node(node)->set_domain("com.microsoft");
  onnx::ValueInfoProto* value = model_.graph().add_value_info();
  declare(value, "packed", kFloatCode, {-1, -1, -1});
  for (int axis = 0; axis < 3; ++axis)
    value->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(axis)->set_dim_param(
        "unk__" + std::to_string(axis));
  EXPECT_EQ(types(), "f32[n,s,24]");
}

// What reads such a result is no longer opaque.
TEST_F(ResultTypes, LetOthersBeOptimized) {
  model_.node("NonZero", {"x"}, {"i"});
  model_.node("Transpose", {"i"}, {"t"}).integers("perm", {1, 0});
  model_.node("Transpose", {"t"}, {"y"}).integers("perm", {1, 0});
  EXPECT_EQ(types(), "i64[3,unk__i_1]");
}

}  // namespace
}  // namespace egret::frontends
