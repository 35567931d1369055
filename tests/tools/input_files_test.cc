// SPDX-License-Identifier: Apache-2.0
// --input NAME=FILE of `optimize`, `run`, `bench` and `compare`, on a model with open sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "frontends/wire/tensor_file.h"
#include "tests/tools/optimized_model.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class InputFiles : public OptimizedModel {
 protected:
  // y = relu(relu(table[ids] + x)), ids: [batch, seq], x: [batch, seq, 2].
  void SetUp() override {
    frontends::OnnxModel model(17);
    open(model.input("ids", {0, 0}, frontends::kInt64Code));
    open(model.input("x", {0, 0, 2}));
    auto* table = model.initializer("table", frontends::kFloatCode, {100, 2});
    for (int i = 0; i < 200; ++i) table->add_float_data(static_cast<float>(i));
    model.node("Gather", {"table", "ids"}, {"rows"});
    model.node("Add", {"rows", "x"}, {"sum"});
    model.node("Relu", {"sum"}, {"once"});
    model.node("Relu", {"once"}, {"y"});
    model.output("y");
    ASSERT_TRUE(base::write_file(path("m.onnx"), model.bytes()).ok());
    write("ids.pb", ir::Tensor::of(ir::DType::kI64, shape({2, 3}), numbers({4, 0, 99, 7, 1, 50})));
    write("x.pb", ir::Tensor::filled(ir::TensorType(ir::DType::kF32, {2, 3, 2}), -8));
    write("x4.pb", ir::Tensor::filled(ir::TensorType(ir::DType::kF32, {2, 4, 2}), 1));
    write("flat.pb", ir::Tensor::filled(ir::TensorType(ir::DType::kF32, {6, 2}), 1));
    write("wide.pb", ir::Tensor::filled(ir::TensorType(ir::DType::kF64, {2, 3, 2}), 1));
  }

  static void open(onnx::TensorShapeProto* shape) {
    shape->mutable_dim(0)->set_dim_param("batch");
    shape->mutable_dim(1)->set_dim_param("seq");
  }
  static std::vector<std::int64_t> shape(std::vector<std::int64_t> sizes) { return sizes; }
  static std::vector<double> numbers(std::vector<double> values) { return values; }
  void write(const std::string& name, const ir::Tensor& tensor) {
    ASSERT_TRUE(base::write_file(path(name), frontends::write_tensor_proto(tensor)).ok());
  }
  std::string input(const std::string& name, const std::string& file) const {
    return " --input " + name + "=" + path(file);
  }
  std::string both() const { return input("ids", "ids.pb") + input("x", "x.pb"); }
  ProgramRun optimize(const std::string& options) {
    return run_program("optimize --quick " + path("m.onnx") + " -o " + path("o.onnx") + options);
  }
};

TEST_F(InputFiles, SetValuesAndSizesOfARun) {
  const ProgramRun run = run_program("run " + path("m.onnx") + both());
  EXPECT_EQ(run.code, 0) << run.err;
  // Row 4 of the table is 8, 9; row 0 is 0, 1.
  EXPECT_THAT(run.out, HasSubstr("y  f32[2,3,2] {0, 1, 0, 0, 190, 191, 6, 7, ...}"));
  EXPECT_THAT(run.err, Not(HasSubstr("open sizes")));
  const ProgramRun one = run_program("run " + path("m.onnx") + input("ids", "ids.pb"));
  EXPECT_THAT(one.out, HasSubstr("y  f32[2,3,2]"));
}

TEST_F(InputFiles, SetTheSizesAtWhichOptimizeMeasures) {
  const ProgramRun run = optimize(both());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("measured at batch=2, seq=3"));
  EXPECT_THAT(run.out, HasSubstr("passed, with the given ids, x"));
  const auto bytes = base::read_file(path("o.onnx"), 1 << 20);
  onnx::ModelProto result;
  ASSERT_TRUE(bytes.ok() && result.ParseFromString(*bytes));
  EXPECT_EQ(std::ranges::count(operators(result), "Relu"), 1);
  const auto& props = result.metadata_props();
  const auto found =
      std::ranges::find(props, "egret.given_inputs", [](const auto& entry) { return entry.key(); });
  ASSERT_NE(found, props.end());
  EXPECT_EQ(found->value(), "ids, x");
  // It stays open: other sizes run.
  const ProgramRun other =
      run_program("compare " + path("m.onnx") + " " + path("o.onnx") + input("x", "x4.pb"));
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_THAT(other.out, HasSubstr("16"));  // elements
}

