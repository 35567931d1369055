// SPDX-License-Identifier: Apache-2.0
// Training steps within less memory: `egret recompute`, and --limit-arena of `egret train-step`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

base::Json parsed(const std::string& text) {
  auto json = base::Json::parse(text);
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? *std::move(json) : base::Json();
}

double number(const base::Json& json, std::string_view name) {
  const base::Json* found = json.find(name);
  EXPECT_NE(found, nullptr) << name;
  return found != nullptr ? std::stod(std::string(found->scalar_text())) : -1;
}

class VerbRecompute : public FolderTest {
 protected:
  // Layers of a product and tanh: each value waits for its gradient.
  void SetUp() override {
    ir::GraphBuilder b;
    base::Random random(1);
    ir::Value x = b.input("x", {ir::DType::kF32, {128, 32}});
    for (int k = 0; k < 10; ++k) {
      const ir::Value w = b.constant(ir::Tensor::random({ir::DType::kF32, {32, 32}}, random),
                                     "w" + std::to_string(k));
      x = b.add("tanh", {b.add("matmul", {x, w})});
    }
    b.output("y", x);
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(model_, model->bytes).ok());
  }

  const std::string model_ = path("m.onnx");
};

TEST_F(VerbRecompute, StepsWithinLessMemoryLeaveTheSameParameters) {
  const std::string words = "train-step " + model_ + " --loss mse --steps 3 --json --threads 1 ";
  const base::Json free = parsed(run_program(words).out);
  EXPECT_EQ(free.find("recomputation"), nullptr);
  const ProgramRun none = run_program(words + "--limit-arena 1 --recompute-prices roofline");
  EXPECT_EQ(none.code, 5);
  EXPECT_THAT(none.err, HasSubstr("no plan within --limit-arena"));
  const base::Json unkept = parsed(none.out);
  const base::Json* least = unkept.find("recomputation");
  ASSERT_NE(least, nullptr);
  const auto limit = static_cast<std::int64_t>(number(*least, "keep_all_arena_bytes")) / 2;
  const ProgramRun run =
      run_program(words + "--recompute-time 2s --limit-arena " + std::to_string(limit));
  EXPECT_EQ(run.code, 0) << run.err;
  const base::Json json = parsed(run.out);
  const base::Json* made = json.find("recomputation");
  ASSERT_NE(made, nullptr) << run.out;
  EXPECT_LE(number(*made, "arena_bytes"), static_cast<double>(limit));
  EXPECT_GT(number(*made, "computations"), number(*made, "tasks"));
  EXPECT_EQ(json.find("left")->scalar_text(), free.find("left")->scalar_text());
  const ProgramRun checked =
      run_program(words + "--check --recompute-time 2s --limit-arena " + std::to_string(limit));
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_LE(number(parsed(checked.out), "left_error"), 1e-5);
  EXPECT_EQ(parsed(checked.out).find("passed")->scalar_text(), "true");
  const ProgramRun forbidden =
      run_program(words + "--recompute-by none --limit-arena " + std::to_string(limit));
  EXPECT_EQ(forbidden.code, 5);
}

TEST_F(VerbRecompute, ValuesLeaveMemoryForAFolder) {
  const std::string words = "train-step " + model_ + " --loss mse --steps 3 --json --threads 1 ";
  const base::Json unkept =
      parsed(run_program(words + "--limit-arena 1 --recompute-prices roofline").out);
  ASSERT_NE(unkept.find("recomputation"), nullptr);
  const auto limit = static_cast<std::int64_t>(
      number(*unkept.find("recomputation"), "keep_all_arena_bytes") / 2.5);
  const std::string within = words + "--recompute-time 2s --limit-arena " + std::to_string(limit);
  const std::string spill = path("spill");
  const ProgramRun run = run_program(within +
                                     " --recompute-prices roofline --offload-rate 1TB "
                                     "--offload-to " +
                                     spill);
  EXPECT_EQ(run.code, 0) << run.err;
  const base::Json json = parsed(run.out);
  const base::Json* made = json.find("recomputation");
  ASSERT_NE(made, nullptr) << run.out;
  EXPECT_GT(number(*made, "copies_back"), 0);
  EXPECT_LE(number(*made, "arena_bytes"), static_cast<double>(limit));
  EXPECT_TRUE(std::filesystem::is_empty(spill));
  // Fused kernels need more than the limit at once, so the step has one kernel an operator.
  EXPECT_EQ(json.find("left")->scalar_text(),
            parsed(run_program(words + "--without fusion").out).find("left")->scalar_text());
  const ProgramRun checked = run_program(within + " --check --offload-to " + spill);
  EXPECT_EQ(checked.code, 0) << checked.err;
  for (const char* wrong : {"--offload-to .", "--offload-rate 1GB --limit-arena 1MB",
                            "--offload-to . --limit-arena 1MB --recompute-by dtr"})
    EXPECT_EQ(run_program(words + wrong).code, 2) << wrong;
}

