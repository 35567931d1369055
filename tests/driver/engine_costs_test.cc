// SPDX-License-Identifier: Apache-2.0
// Times of operators in engines: one of the test's own, and ONNX Runtime.
#include "driver/prices/engine_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "base/system/file.h"
#include "driver/engine/engine.h"
#include "driver/prices/graph_queries.h"
#include "ir/graph/builder.h"
#include "tests/paths.h"

namespace egret::driver {
namespace {

using ir::DType;

// A program that answers the protocol without computing. `refusal` is what it does with a model
// that contains a softmax.
class OwnEngine {
 public:
  explicit OwnEngine(const std::string& refusal) {
    const std::string text = R"(
import json, sys
from math import prod
def answer(request):
    if request["op"] == "load" and b"Softmax" in open(request["model"], "rb").read():
        )" + refusal + R"(
    if request["op"] == "kernels":
        raise ValueError("unknown op")
    for tensor in request.get("outputs", []):
        open(tensor["file"], "wb").write(bytes(4 * prod(tensor["shape"])))
    return {"version": "7", "seconds": 1e-3}
for line in sys.stdin:
    try:
        reply = {"ok": True, **answer(json.loads(line))}
    except Exception as error:
        reply = {"ok": False, "error": str(error)}
    print(json.dumps(reply), flush=True)
)";
    EXPECT_TRUE(base::write_file(path_, text).ok());
  }
  ~OwnEngine() { std::filesystem::remove(path_); }
  std::shared_ptr<const Engine> start() const {
    auto engine = Engine::start("exec:exec python3 " + path_);
    if (!engine.ok()) return nullptr;
    (*engine)->keep_process();
    return *std::move(engine);
  }

 private:
  const std::string path_ = testing::TempDir() + "own_engine_" + std::to_string(::getpid()) + ".py";
};

base::Result<std::unique_ptr<Engine>> onnxruntime() {
  return Engine::start("onnxruntime", {.python = EGRET_SOURCE_DIR "/.venv/bin/python"});
}

EngineCosts costs_in(std::shared_ptr<const Engine> engine) {
  return EngineCosts([engine = std::move(engine)](const ir::Graph& graph, bool profile) {
    return engine->compile_to_time(graph, {.threads = 1, .profile = profile});
  });
}

ir::Graph pair_of(std::string_view first, std::string_view second) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", {DType::kF32, {4, 256, 64}});
  const ir::Attrs axis{{"axis", 2}};
  const auto attrs = [&](std::string_view op) { return op == "softmax" ? axis : ir::Attrs(); };
  b.output("y", b.add(second, {b.add(first, {x}, attrs(first))}, attrs(second)));
  return b.finish().value();
}

std::int64_t count_of(const GraphQueries& queries) { return std::ssize(queries.all()); }

TEST(EngineCosts, OfARefusedOperatorAreAboveAllOthers) {
  for (const char* refusal : {"raise ValueError('no such operator')", "sys.exit(3)"}) {
    const OwnEngine own(refusal);
    const auto engine = own.start();
    ASSERT_NE(engine, nullptr);
    const ir::Graph graph = pair_of("relu", "softmax");
    const GraphQueries queries(graph);
    ASSERT_EQ(count_of(queries), 2);
    EngineCosts costs = costs_in(engine);
    costs.make_ready(queries.all());
    const auto relu = costs.measure(queries.all()[0]);
    const auto softmax = costs.measure(queries.all()[1]);
    ASSERT_TRUE(relu.ok() && softmax.ok()) << refusal;
    EXPECT_LT(relu->median_s, 1e-2);
    EXPECT_EQ(softmax->median_s, cost::kRefusedSeconds);
  }
}

TEST(EngineCosts, LearnNothingFromAGraphIfTheEngineDoesNotTimeItsKernels) {
  const OwnEngine own("pass");
  const auto engine = own.start();
  ASSERT_NE(engine, nullptr);
  const auto database = cost::Database::open(":memory:");
  cost::ProfiledModel model(**database, "m", {});
  EngineCosts costs = costs_in(engine);
  const auto learned = costs.learn_from(pair_of("relu", "neg"), model, **database, "m");
  ASSERT_TRUE(learned.ok());
  EXPECT_FALSE(*learned);
}

TEST(EngineCosts, OfWhatAnEngineFusesAreThoseOfItsKernel) {
  auto started = onnxruntime();
  if (!started.ok()) GTEST_SKIP() << started.status().message();
  const std::shared_ptr<const Engine> engine = *std::move(started);
  ir::GraphBuilder b;
  base::Random random(1);
  const ir::Value x = b.input("x", {DType::kF32, {1, 16, 64, 64}});
  const ir::Value w = b.constant(ir::Tensor::random({DType::kF32, {16, 16, 3, 3}}, random));
  const ir::Value conv = b.add("conv", {x, w},
                               {{"strides", ir::Integers{1, 1}},
                                {"pads", ir::Integers{1, 1, 1, 1}},
                                {"dilations", ir::Integers{1, 1}},
                                {"group", 1}});
  b.output("y", b.add("relu", {conv}));
  const ir::Graph graph = b.finish().value();
  const GraphQueries queries(graph);
  ASSERT_EQ(count_of(queries), 2);
  const cost::Query& of_conv = queries.all()[0];
  const cost::Query& of_relu = queries.all()[1];

  const auto database = cost::Database::open(":memory:");
  cost::ProfiledModel model(**database, "m", {});
  EngineCosts costs = costs_in(engine);
  costs.make_ready(queries.all());
  const auto measure = [&](const cost::Query& query) { return costs.measure(query); };
  ASSERT_TRUE(model.profile(of_conv, measure).ok());
  ASSERT_TRUE(model.profile(of_relu, measure).ok());
  EXPECT_GT(model.cost(of_conv)->seconds, 0);
  EXPECT_GT(model.cost(of_relu)->seconds, 0);
  EXPECT_LT(model.cost(of_relu)->seconds, 1);

  const auto learned = costs.learn_from(graph, model, **database, "m");
  ASSERT_TRUE(learned.ok()) << learned.status().message();
  EXPECT_TRUE(*learned);
  EXPECT_EQ(model.cost(of_relu)->seconds, 0);
  EXPECT_GT(model.cost(of_conv)->seconds, 0);
  EXPECT_GT(*model.alone(of_relu), 0);
  // Once for each graph.
  EXPECT_FALSE(*costs.learn_from(graph, model, **database, "m"));
}

TEST(EngineCosts, OfIndicesAreTimedWithinAShortAxis) {
  auto started = onnxruntime();
  if (!started.ok()) GTEST_SKIP() << started.status().message();
  const std::shared_ptr<const Engine> engine = *std::move(started);
  for (const std::int64_t size : {1, 2, 100}) {
    ir::GraphBuilder b;
    base::Random random(1);
    const ir::Value table = b.constant(ir::Tensor::random({DType::kF32, {size, 64}}, random));
    const ir::Value i = b.input("i", {DType::kI64, {8}});
    b.output("y", b.add("gather", {table, i}, {{"axis", 0}}));
    const ir::Graph graph = b.finish().value();
    const GraphQueries queries(graph);
    EngineCosts costs = costs_in(engine);
    const auto entry = costs.measure(queries.all()[0]);
    ASSERT_TRUE(entry.ok());
    EXPECT_LT(entry->median_s, 1) << size;
  }
}

}  // namespace
}  // namespace egret::driver
