// SPDX-License-Identifier: Apache-2.0
// Models whose sizes stay open while they are imported.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "ir/core/symbolic_scope.h"
#include "tests/frontends/onnx_model.h"

namespace egret::frontends {
namespace {

// Imports the model, with batch and seq as open sizes of input x[batch, seq, 8], in a scope that
// knows of each symbol that it is at least 1.
class OpenImport : public testing::Test {
 protected:
  OpenImport() {
    onnx::TensorShapeProto* shape = model_.input("x", {0, 0, 8});
    shape->mutable_dim(0)->set_dim_param("batch");
    shape->mutable_dim(1)->set_dim_param("seq");
    model_.node("Shape", {"x"}, {"sizes"});
    model_.integers("zero", {0});
    model_.integers("one", {1});
    model_.integers("two", {2});
    model_.node("Gather", {"sizes", "zero"}, {"batch"});
    model_.node("Gather", {"sizes", "one"}, {"seq"});
  }

  // Output y: the numbers from 0 up to the one element of `size`.
  void count_to(const char* size) {
    model_.node("Squeeze", {size}, {"limit"});
    model_.initializer("start", kInt64Code, {})->add_int64_data(0);
    model_.initializer("delta", kInt64Code, {})->add_int64_data(1);
    model_.node("Range", {"start", "limit", "delta"}, {"y"});
  }

  // The type of output y.
  std::string type() {
    model_.output("y");
    ImportOptions options;
    options.example_of = [](std::string_view, int) { return std::int64_t{4}; };
    auto imported = model_.import(options);
    if (!imported.ok()) return std::string(imported.status().message());
    const ir::Graph& graph = imported->graph;
    return to_string(graph.node(graph.outputs()[0].node).type);
  }

  static std::optional<bool> holds(ir::Guard guard) {
    bool all = true;
    bool any = false;
    for (const std::int64_t batch : {1, 2, 5}) {
      for (const std::int64_t seq : {1, 3, 128}) {
        const bool one =
            ir::evaluate(guard, {{"batch", batch}, {"seq", seq}, {"height", seq}}).value_or(false);
        all = all && one;
        any = any || one;
      }
    }
    return all == any ? std::optional(all) : std::nullopt;
  }

  // A convolution of image[1, 3, height, 9] with 4 kernels of 3 x 3.
  Attributes image_node(const char* op) {
    model_.input("image", {1, 3, 0, 9})->mutable_dim(2)->set_dim_param("height");
    if (op == std::string("Conv")) {
      auto* kernel = model_.initializer("kernel", kFloatCode, {4, 3, 3, 3});
      for (int i = 0; i < 108; ++i) kernel->add_float_data(1);
      return model_.node(op, {"image", "kernel"}, {"y"});
    }
    return model_.node(op, {"image"}, {"y"});
  }
  void real(const char* name, const std::vector<float>& values) {
    auto* tensor = model_.initializer(name, kFloatCode, {static_cast<std::int64_t>(values.size())});
    for (const float value : values) tensor->add_float_data(value);
  }