TEST_F(VerbRecompute, PlansCopyValuesToStorage) {
  const std::string words = "plan " + model_ + " --train --loss mse --mesh x=2 --json ";
  const double roomy = number(parsed(run_program(words).out), "memory_bytes");
  const std::string plan = path("plan.json");
  const std::string limit =
      "--device-memory " + std::to_string(static_cast<std::int64_t>(0.75 * roomy)) + " ";
  const ProgramRun made = run_program(
      words + limit + "--recompute-time 300ms --extract-time 1s --storage-rate 1TB --certificate " +
      path("c.json") + " -o " + plan);
  EXPECT_EQ(made.code, 0) << made.err;
  const base::Json json = parsed(made.out);
  const base::Json* recomputation = json.find("recomputation");
  ASSERT_NE(recomputation, nullptr) << made.out;
  EXPECT_GT(number(*recomputation, "copies_back"), 0);
  EXPECT_EQ(number(json, "storage_bytes_per_second"), std::pow(2.0, 40));
  const ProgramRun trained =
      run_program("train-step " + plan + " --steps 2 --check --offload-to " + path("spill"));
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(run_program("verify-plan " + plan).code, 0);
  EXPECT_EQ(run_program("simulate " + plan).code, 0);
  for (const auto& [wrong, message] :
       {std::pair(words + "--storage-rate 1GB --recompute-by dtr", "needs --recompute-by search"),
        {"train-step " + plan + " --offload-rate 1GB", "cannot be combined with a plan"}}) {
    const ProgramRun run = run_program(wrong);
    EXPECT_EQ(run.code, 2) << wrong;
    EXPECT_THAT(run.err, HasSubstr(message));
  }
}

TEST_F(VerbRecompute, PricesCopiesBesideRecomputation) {
  const std::string words =
      "recompute " + model_ +
      " --loss mse --threads 1 --recompute-prices roofline --recompute-time 1s "
      "--recompute-shares 60 --recompute-methods search --json ";
  double before = 0;
  for (const char* rate : {"100GB", "1GB", "1kB"}) {
    const base::Json json = parsed(run_program(words + "--offload-rate " + rate).out);
    ASSERT_NE(json.find("rows"), nullptr);
    ASSERT_EQ(json.find("rows")->items().size(), 2U);
    const base::Json& alone = json.find("rows")->items()[0];
    const base::Json& both = json.find("rows")->items()[1];
    EXPECT_EQ(both.find("method")->scalar_text(), "search with copies");
    EXPECT_EQ(number(alone, "copies_back"), 0);
    EXPECT_LE(number(both, "cost_s"), number(alone, "cost_s") * (1 + 1e-3)) << rate;
    EXPECT_LE(number(both, "bound_s"), number(both, "cost_s") * (1 + 1e-9));
    EXPECT_GE(number(both, "cost_s"), before * (1 - 1e-3));
    before = number(both, "cost_s");
  }
}

TEST_F(VerbRecompute, PricesMethodsAndLimits) {
  const std::string words =
      "recompute " + model_ +
      " --loss mse --threads 1 --recompute-prices roofline --recompute-time 1s ";
  const base::Json json =
      parsed(run_program(words + "--recompute-shares 100 --recompute-shares 60 --json").out);
  const base::Json* rows = json.find("rows");
  ASSERT_NE(rows, nullptr);
  ASSERT_EQ(rows->items().size(), 6U);
  double search = 0;
  for (const base::Json& row : rows->items()) {
    if (row.find("found")->scalar_text() != "true") continue;
    const double overhead = number(row, "cost_s") / number(json, "least_s") - 1;
    EXPECT_LE(number(row, "peak_bytes"), number(row, "limit_bytes"));
    EXPECT_LE(number(row, "bound_s"), number(row, "cost_s") * (1 + 1e-9));
    EXPECT_LE(number(row, "proven_bound_s"), number(row, "bound_s"));
    if (number(row, "share") == 1) {
      EXPECT_NEAR(overhead, 0, 1e-9);
      continue;
    }
    if (row.find("method")->scalar_text() == "search") search = overhead;
    EXPECT_GT(overhead, 0);
    EXPECT_GE(overhead, search - 1e-12) << "the search comes first and starts from the others";
  }
  EXPECT_GT(search, 0);
  const ProgramRun text = run_program(words + "--recompute-shares 60");
  EXPECT_THAT(text.out, HasSubstr("where all values are kept"));
  EXPECT_THAT(text.out, HasSubstr("outcome"));
  EXPECT_EQ(run_program(words + "--recompute-shares 0").code, 2);
}

}  // namespace
}  // namespace egret::tools
