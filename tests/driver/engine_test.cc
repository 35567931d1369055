// SPDX-License-Identifier: Apache-2.0
// Engines as backends: a program of the test's own, and those of the Python at hand.
#include "driver/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "backends/timing/measure.h"
#include "base/system/file.h"
#include "base/timer.h"
#include "driver/measure/output_check.h"
#include "ir/graph/builder.h"
#include "tests/paths.h"

namespace egret::driver {
namespace {

using ::testing::HasSubstr;

ir::Graph product() {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", {ir::DType::kF32, {3, 4}});
  const ir::Value w = b.input("w", {ir::DType::kF32, {4, 5}});
  b.output("y", b.add("relu", {b.add("matmul", {x, w})}));
  return b.finish().value();
}

// The Python of the development environment; empty: there is none.
std::string python() {
  const std::string path = EGRET_SOURCE_DIR "/.venv/bin/python";
  return std::filesystem::exists(path) ? path : "";
}

class PythonEngine : public testing::TestWithParam<std::string> {};

TEST_P(PythonEngine, RunsAGraphAndTimesIt) {
  if (python().empty()) GTEST_SKIP() << "no .venv (scripts/setup.sh)";
  const auto engine = Engine::start(GetParam(), {.python = python()});
  if (!engine.ok()) GTEST_SKIP() << engine.status().message();
  EXPECT_TRUE((*engine)->version().starts_with(GetParam() + " ")) << (*engine)->version();
  const ir::Graph graph = product();
  const auto plan = (*engine)->compile(graph, {.threads = 1});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto expected = OutputCheck::of(graph, {.samples = 3, .seed = 5});
  ASSERT_TRUE(expected.ok());
  const auto checked =
      expected->check([&](std::span<const ir::Tensor> inputs) { return (*plan)->run(inputs); });
  ASSERT_TRUE(checked.ok()) << checked.status().message();
  EXPECT_TRUE(checked->passed) << to_string(*checked);
  EXPECT_GT((*plan)->last_device_s(), 0);
  EXPECT_LT((*plan)->last_device_s(), 1);
}

TEST_P(PythonEngine, RefusesWhatIsNoModel) {
  if (python().empty()) GTEST_SKIP() << "no .venv (scripts/setup.sh)";
  const auto engine = Engine::start(GetParam(), {.python = python()});
  if (!engine.ok()) GTEST_SKIP() << engine.status().message();
  const auto plan = (*engine)->load("/no/such/model.onnx", product(), {});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), base::StatusCode::kUnsupported);
}

INSTANTIATE_TEST_SUITE_P(All, PythonEngine, testing::ValuesIn(engine_names()),
                         [](const auto& one) { return one.param; });

