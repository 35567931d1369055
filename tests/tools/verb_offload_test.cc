// SPDX-License-Identifier: Apache-2.0
// `egret offload`, of dense transformers and of mixtures of experts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "extract/milp/milp.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

class OffloadVerb : public FolderTest {
 protected:
  static constexpr const char* kModel =
      "offload --machine t4-flexgen --model-layers 12 --hidden 4096 --heads 32 --vocabulary 16384 "
      "--prompt 256 --output-tokens 8 ";
  static constexpr const char* kMixtral =
      "offload --machine rtx6000-fiddler --model-layers 32 --hidden 4096 --heads 32 --kv-heads 8 "
      "--ffn 14336 --gated --vocabulary 32000 --untied --experts 8 --prompt 64 --output-tokens 64 ";

  void SetUp() override {
    FolderTest::SetUp();
    if (extract::milp_solvers().empty()) GTEST_SKIP() << "no solver of linear programs";
  }
  base::Json json_of(const std::string& words) {
    const ProgramRun run = run_program(words + " --json");
    EXPECT_EQ(run.code, 0) << run.err;
    return base::Json::parse(run.out).value_or(base::Json::object());
  }
};

double real(const base::Json& json, std::string_view member) {
  const base::Json* found = json.find(member);
  EXPECT_NE(found, nullptr) << member;
  return found == nullptr ? 0 : found->as_real().value();
}

TEST_F(OffloadVerb, AnswersFirstAndIsNoSlowerThanItsRules) {
  const ProgramRun text = run_program(kModel);
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out.substr(0, text.out.find('\n')), HasSubstr("tokens/s"));
  EXPECT_THAT(text.out, HasSubstr("zero-inference"));
  const base::Json json = json_of(kModel);
  for (const auto& [name, rule] : json.find("baselines")->members())
    EXPECT_GE(real(json, "tokens_per_second"), real(rule, "tokens_per_second")) << name;
  const base::Json& plan = *json.find("plan");
  for (const char* value : {"weights", "cache", "activations"}) {
    double sum = 0;
    for (const auto& [place, part] : plan.find(value)->members()) sum += part.as_real().value();
    EXPECT_NEAR(sum, 1, 1e-9) << value;
  }
}

TEST_F(OffloadVerb, ThePlansFileFindsTheSamePlanAgain) {
  const base::Json first = json_of(std::string(kModel) + "-o " + path("plan.toml"));
  const base::Json again = json_of("offload --config " + path("plan.toml"));
  EXPECT_NEAR(real(again, "tokens_per_second"), real(first, "tokens_per_second"),
              0.02 * real(first, "tokens_per_second"));
  EXPECT_EQ(real(*again.find("plan"), "gpu_batch"), real(*first.find("plan"), "gpu_batch"));
}

TEST_F(OffloadVerb, ExplainsChoicesAndWritesATrace) {
  const ProgramRun run =
      run_program(std::string(kModel) + "--explain --trace " + path("trace.json"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("next best"));
  const auto trace = base::Json::parse(base::read_file(path("trace.json"), 1 << 28).value());
  ASSERT_TRUE(trace.ok());
  EXPECT_GT(trace->find("traceEvents")->items().size(), 100U);
}

TEST_F(OffloadVerb, KeepsAGivenPolicy) {
  const base::Json json = json_of(std::string(kModel) +
                                  "--gpu-batch 4 --gpu-batches 2 --cpu-attention on "
                                  "--weights-on 50,50,0 --cache-on 0,100,0");
  const base::Json& plan = *json.find("plan");
  EXPECT_EQ(real(plan, "gpu_batch"), 4);
  EXPECT_EQ(real(plan, "gpu_batches"), 2);
  EXPECT_NEAR(real(*plan.find("weights"), "accelerator"), 0.5, 0.05);
  EXPECT_EQ(real(*plan.find("cache"), "host"), 1);
}

TEST_F(OffloadVerb, PlansExperts) {
  const base::Json json = json_of(kMixtral);
  EXPECT_GT(real(json, "experts_on_accelerator"), 30);
  for (const auto& [name, rule] : json.find("baselines")->members())
    EXPECT_GE(real(json, "tokens_per_second"), real(rule, "tokens_per_second")) << name;
  ASSERT_EQ(run_program(std::string(kMixtral) + "-o " + path("plan.json")).code, 0);
  const auto kept = base::Json::parse(base::read_file(path("plan.json"), 1 << 24).value());
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->find("plan")->find("resident_experts_by_layer")->items().size(), 32U);
  ASSERT_TRUE(base::write_file(path("p.txt"), "8 1 1 1 1 1 1 1\n").ok());
  const base::Json skewed = json_of(std::string(kMixtral) + "--expert-popularity " + path("p.txt"));
  EXPECT_GT(real(skewed, "tokens_per_second"), real(json, "tokens_per_second"));
}

TEST_F(OffloadVerb, RefusesWhatMakesNoSense) {
  EXPECT_THAT(run_program("offload --machine dgx-a100").err, HasSubstr("[host]"));
  EXPECT_THAT(run_program(std::string(kModel) + "--weights-on 1,2,3").err, HasSubstr("sum to 100"));
  EXPECT_THAT(run_program(std::string(kMixtral) + "--explain").err, HasSubstr("--experts"));
  EXPECT_THAT(run_program(std::string(kMixtral) + "--top-k 9").err, HasSubstr("--top-k"));
  const ProgramRun large = run_program(
      "offload --machine t4-flexgen --model-layers 96 --hidden 65536 --heads 512 --prompt 64 "
      "--output-tokens 4");
  EXPECT_EQ(large.code, 5) << large.out;
}

}  // namespace
}  // namespace egret::tools
