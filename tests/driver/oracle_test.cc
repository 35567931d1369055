// SPDX-License-Identifier: Apache-2.0
// The written file against the given one, in engines: stand-ins, and ONNX Runtime if it is at hand.
#include "driver/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "driver/optimize.h"
#include "driver/written_model.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/paths.h"

namespace egret::driver {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kPython = EGRET_SOURCE_DIR "/.venv/bin/python";

ir::Graph graph_of(const std::function<ir::Value(ir::GraphBuilder&, ir::Value)>& body) {
  ir::GraphBuilder b;
  b.output("y", body(b, b.input("x", {ir::DType::kF32, {2, 3}})));
  return b.finish().value();
}

frontends::ImportedModel imported(const ir::Graph& graph) {
  frontends::ImportedModel model;
  model.graph = graph;
  return model;
}

ModelSource file_of(const ir::Graph& graph) {
  return {.path = "model.onnx",
          .bytes = frontends::export_onnx(graph, frontends::OnnxModelInfo(), {}).value().bytes};
}

ir::Graph magnitudes() {
  return graph_of([](ir::GraphBuilder& b, ir::Value x) { return b.add("abs", {x}); });
}
ir::Graph unchanged() {
  return graph_of([](ir::GraphBuilder& b, ir::Value x) { return b.add("relu", {x}); });
}

OptimizeOptions options_for(const std::string& oracle) {
  OptimizeOptions options;
  options.oracle = oracle;
  options.engine_python = kPython;
  options.threads = 1;
  return options;
}

// What comes of writing `read` as its own result.
struct Outcome {
  base::Status status;
  OptimizeReport report;
};
Outcome write(const ModelSource& source, const frontends::ImportedModel& read,
              const OptimizeOptions& options) {
  OptimizeResult result{.graph = read.graph, .report = {}};
  const auto written =
      checked_model(result, {.original = source, .read = read, .options = options}, "test", "");
  return {written.ok() ? base::ok() : written.status(), std::move(result.report)};
}

bool has_onnxruntime() {
  return std::filesystem::exists(kPython) && Engine::start("onnxruntime", {.python = kPython}).ok();
}

#define SKIP_WITHOUT_ONNXRUNTIME() \
  if (!has_onnxruntime()) GTEST_SKIP() << "no onnxruntime in .venv (scripts/setup.sh)"

TEST(Oracle, FindsAWrongImport) {
  SKIP_WITHOUT_ONNXRUNTIME();
  // An importer that reads Abs as Relu: every check against the imported graph passes.
  const Outcome outcome =
      write(file_of(magnitudes()), imported(unchanged()), options_for("onnxruntime"));
  EXPECT_EQ(outcome.status.code(), base::StatusCode::kMismatch);
  EXPECT_THAT(outcome.status.message(),
              HasSubstr("output 'y' of the result is not the original's"));
  EXPECT_FALSE(outcome.report.oracle.made);
}

TEST(Oracle, FindsAWrongShapeOfTheImport) {
  SKIP_WITHOUT_ONNXRUNTIME();
  const ir::Graph rows = graph_of([](ir::GraphBuilder& b, ir::Value x) {
    return b.add("reduce_sum", {x}, {{"axes", ir::Integers{1}}, {"keepdims", std::int64_t{0}}});
  });
  const Outcome outcome = write(file_of(rows), imported(unchanged()), options_for("onnxruntime"));
  EXPECT_EQ(outcome.status.code(), base::StatusCode::kMismatch);
  EXPECT_THAT(outcome.status.message(), HasSubstr("has shape [2], not [2, 3]"));
}

TEST(Oracle, PassesWhatIsEqualAndSaysSo) {
  SKIP_WITHOUT_ONNXRUNTIME();
  const Outcome outcome = write(file_of(magnitudes()), imported(magnitudes()), options_for("auto"));
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_TRUE(outcome.report.oracle.made);
  EXPECT_EQ(outcome.report.oracle.max_error, 0);
  EXPECT_TRUE(outcome.report.oracle.engine.starts_with("onnxruntime "));
  EXPECT_EQ(outcome.report.manifest.at("egret.oracle"), outcome.report.oracle.engine);
  EXPECT_THAT(outcome.report.summary(), HasSubstr("own interpreter: "));
  EXPECT_THAT(outcome.report.summary(),
              HasSubstr(outcome.report.oracle.engine + ": largest error"));
}

TEST(Oracle, IsNotAskedByDefaultWithQuickOrWithoutCheck) {
  SKIP_WITHOUT_ONNXRUNTIME();
  for (bool OptimizeOptions::*off : {&OptimizeOptions::quick, &OptimizeOptions::no_check}) {
    OptimizeOptions options = options_for("auto");
    options.*off = true;
    const Outcome outcome = write(file_of(magnitudes()), imported(unchanged()), options);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
    EXPECT_FALSE(outcome.report.oracle.made);
    EXPECT_THAT(outcome.report.oracle.note, IsEmpty());
  }
}

TEST(Oracle, SaysWhyItCannotRunTheOriginal) {
  const Outcome outcome =
      write(file_of(magnitudes()), imported(magnitudes()),
            options_for("exec:while read -r q; do case $q in *version*) echo '{\"ok\": true, "
                        "\"version\": 3}';; *) echo '{\"ok\": false, \"error\": \"no Abs\"}';; "
                        "esac; done"));
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_FALSE(outcome.report.oracle.made);
  EXPECT_THAT(outcome.report.oracle.note, HasSubstr("cannot run the original"));
  EXPECT_THAT(outcome.report.oracle.note, HasSubstr("no Abs"));
}

TEST(Oracle, AnAbsentEngineIsOnlyToldWhereItWasNamed) {
  for (const char* name : {"auto", "onnxruntime"}) {
    OptimizeOptions options = options_for(name);
    options.engine_python = "/no/such/python";
    const Outcome outcome = write(file_of(magnitudes()), imported(magnitudes()), options);
    EXPECT_TRUE(outcome.status.ok());
    EXPECT_FALSE(outcome.report.oracle.made);
    EXPECT_EQ(outcome.report.oracle.note.empty(), std::string(name) == "auto");
  }
}

TEST(Oracle, AResultThatTheEngineRefusesIsNotWritten) {
  // The second file that this engine loads is one too many.
  const Outcome outcome = write(
      file_of(magnitudes()), imported(magnitudes()),
      options_for(
          "exec:n=0; while read -r q; do case $q in *'\"load\"'*) n=$((n+1)); if [ $n -gt 1 ]; "
          "then "
          "echo '{\"ok\": false, \"error\": \"unknown opset\"}'; else echo '{\"ok\": true}'; fi;; "
          "*outputs*) for f in $(echo \"$q\" | grep -o '/[^\"]*output[0-9]*'); do head -c 24 "
          "/dev/zero > $f; done; echo '{\"ok\": true}';; *) echo '{\"ok\": true, \"version\": 1, "
          "\"seconds\": 1}';; esac; done"));
  EXPECT_EQ(outcome.status.code(), base::StatusCode::kMismatch);
  EXPECT_THAT(outcome.status.message(), HasSubstr("but not the result"));
  EXPECT_THAT(outcome.status.message(), HasSubstr("unknown opset"));
}

TEST(Oracle, AnUnknownNameIsAnErrorBeforeTheWorkBegins) {
  const auto result = optimize(magnitudes(), options_for("onnxrutime"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), base::StatusCode::kUsage);
  EXPECT_THAT(result.status().message(), HasSubstr("onnxruntime"));
}

}  // namespace
}  // namespace egret::driver
