// SPDX-License-Identifier: Apache-2.0
// Runs at several sizes in one call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "tests/frontends/onnx_model.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

class SizedRuns : public FolderTest {
 protected:
  SizedRuns() {
    frontends::OnnxModel model(17);
    onnx::TensorShapeProto* shape = model.input("x", {0, 0});
    shape->mutable_dim(0)->set_dim_param("batch");
    shape->mutable_dim(1)->set_dim_param("seq");
    model.node("Relu", {"x"}, {"r"});
    model.node("Transpose", {"r"}, {"t"}).integers("perm", {1, 0});
    model.node("MatMul", {"r", "t"}, {"y"});
    model.output("y");
    EXPECT_TRUE(base::write_file(path("m.onnx"), model.bytes()).ok());
  }

  // A file with an input of these sizes.
  std::string input(const char* name, std::int64_t batch, std::int64_t seq) {
    const ir::Tensor tensor = ir::Tensor::filled({ir::DType::kF32, {batch, seq}}, 1);
    EXPECT_TRUE(base::write_file(path(name), frontends::write_tensor_proto(tensor, "x")).ok());
    return " --input x=" + path(name);
  }

  // The document of a call that succeeds.
  base::Json call(const std::string& arguments) {
    const ProgramRun run = run_program(arguments + " --json");
    if (run.code != 0) throw std::runtime_error(run.err);  // fails the test
    auto json = base::Json::parse(run.out);
    if (!json.ok()) throw std::runtime_error(run.out);
    return *std::move(json);
  }

  static std::string type(const base::Json& run) {
    return std::string(*run.find("outputs")->items()[0].find("type")->as_string());
  }
};

TEST_F(SizedRuns, OfOneModelAreMadeAtAllSizesThatAreAskedFor) {
  const base::Json json =
      call("run " + path("m.onnx") + " --at batch=2,seq=3 --at batch=4,seq=5 --check");
  const auto& runs = json.find("runs")->items();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(type(runs[0]), "f32[2,2]");
  EXPECT_EQ(type(runs[1]), "f32[4,4]");
  EXPECT_EQ(*runs[1].find("sizes")->as_string(), "batch=4, seq=5");
}

TEST_F(SizedRuns, BeginWhereAnInputIsGivenAgainAndShareThePlansOfEqualSizes) {
  const std::string inputs = input("a.pb", 2, 3) + input("b.pb", 1, 7) + input("c.pb", 2, 3);
  const base::Json json = call("run " + path("m.onnx") + inputs + " --output-folder " + folder());
  ASSERT_EQ(json.find("runs")->items().size(), 3U);
  EXPECT_EQ(type(json.find("runs")->items()[1]), "f32[1,1]");
  EXPECT_EQ(*json.find("plans_made")->as_integer(), 2);
  EXPECT_TRUE(base::read_file(path("run_2_output_0.pb"), 1 << 20).ok());
}

TEST_F(SizedRuns, HaveOneDocumentEachInBenchAndCompare) {
  const std::string sizes = " --at batch=2,seq=3 --at batch=4,seq=5";
  const base::Json compared = call("compare " + path("m.onnx") + " " + path("m.onnx") + sizes);
  EXPECT_TRUE(*compared.find("passed")->as_bool());
  EXPECT_EQ(compared.find("runs")->items().size(), 2U);
  const base::Json timed = call("bench --time 0.01 --runs 1 " + path("m.onnx") + sizes);
  ASSERT_EQ(timed.find("runs")->items().size(), 2U);
  EXPECT_GT(*timed.find("runs")->items()[1].find("median_s")->as_real(), 0);
}

TEST_F(SizedRuns, TakeEitherSizesOrSeveralInputs) {
  const ProgramRun run = run_program("run " + path("m.onnx") + input("a.pb", 2, 3) +
                                     input("b.pb", 1, 7) + " --at seq=3");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("--at cannot be combined with several sets of inputs"));
}

TEST_F(SizedRuns, SizesOfInputsMustBeThoseThatAreAskedFor) {
  const ProgramRun run = run_program("run " + path("m.onnx") + input("a.pb", 2, 3) + " --at seq=4");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("but the size is 3 by --input"));
}

// ONNX allows indices from -size to size - 1.
TEST_F(SizedRuns, GivenIndicesOutsideOfTheirAxisAreErrors) {
  frontends::OnnxModel model(17);
  model.input("x", {4, 2});
  model.input("i", {2}, frontends::kInt64Code);
  model.node("Gather", {"x", "i"}, {"y"});
  model.output("y");
  ASSERT_TRUE(base::write_file(path("g.onnx"), model.bytes()).ok());
  const auto indices = [&](const ir::Integers& values) {
    const ir::Tensor tensor = ir::Tensor::of_integers(values);
    EXPECT_TRUE(base::write_file(path("i.pb"), frontends::write_tensor_proto(tensor, "i")).ok());
    return path("g.onnx") + " --input i=" + path("i.pb");
  };
  for (const char* verb : {"run ", "bench --time 0.01 --runs 1 "}) {
    EXPECT_EQ(run_program(verb + indices({-4, 3})).code, 0) << verb;
    const ProgramRun run = run_program(verb + indices({0, 4}));
    EXPECT_EQ(run.code, 3) << verb;
    EXPECT_THAT(run.err, HasSubstr("y: index 4 at place 1 is outside of an axis of size 4"));
  }
}

TEST_F(SizedRuns, FixingASizeSaysWhatItGainsOverTheOpenModel) {
  const base::Json json =
      call("optimize " + path("m.onnx") + " -o " + path("o.onnx") +
           " --no-measure --cost nodes --bind batch=2 --cost-db " + path("costs"));
  EXPECT_EQ(*json.find("bound_sizes")->as_string(), "batch=2");
  EXPECT_EQ(*json.find("bound_operators")->as_integer(), 3);
  EXPECT_EQ(*json.find("open_operators")->as_integer(), 3);
  const ProgramRun run = run_program("optimize " + path("m.onnx") + " -o " + path("o.onnx") +
                                     " --no-measure --bind batch=2 --cost-db " + path("costs"));
  EXPECT_THAT(run.out, HasSubstr("batch=2: 3 operators"));
  EXPECT_THAT(run.out, HasSubstr("left open: 3 operators"));
}

}  // namespace
}  // namespace egret::tools