  OnnxModel model_{17};
  std::vector<std::string> assumed_;
  ir::SymbolicScope scope_{
      {}, holds, [this](ir::Guard guard) { assumed_.push_back(to_string(guard)); }};
};

TEST_F(OpenImport, ReshapesFollowShapeComputations) {
  model_.node("Mul", {"batch", "seq"}, {"rows"});
  model_.integers("columns", {2, 4});
  model_.node("Concat", {"rows", "columns"}, {"target"}).integer("axis", 0);
  model_.node("Reshape", {"x", "target"}, {"y"});
  EXPECT_EQ(type(), "f32[batch*seq,2,4]");
}

TEST_F(OpenImport, QuotientsOfSizesStayQuotients) {
  model_.node("Div", {"seq", "two"}, {"half"});
  model_.node("ConstantOfShape", {"half"}, {"y"});
  EXPECT_EQ(type(), "f32[div(seq, 2)]");
}

TEST_F(OpenImport, SlicesEndWhereTheModelComputes) {
  model_.node("Sub", {"seq", "one"}, {"last"});
  model_.node("Slice", {"x", "zero", "last", "one"}, {"y"});
  EXPECT_EQ(type(), "f32[batch,seq - 1,8]");
}

TEST_F(OpenImport, SlicesToTheEndKeepWhatIsLeft) {
  model_.integers("end", {std::numeric_limits<std::int64_t>::max()});
  model_.node("Slice", {"x", "one", "end", "one"}, {"y"});
  EXPECT_EQ(type(), "f32[batch,seq - 1,8]");
}

TEST_F(OpenImport, RangesCountToAnOpenSize) {
  count_to("seq");
  EXPECT_EQ(type(), "i64[seq]");
}

// Other axes of the shape are open, but not the one that is read.
TEST_F(OpenImport, RangesCountToAKnownSizeOfAnOpenShape) {
  model_.node("Gather", {"sizes", "two"}, {"columns"});
  count_to("columns");
  EXPECT_EQ(type(), "i64[8]");
}

TEST_F(OpenImport, ResizeScalesOpenSizes) {
  model_.input("image", {1, 3, 0, 9})->mutable_dim(2)->set_dim_param("height");
  real("scales", {1, 1, 1.5, 2});
  model_.node("Resize", {"image", "", "scales"}, {"y"}).text("mode", "linear");
  EXPECT_EQ(type(), "f32[1,3,div(height*3, 2),18]");
}

TEST_F(OpenImport, ResizeTakesOpenSizes) {
  model_.integers("others", {8});
  model_.node("Concat", {"batch", "batch", "others"}, {"target"}).integer("axis", 0);
  model_.node("Resize", {"x", "", "", "target"}, {"y"}).text("mode", "nearest");
  EXPECT_EQ(type(), "f32[batch,batch,8]");
}

// ONNX rounds the size in f32, which is no expression of integers.
TEST_F(OpenImport, ResizeByScalesThatAreRoundedIsRefused) {
  model_.input("image", {1, 3, 0, 9})->mutable_dim(2)->set_dim_param("height");
  real("scales", {1, 1, 0.7F, 2});
  model_.node("Resize", {"image", "", "scales"}, {"y"}).text("mode", "linear");
  EXPECT_NE(type().find("which ONNX rounds"), std::string::npos);
}

// (seq + 1) / 2 broadcasts to seq where seq is 1 or 2. If it were taken to be seq, the result would
// be wrong at 2.
TEST_F(OpenImport, WhatBroadcastsAtOneSizeAloneIsNotDecided) {
  model_.integers("end", {std::numeric_limits<std::int64_t>::max()});
  model_.node("Slice", {"x", "zero", "end", "one", "two"}, {"half"});
  model_.node("Expand", {"half", "sizes"}, {"y"});
  EXPECT_NE(type().find("needs a number where a size is open"), std::string::npos);
}

TEST_F(OpenImport, ExpandTakesComputedSizes) {
  model_.integers("eight", {8});
  model_.node("Concat", {"two", "batch", "seq", "eight"}, {"target"}).integer("axis", 0);
  model_.node("Expand", {"x", "target"}, {"y"});
  EXPECT_EQ(type(), "f32[2,batch,seq,8]");
}

// With stride 1, the padding that keeps a size does not depend on it.
TEST_F(OpenImport, AutomaticPaddingKeepsAnOpenSize) {
  model_.input("image", {1, 3, 0, 9})->mutable_dim(2)->set_dim_param("height");
  auto* kernel = model_.initializer("kernel", kFloatCode, {4, 3, 4, 3});
  for (int i = 0; i < 144; ++i) kernel->add_float_data(1);
  Attributes conv = model_.node("Conv", {"image", "kernel"}, {"y"});
  conv.text("auto_pad", "SAME_LOWER").integers("strides", {1, 2}).integers("dilations", {2, 1});
  EXPECT_EQ(type(), "f32[1,4,height,5]");
}

// The product exceeds 64 bits at any size; each factor does not.
TEST_F(OpenImport, SizesBeyond64BitsAreNotFollowed) {
  model_.integers("large", {std::int64_t{1} << 62});
  model_.node("Mul", {"seq", "large"}, {"larger"});
  model_.node("Mul", {"larger", "large"}, {"largest"});
  model_.node("ConstantOfShape", {"largest"}, {"y"});
  EXPECT_NE(type().find("ConstantOfShape"), std::string::npos) << type();
}

// Each size is twice as long an expression as the one before.
TEST_F(OpenImport, LongExpressionsAreNotFollowed) {
  model_.node("Add", {"batch", "seq"}, {"sum"});
  std::string size = "sum";
  for (int i = 0; i < 60; ++i) {
    const std::string next = "size" + std::to_string(i);
    model_.node(i % 2 == 0 ? "Max" : "Add", {size, i % 2 == 0 ? "sum" : size}, {next});
    size = next;
  }
  model_.node("ConstantOfShape", {size}, {"y"});
  EXPECT_NE(type().find("ConstantOfShape"), std::string::npos) << type();
}

// A window's size must be a number.
TEST_F(OpenImport, NumbersThatMustBeKnownAreNamed) {
  model_.node("Transpose", {"x"}, {"w"}).integers("perm", {0, 2, 1});
  model_.node("Conv", {"x", "w"}, {"y"});
  const std::string message = type();
  EXPECT_NE(message.find("a kernel of unknown size"), std::string::npos) << message;
}

TEST_F(OpenImport, SamePaddingWithAStrideRoundsTheSizeUp) {
  image_node("Conv").text("auto_pad", "SAME_UPPER").integers("strides", {2, 2});
  EXPECT_EQ(type(), "f32[1,4,div(height + 1, 2),5]");
}

TEST_F(OpenImport, WindowsSmallerThanTheirStridePadOnlyWhereNeeded) {
  Attributes pool = image_node("MaxPool").text("auto_pad", "SAME_LOWER");
  pool.integers("strides", {3, 3}).integers("kernel_shape", {1, 1});
  EXPECT_EQ(type(), "f32[1,3,div(height + 2, 3),3]");
}

TEST_F(OpenImport, CeilModeAddsAWindowForTheRest) {
  Attributes pool = image_node("MaxPool").integer("ceil_mode", 1);
  pool.integers("strides", {2, 2}).integers("kernel_shape", {3, 3});
  EXPECT_EQ(type(), "f32[1,3,div(height - 2, 2) + 1,4]");
}

TEST_F(OpenImport, RangesMayStartAtAnOpenSizeAndCountDown) {
  model_.node("Squeeze", {"seq"}, {"first"});
  model_.node("Squeeze", {"batch"}, {"limit"});
  auto* delta = model_.initializer("delta", kInt64Code, {});
  delta->add_int64_data(-2);
  model_.node("Range", {"first", "limit", "delta"}, {"y"});
  EXPECT_EQ(type(), "i64[max(div(1 - (batch - seq), 2), 0)]");
}

TEST_F(OpenImport, RangesOfRealNumbersCountToASize) {
  model_.node("Squeeze", {"seq"}, {"limit"});
  model_.node("Cast", {"limit"}, {"real_limit"}).integer("to", kFloatCode);
  for (const char* name : {"start", "delta"}) {
    auto* tensor = model_.initializer(name, kFloatCode, {});
    tensor->add_float_data(name == std::string("delta") ? 0.5F : 0.0F);
  }
  model_.node("Range", {"start", "real_limit", "delta"}, {"y"});
  EXPECT_EQ(type(), "f32[seq*2]");
  // f32 holds sizes up to 2^24.
  EXPECT_EQ(assumed_, std::vector<std::string>());  // of the sizes that the scope knows
}

TEST_F(OpenImport, SizesMayBeScaledByFractions) {
  real("scale", {1.5F});
  model_.node("Cast", {"seq"}, {"real"}).integer("to", kFloatCode);
  model_.node("Mul", {"real", "scale"}, {"scaled"});
  model_.node("Floor", {"scaled"}, {"whole"});
  model_.node("Cast", {"whole"}, {"size"}).integer("to", kInt64Code);
  model_.node("ConstantOfShape", {"size"}, {"y"});
  EXPECT_EQ(type(), "f32[div(seq*3, 2)]");
}

TEST_F(OpenImport, QuotientsThatAreRoundedUpAreExact) {
  real("three", {3});
  model_.node("Cast", {"seq"}, {"real"}).integer("to", kFloatCode);
  model_.node("Div", {"real", "three"}, {"third"});
  model_.node("Ceil", {"third"}, {"whole"});
  model_.node("Cast", {"whole"}, {"size"}).integer("to", kInt64Code);
  model_.node("ConstantOfShape", {"size"}, {"y"});
  EXPECT_EQ(type(), "f32[div(seq + 2, 3)]");
}

// The f32 next to 1/3 is no third; whether a product is rounded up to a whole number depends on the
// size. So does a quotient that is used further.
TEST_F(OpenImport, RoundedNumbersAreNotFollowed) {
  real("third", {1.0F / 3});
  real("three", {3});
  model_.node("Cast", {"seq"}, {"real"}).integer("to", kFloatCode);
  model_.node("Mul", {"real", "third"}, {"scaled"});
  model_.node("Div", {"real", "three"}, {"quotient"});
  model_.node("Mul", {"quotient", "three"}, {"back"});
  for (const char* inexact : {"scaled", "back"}) {
    OnnxModel copy = model_;
    model_.node("Floor", {inexact}, {"whole"});
    model_.node("Cast", {"whole"}, {"size"}).integer("to", kInt64Code);
    model_.node("ConstantOfShape", {"size"}, {"y"});
    EXPECT_NE(type().find("ConstantOfShape"), std::string::npos) << inexact;
    model_ = std::move(copy);
  }
}

TEST_F(OpenImport, RemaindersAreRecognized) {
  model_.integers("eight", {8});
  model_.node("Mod", {"seq", "eight"}, {"rest"});
  model_.node("Sub", {"eight", "rest"}, {"missing"});
  model_.node("Mod", {"missing", "eight"}, {"size"});
  model_.node("ConstantOfShape", {"size"}, {"y"});
  EXPECT_EQ(type(), "f32[mod(8 - mod(seq, 8), 8)]");
}

TEST_F(OpenImport, EqualPartsOfAnOpenAxisAreAssumed) {
  model_.node("Split", {"x"}, {"a", "y"}).integer("axis", 1);
  EXPECT_EQ(type(), "f32[batch,div(seq, 2),8]");
  EXPECT_EQ(assumed_.size(), 2U);  // 2 divides it, so it is at least 2
}

TEST_F(OpenImport, PartsMayHaveComputedSizes) {
  model_.node("Sub", {"seq", "one"}, {"rest"});
  model_.node("Concat", {"one", "rest"}, {"parts"}).integer("axis", 0);
  model_.node("Split", {"x", "parts"}, {"a", "y"}).integer("axis", 1);
  EXPECT_EQ(type(), "f32[batch,seq - 1,8]");
}

TEST_F(OpenImport, OneHotTopKAndEyeLikeTakeOpenSizes) {
  model_.input("id", {0}, kInt64Code)->mutable_dim(0)->set_dim_param("batch");
  real("values", {0, 1});
  model_.node("OneHot", {"id", "seq", "values"}, {"hot"});
  model_.node("EyeLike", {"hot"}, {"eye"});
  model_.node("TopK", {"eye", "one"}, {"top", "place"});
  model_.node("TopK", {"x", "seq"}, {"sorted", "places"}).integer("axis", 1);
  model_.node("MatMul", {"eye", "sorted"}, {"y"});
  EXPECT_EQ(type(), "f32[batch,batch,8]");
}

}  // namespace
}  // namespace egret::frontends
