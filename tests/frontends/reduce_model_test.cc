// SPDX-License-Identifier: Apache-2.0
#include "frontends/reduce_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <span>

#include "base/minimal_subset.h"
#include "base/stop.h"
#include "base/system/file.h"
#include "frontends/onnx.h"
#include "frontends/onnx.pb.h"
#include "frontends/reduction/submodel.h"
#include "ir/graph/builder.h"

namespace egret::frontends {
namespace {

using ::testing::ElementsAre;
using Subset = std::vector<std::size_t>;

TEST(MinimalSubset, FindsTheElementsThatMatter) {
  int tests = 0;
  const auto found = base::minimal_subset(400, [&](const Subset& kept) {
    ++tests;
    return std::ranges::binary_search(kept, 17U) && std::ranges::binary_search(kept, 333U);
  });
  EXPECT_THAT(found, ElementsAre(17, 333));
  EXPECT_LT(tests, 80);
}

// A test that needs any three elements: which ones remain does not matter, that none can go does.
TEST(MinimalSubset, IsOneMinimal) {
  for (std::size_t count : {3U, 4U, 10U, 101U}) {
    const auto found =
        base::minimal_subset(count, [](const Subset& kept) { return kept.size() >= 3; });
    EXPECT_EQ(found.size(), 3U) << count;
  }
  EXPECT_TRUE(base::minimal_subset(5, [](const Subset&) { return true; }).empty());
  EXPECT_EQ(base::minimal_subset(5, [](const Subset&) { return false; }).size(), 5U);
}

onnx::ModelProto parsed(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

std::map<std::string, int> operators(const onnx::ModelProto& model) {
  std::map<std::string, int> count;
  for (const auto& node : model.graph().node()) ++count[node.op_type()];
  return count;
}

// x -> 150 relus -> erf * (the 100th relu) -> softplus -> 250 tanhs, with a product of weights in
// front.
std::string large_model() {
  ir::GraphBuilder b;
  ir::Value x = b.input("x", {ir::DType::kF32, {32, 64}});
  x = b.add("matmul", {x, b.constant(ir::Tensor(ir::TensorType(ir::DType::kF32, {64, 64})))});
  ir::Value side = x;
  for (int i = 0; i < 150; ++i) {
    x = b.add(i % 2 == 0 ? "relu" : "neg", {x});
    if (i == 100) side = x;
  }
  x = b.add("softplus", {b.add("mul", {b.add("erf", {x}), side})});
  for (int i = 0; i < 250; ++i) x = b.add("tanh", {x});
  b.output("y", x);
  return export_onnx(b.finish().value(), OnnxModelInfo(), {}).value().bytes;
}

// A softplus of a product with an erf: what a fault might need.
bool has_pattern(const std::string& bytes) {
  const onnx::ModelProto model = parsed(bytes);
  std::map<std::string, const onnx::NodeProto*> makers;
  for (const auto& node : model.graph().node()) makers[node.output(0)] = &node;
  const auto is = [&](const std::string& value, const char* type) {
    const auto maker = makers.find(value);
    return maker != makers.end() && maker->second->op_type() == type;
  };
  return std::ranges::any_of(model.graph().node(), [&](const onnx::NodeProto& node) {
    if (node.op_type() != "Softplus" || !is(node.input(0), "Mul")) return false;
    const onnx::NodeProto& mul = *makers.at(node.input(0));
    return is(mul.input(0), "Erf");
  });
}

class ReduceModel : public testing::Test {
 protected:
  ReduceModel() { std::filesystem::create_directories(folder_); }
  ~ReduceModel() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& bytes) {
    EXPECT_TRUE(base::write_file(folder_ + "/m.onnx", bytes).ok());
    return folder_ + "/m.onnx";
  }
  static ReduceOptions options(std::function<bool(const std::string&)> test) {
    ReduceOptions how;
    how.test = [test = std::move(test)](const std::string& bytes) -> base::Result<bool> {
      return test(bytes);
    };
    how.found = [](const std::string&) { return base::ok(); };
    return how;
  }

 private:
  std::string folder_ = testing::TempDir() + "egret-reduce-" + std::to_string(::getpid());
};

TEST_F(ReduceModel, FourHundredNodesBecomeThoseOfTheFault) {
  const std::string path = file(large_model());
  const auto reduced = reduce_model(path, options(has_pattern));
  ASSERT_TRUE(reduced.ok()) << reduced.status().message();
  EXPECT_EQ(reduced->nodes_before, 404);
  EXPECT_EQ(reduced->nodes, 3);
  EXPECT_EQ(reduced->stop_reason, "minimal");
  EXPECT_LT(reduced->tests, 150);
  const onnx::ModelProto model = parsed(reduced->bytes);
  EXPECT_EQ(operators(model),
            (std::map<std::string, int>{{"Erf", 1}, {"Mul", 1}, {"Softplus", 1}}));
  EXPECT_EQ(model.graph().initializer_size(), 0);
  for (const auto& input : model.graph().input()) {
    for (const auto& dim : input.type().tensor_type().shape().dim()) EXPECT_EQ(dim.dim_value(), 1);
  }
  // It is a model: it can be imported, and shows the fault.
  EXPECT_TRUE(import_onnx_bytes(std::as_bytes(std::span(reduced->bytes)), "").ok());
  EXPECT_TRUE(has_pattern(reduced->bytes));
  // Again with the same result.
  EXPECT_EQ(reduce_model(path, options(has_pattern))->bytes, reduced->bytes);
}

TEST_F(ReduceModel, SizesAttributesAndOperandsGoThatDoNotMatter) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", {ir::DType::kF32, {2, 6, 10, 12}});
  const ir::Value w = b.input("w", {ir::DType::kF32, {6, 2, 3, 3}});
  b.output("y", b.add("conv", {x, w},
                      {{"group", std::int64_t{3}},
                       {"strides", ir::Integers{2, 2}},
                       {"pads", ir::Integers{1, 1, 1, 1}},
                       {"dilations", ir::Integers{1, 1}}}));
  const std::string bytes = export_onnx(b.finish().value(), OnnxModelInfo(), {}).value().bytes;
  // The fault needs more than one group, and a width above 4.
  const auto shows = [](const std::string& candidate) {
    const onnx::ModelProto model = parsed(candidate);
    for (const auto& node : model.graph().node()) {
      for (const auto& attribute : node.attribute()) {
        if (attribute.name() == "group" && attribute.i() > 1)
          return model.graph().input(0).type().tensor_type().shape().dim(3).dim_value() > 4;
      }
    }
    return false;
  };
  const auto reduced = reduce_model(file(bytes), options(shows));
  ASSERT_TRUE(reduced.ok()) << reduced.status().message();
  const onnx::ModelProto model = parsed(reduced->bytes);
  ASSERT_EQ(model.graph().node_size(), 1);
  ASSERT_EQ(model.graph().node(0).attribute_size(), 1);
  EXPECT_EQ(model.graph().node(0).attribute(0).name(), "group");
  EXPECT_EQ(model.graph().input(0).type().tensor_type().shape().dim(3).dim_value(), 5);
  EXPECT_EQ(model.graph().input(0).type().tensor_type().shape().dim(0).dim_value(), 1);
}

TEST_F(ReduceModel, AValueThatIsKnownBecomesAConstant) {
  onnx::ModelProto model = parsed(large_model());
  // A shape that nodes compute from a constant.
  auto& graph = *model.mutable_graph();
  auto& shape = *graph.add_node();
  shape.set_op_type("Shape");
  shape.add_input("x");
  shape.add_output("shape");
  auto& reshape = *graph.add_node();
  reshape.set_op_type("Reshape");
  reshape.add_input("x");
  reshape.add_input("shape");
  reshape.add_output("z");
  graph.add_output()->set_name("z");
  const auto shows = [](const std::string& bytes) {
    return operators(parsed(bytes)).contains("Reshape");
  };
  const auto reduced = reduce_model(file(model.SerializeAsString()), options(shows));
  ASSERT_TRUE(reduced.ok()) << reduced.status().message();
  const onnx::ModelProto small = parsed(reduced->bytes);
  EXPECT_EQ(operators(small), (std::map<std::string, int>{{"Reshape", 1}}));
  ASSERT_EQ(small.graph().initializer_size(), 1);
  EXPECT_EQ(small.graph().initializer(0).name(), "shape");
}

TEST_F(ReduceModel, KeepsNodesThatEgretDoesNotKnow) {
  onnx::ModelProto model = parsed(large_model());
  auto& node = *model.mutable_graph()->mutable_node(200);
  node.set_op_type("Magic");
  node.set_domain("com.example");
  const auto shows = [](const std::string& bytes) {
    return operators(parsed(bytes)).contains("Magic");
  };
  ReduceOptions how = options(shows);
  const auto reduced = reduce_model(file(model.SerializeAsString()), how);
  ASSERT_TRUE(reduced.ok()) << reduced.status().message();
  EXPECT_EQ(operators(parsed(reduced->bytes)).at("Magic"), 1);
  how.imports = false;
  EXPECT_TRUE(reduce_model(file(model.SerializeAsString()), how).ok());
}

TEST_F(ReduceModel, AModelThatDoesNotShowTheFaultIsRefused) {
  const auto reduced =
      reduce_model(file(large_model()), options([](const std::string&) { return false; }));
  ASSERT_FALSE(reduced.ok());
  EXPECT_EQ(reduced.status().code(), base::StatusCode::kUsage);
}

TEST_F(ReduceModel, AStopKeepsTheSmallestSoFar) {
  int tests = 0;
  std::string last;
  ReduceOptions how = options([&](const std::string& bytes) {
    if (++tests == 8) base::request_stop(SIGINT);
    return has_pattern(bytes);
  });
  how.found = [&](const std::string& bytes) {
    last = bytes;
    return base::ok();
  };
  const auto reduced = reduce_model(file(large_model()), how);
  base::request_stop(0);
  ASSERT_TRUE(reduced.ok()) << reduced.status().message();
  EXPECT_EQ(reduced->stop_reason, "interrupted");
  EXPECT_LE(reduced->tests, 9);
  EXPECT_LT(reduced->nodes, reduced->nodes_before);
  EXPECT_EQ(reduced->bytes, last);
  EXPECT_TRUE(has_pattern(last));
}

TEST_F(ReduceModel, ALimitOfTestsEndsIt) {
  ReduceOptions how = options(has_pattern);
  how.max_tests = 5;
  const auto reduced = reduce_model(file(large_model()), how);
  ASSERT_TRUE(reduced.ok());
  EXPECT_EQ(reduced->stop_reason, "tests");
  EXPECT_EQ(reduced->tests, 5);
}

TEST(Submodel, CutsAtAnySetOfNodes) {
  const onnx::ModelProto model = parsed(large_model());
  ValueFacts facts;
  for (const auto& node : model.graph().node()) {
    auto& value = facts.types[node.output(0)];
    value.set_name(node.output(0));
    value.mutable_type()->mutable_tensor_type()->set_elem_type(1);
  }
  const auto part = submodel(model, {10, 11, 20}, facts);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->graph().node_size(), 3);
  EXPECT_EQ(part->graph().input_size(), 2);                       // of nodes 10 and 20
  EXPECT_EQ(part->graph().output_size(), 2);                      // of nodes 11 and 20
  EXPECT_FALSE(submodel(model, {10}, ValueFacts()).has_value());  // of an unknown type
  EXPECT_FALSE(submodel(model, {}, facts).has_value());
}

}  // namespace
}  // namespace egret::frontends