// A model that is right on random inputs alone: the given ones tell.
TEST_F(InputFiles, AreWhatIsCompared) {
  frontends::OnnxModel model(17);
  model.input("x", {4});
  model.node("Relu", {"x"}, {"y"});
  model.output("y");
  ASSERT_TRUE(base::write_file(path("relu.onnx"), model.bytes()).ok());
  frontends::OnnxModel clipped(17);
  clipped.input("x", {4});
  clipped.initializer("low", frontends::kFloatCode, {})->add_float_data(0);
  clipped.initializer("high", frontends::kFloatCode, {})->add_float_data(100);
  clipped.node("Clip", {"x", "low", "high"}, {"y"});
  clipped.output("y");
  ASSERT_TRUE(base::write_file(path("clip.onnx"), clipped.bytes()).ok());
  write("large.pb", ir::Tensor::filled(ir::TensorType(ir::DType::kF32, {4}), 1000));
  const std::string models = path("relu.onnx") + " " + path("clip.onnx");
  EXPECT_EQ(run_program("compare " + models).code, 0);
  EXPECT_EQ(run_program("compare " + models + input("x", "large.pb")).code, 6);
}

TEST_F(InputFiles, SetTheSizesOfMeasurements) {
  const ProgramRun run =
      run_program("bench --time 0 --runs 1 " + path("m.onnx") + " " + path("m.onnx") + both());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, Not(HasSubstr("open sizes")));
}

TEST_F(InputFiles, WrongOnesAreNamed) {
  const auto error = [&](const std::string& options, int code) {
    const ProgramRun run = optimize(options);
    EXPECT_EQ(run.code, code) << options << run.err;
    return run.err;
  };
  EXPECT_THAT(error(input("idx", "ids.pb"), 2),
              HasSubstr("the model has no input 'idx'; its inputs are 'ids', 'x'"));
  EXPECT_THAT(error(input("x", "wide.pb"), 3),
              HasSubstr("contains f64[2,3,2], input 'x' is f32[batch,seq,2]"));
  EXPECT_THAT(error(input("x", "flat.pb"), 3),
              HasSubstr("contains f32[6,2], input 'x' is f32[batch,seq,2]"));
  EXPECT_THAT(error(input("x", "m.onnx"), 3), HasSubstr("m.onnx"));
  EXPECT_THAT(error(input("x", "none.npy"), 7), HasSubstr("none.npy: cannot open"));
  EXPECT_THAT(error(input("x", "x.pb") + input("x", "x4.pb"), 2), HasSubstr("is given twice"));
}

TEST_F(InputFiles, ContradictionsOfSizesNameBothSides) {
  const auto error = [&](const std::string& options) {
    const ProgramRun run = optimize(options);
    EXPECT_EQ(run.code, 2) << options << run.err;
    return run.err;
  };
  const std::string by_x = "by --input x=" + path("x.pb");
  EXPECT_THAT(error(input("x", "x.pb") + " --at seq=5"),
              HasSubstr("--at seq=5, but the size is 3 " + by_x));
  EXPECT_THAT(error(input("x", "x.pb") + " --bind seq=5"),
              HasSubstr("--bind seq=5, but the size is 3 " + by_x));
  EXPECT_THAT(error(input("x", "x.pb") + " --range seq=4..9"),
              HasSubstr("--range seq=4..9, but the size is 3 " + by_x));
  EXPECT_THAT(error(input("ids", "ids.pb") + input("x", "x4.pb")),
              HasSubstr("axis 1 makes size 'seq' 4, but it is 3 by --input ids="));
  EXPECT_EQ(optimize(input("x", "x.pb") + " --at seq=3 --bind batch=2").code, 0);
}

}  // namespace
}  // namespace egret::tools