// A folder with a program trtexec, in front of PATH while the object lives.
class StandInTrtexec {
 public:
  StandInTrtexec() : folder_(testing::TempDir() + "egret-trtexec-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
    const std::string program = folder_ + "/trtexec";
    const base::Status written = base::write_file(
        program, "#!/bin/sh\nexec '" + python() +
                     "' '" EGRET_SOURCE_DIR "/tests/driver/stand_in_trtexec.py' \"$@\"\n");
    EXPECT_TRUE(written.ok());
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    ::setenv("PATH", (folder_ + ":" + before_).c_str(), 1);
  }
  ~StandInTrtexec() {
    ::setenv("PATH", before_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }

 private:
  std::string folder_;
  std::string before_ = std::getenv("PATH");
};

TEST(TensorRtEngine, RunsByTrtexec) {
  if (python().empty()) GTEST_SKIP() << "no .venv (scripts/setup.sh)";
  const StandInTrtexec trtexec;
  const auto engine = Engine::start("tensorrt", {.python = python()});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ((*engine)->version(), "tensorrt 10.3.0");
  ir::GraphBuilder b;
  const ir::Value x = b.input("x:0", {ir::DType::kF32, {2, 2}});
  b.output("y", b.add("relu", {x}));
  b.output("inf/z", b.add("log", {x}));
  const ir::Graph graph = b.finish().value();
  const auto plan = (*engine)->compile(graph, {.threads = 1});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const ir::Tensor values = ir::Tensor::of(ir::DType::kF32, std::array<std::int64_t, 2>{2, 2},
                                           std::array{0.5, -1.0, 0.0, 3.0});
  const auto outputs = (*plan)->run(std::span(&values, 1));
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_DOUBLE_EQ((*plan)->last_device_s(), 0.75e-3);
  EXPECT_THAT((*outputs)[0].as<float>(), testing::ElementsAre(0.5F, 0.0F, 0.0F, 3.0F));
  const auto logs = (*outputs)[1].as<float>();
  EXPECT_NEAR(logs[0], -0.693147, 1e-5);
  EXPECT_TRUE(std::isnan(logs[1]));
  EXPECT_EQ(logs[2], -std::numeric_limits<float>::infinity());
}

TEST(TensorRtEngine, GivesTrtexecsErrors) {
  if (python().empty()) GTEST_SKIP() << "no .venv (scripts/setup.sh)";
  const StandInTrtexec trtexec;
  const auto engine = Engine::start("tensorrt", {.python = python()});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const auto plan = (*engine)->load("/no/such/model.onnx", product(), {});
  EXPECT_EQ(plan.status().code(), base::StatusCode::kUnsupported);
  EXPECT_THAT(plan.status().message(), HasSubstr("[E]"));
}

TEST(Engine, ThatIsUnknownIsAUsageError) {
  const auto engine = Engine::start("onnxrutime");
  EXPECT_EQ(engine.status().code(), base::StatusCode::kUsage);
  EXPECT_THAT(engine.status().message(), HasSubstr("did you mean \"onnxruntime\"?"));
}

TEST(Engine, ThatIsMissingNamesTheRemedy) {
  const auto engine = Engine::start("onnxruntime", {.python = "/no/such/python"});
  EXPECT_EQ(engine.status().code(), base::StatusCode::kUnavailable);
  EXPECT_THAT(engine.status().message(), HasSubstr("--engine-python"));
}

TEST(Engine, ThatCrashesIsUnavailable) {
  const auto engine = Engine::start("exec:echo no memory >&2; exit 1");
  EXPECT_EQ(engine.status().code(), base::StatusCode::kUnavailable);
  EXPECT_THAT(engine.status().message(), HasSubstr("no memory"));
}

TEST(Engine, ThatAnswersNonsenseIsUnavailable) {
  const auto engine = Engine::start("exec:read -r q; echo hello; read -r q");
  EXPECT_EQ(engine.status().code(), base::StatusCode::kUnavailable);
  EXPECT_THAT(engine.status().message(), HasSubstr("answered \"hello\" to version"));
}

TEST(Engine, ThatHangsIsLeft) {
  const auto engine = Engine::start(
      "exec:read -r q; case $q in *version*) echo '{\"ok\": true}';; *) sleep 100;; esac",
      {.load_seconds = 0.3});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const base::Stopwatch watch;
  EXPECT_EQ((*engine)->compile(product(), {}).status().code(), base::StatusCode::kLimit);
  EXPECT_LT(watch.seconds(), 5);
}

TEST(Engine, ThatRefusesAModelGivesItsReason) {
  const auto engine = Engine::start(
      "exec:read -r q; case $q in *version*) echo '{\"ok\": true, \"version\": 1}';; *) echo "
      "'{\"ok\": false, \"error\": \"no Relu here\"}';; esac; read -r q");
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const base::Status refused = (*engine)->compile(product(), {}).status();
  EXPECT_EQ(refused.code(), base::StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("no Relu here"));
}

TEST(Engine, ThatWritesTooLittleIsUnavailable) {
  const auto engine = Engine::start(
      "exec:while read -r q; do for f in $(echo \"$q\" | grep -o '/[^\"]*output[0-9]*'); do printf "
      "abc > $f; done; echo '{\"ok\": true, \"seconds\": 0.5}'; done");
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const auto plan = (*engine)->compile(product(), {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto outputs = (*plan)->run(backends::random_inputs(**plan, base::Random(1)));
  ASSERT_FALSE(outputs.ok());
  EXPECT_THAT(outputs.status().message(), HasSubstr("3 bytes of output y"));
}

}  // namespace
}  // namespace egret::driver
