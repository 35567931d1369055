// SPDX-License-Identifier: Apache-2.0
// Certificates of plans, and what becomes of altered ones.
#include "driver/proofs/plan_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/autodiff/training_arguments.h"
#include "ir/graph/graph_text.h"
#include "parallel/placed/program_interface.h"
#include "parallel/plan/plan_file.h"
#include "parallel/replay/plan_replay.h"
#include "rules/replay/rule_library.h"
#include "tests/parallel/model.h"

namespace egret::driver {
namespace {

using parallel::ParallelPlanOptions;
using parallel::PlanCertificate;
using parallel::PlanReplayReport;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using Reason = PlanCertificate::Reason;

const rules::RuleLibrary& library() {
  static const rules::RuleLibrary library = rules::RuleLibrary::read().value();
  return library;
}

// A plan as it is in its file, and its certificate.
struct Certified {
  ir::Graph model;
  base::Json plan;
  PlanCertificate certificate;

  base::Result<PlanReplayReport> replay() const {
    return parallel::replay_plan(certificate, plan, model, library());
  }
};

Certified certified(const ir::Graph& model, const std::string& mesh,
                    const ParallelPlanOptions& options = {}) {
  const auto plan = parallel::plan_of(model, parallel::machine_of(mesh), options);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  Certified made{.model = model, .plan = {}, .certificate = {}};
  // As it is in its file.
  made.plan = base::Json::parse(to_json(*plan, {.model = "m.onnx",
                                                .bind = {},
                                                .machine = "local",
                                                .model_hash = parallel::model_hash(model)})
                                    .dump())
                  .value();
  const auto json = plan_certificate(model, made.plan, options);
  EXPECT_TRUE(json.ok()) << json.status().message();
  if (json.ok()) made.certificate = parallel::parse_plan_certificate(*json).value();
  return made;
}

ParallelPlanOptions tensor_parallel() {
  ParallelPlanOptions options;
  options.strategy = "tensor";
  return options;
}

// x @ gelu(w1) @ w2 with a folded scale and a softmax.
ir::Graph attention_like() {
  parallel::Model m;
  const ir::Value x = m.input("x", {8, 64});
  const ir::Value scale = m("mul", {m.weight("a", {64, 128}), m.weight("b", {64, 128})});
  const ir::Value h = m("gelu", {m("matmul", {x, scale})});
  return m.finish(
      m("softmax", {m("matmul", {h, m.weight("w2", {128, 64})})}, {{"axis", std::int64_t{1}}}));
}

TEST(PlanCertificate, IsAcceptedForPlansOfAllMeshes) {
  for (const char* mesh : {"x=2", "x=4", "x=2,y=2"}) {
    SCOPED_TRACE(mesh);
    for (const ir::Graph& model : {parallel::mlp(8, 128, 512), attention_like()}) {
      const Certified one = certified(model, mesh, tensor_parallel());
      const auto report = one.replay();
      ASSERT_TRUE(report.ok()) << report.status().message();
      EXPECT_GT(report->laws, 0U);
      EXPECT_GT(report->exchanges, 0U);
      EXPECT_EQ(report->nodes, one.plan.find("program")->items().size());
    }
  }
}

TEST(PlanCertificate, TakesRulesThatThePlanWasMadeWith) {
  parallel::Model m;
  const ir::Value x = m.input("x", {8, 64});
  const ir::Value h = m("relu", {m("relu", {m("matmul", {x, m.weight("w", {64, 128})})})});
  ParallelPlanOptions options = tensor_parallel();
  options.rules = "default";
  const Certified one =
      certified(m.finish(m("matmul", {h, m.weight("v", {128, 64})})), "x=2", options);
  const auto report = one.replay();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_GT(report->model.rule_steps, 0U);
}

// The table is cut by rows, which no law of the lookup alone allows.
TEST(PlanCertificate, ProvesLookupsInBlocks) {
  parallel::Model m;
  const ir::Value i = m.input("i", {512}, ir::DType::kI64);
  const ir::Value e = m("gather", {m.weight("table", {8192, 15}), i});
  ParallelPlanOptions options;
  options.device_memory = 8192 * 15 * 4 / 4 + 3 * 512 * 60;
  const Certified one =
      certified(m.finish(m("matmul", {e, m.weight("w", {15, 15})})), "x=4", options);
  const auto report = one.replay();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->model.rule_steps, 1U);
  ASSERT_EQ(one.certificate.model.rules.size(), 1U);
  EXPECT_EQ(one.certificate.model.rules[0].name, "table-rows-4");

  // In another number of blocks the two sides differ.
  Certified other = one;
  other.certificate.model.rules[0].hash = parallel::hash_of_lookup(2);
  const auto rejected = other.replay();
  EXPECT_EQ(rejected.status().code(), base::StatusCode::kMismatch);
  EXPECT_THAT(rejected.status().message(), HasSubstr("step 0 (rule 'table-rows-4')"));
}

// All text of a member that says `before` once.
base::Json replaced(const base::Json& plan, const std::string& before, const std::string& after) {
  std::string text = plan.dump();
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  if (at != std::string::npos) text.replace(at, before.size(), after);
  return base::Json::parse(text).value();
}

TEST(PlanCertificate, NamesTheWrongNodeOfAnAlteredPlan) {
  const Certified one = certified(parallel::mlp(8, 128, 512), "x=2", tensor_parallel());
  const auto error = [&](const std::string& before, const std::string& after) {
    Certified altered = one;
    altered.plan = replaced(one.plan, before, after);
    const auto report = altered.replay();
    EXPECT_EQ(report.status().code(), base::StatusCode::kMismatch) << report.status().message();
    return report.status().message();
  };
  // The bias would be added on every rank.
  EXPECT_THAT(error("\"placement\": \"x:S(1)\", \"type\": \"f32[8,512]\"",
                    "\"placement\": \"x:P(sum)\", \"type\": \"f32[8,512]\""),
              ContainsRegex("the plan: node [0-9]+: matmul has no law R, S\\(1\\) -> P\\(sum\\)"));
  EXPECT_THAT(
      error("\"op\": \"relu\"", "\"op\": \"tanh\""),
      ContainsRegex("node [0-9]+ \\(tanh\\): law [0-9]+ \\('relu S\\(1\\) -> S\\(1\\)'\\) is "
                    "another one than that of its placements along 'x': tanh"));
  EXPECT_THAT(error("\"collective\": \"all_reduce\", \"axis\": \"x\", \"from\"",
                    "\"collective\": \"all_gather\", \"axis\": \"x\", \"from\""),
              ContainsRegex("the plan: node [0-9]+: collective 'all_gather' cannot change"));
}

// The error for a plan with one text replaced, and a certificate that names this plan.
std::string error_of_edited(const Certified& one, const std::string& before,
                            const std::string& after) {
  Certified edited = one;
  edited.plan = replaced(one.plan, before, after);
  if (auto hash = parallel::program_hash(edited.plan); hash.ok())
    edited.certificate.program = *std::move(hash);
  const auto report = edited.replay();
  EXPECT_EQ(report.status().code(), base::StatusCode::kMismatch) << report.status().message();
  // No proof of the wrong plan is found, either.
  EXPECT_FALSE(plan_certificate(one.model, edited.plan, tensor_parallel()).ok()) << after;
  return report.status().message();
}

// The kinds of faults for which `egret verify-plan` has tests.
TEST(PlanCertificate, RejectsWrongPlansAsVerifyPlanDoes) {
  const Certified one = certified(parallel::mlp(8, 128, 512), "x=2", tensor_parallel());
  // The file calls the sum of both ranks a maximum, names another axis, or has no valid mesh.
  EXPECT_THAT(error_of_edited(one, "\"from\": \"P(sum)\"", "\"from\": \"P(max)\""),
              HasSubstr("'all_reduce' is said to change P(max) to R, and what it reads and leaves "
                        "are P(sum) to R"));
  EXPECT_THAT(error_of_edited(one, "\"axis\": \"x\", \"from\"", "\"axis\": \"y\", \"from\""),
              HasSubstr("unknown mesh axis 'y'"));
  EXPECT_THAT(error_of_edited(one, "\"mesh\": \"x=2\"", "\"mesh\": \"x=two\""),
              HasSubstr("the plan: "));
  // Inputs and outputs are known by their names.
  const std::string output = one.model.outputs()[0].name;
  EXPECT_THAT(
      error_of_edited(one, "\"name\": \"" + output + "\"", "\"name\": \"z\""),
      HasSubstr("the outputs of the plan are 'z', and those of the model '" + output + "'"));
  EXPECT_THAT(error_of_edited(one, "\"input\": \"x\"", "\"input\": \"z\""),
              HasSubstr("the programs are "));
}

// y = x1 w1 - x2 w2, and its negative. Each pair has one type.
ir::Graph pairs() {
  ir::GraphBuilder b;
  base::Random random(7);
  const auto product = [&](const char* x, const char* w) {
    const ir::Value weight = b.constant(ir::Tensor::random({ir::DType::kF32, {64, 64}}, random), w);
    return b.add("matmul", {b.input(x, {ir::DType::kF32, {8, 64}}), weight});
  };
  const ir::Value y = b.add("sub", {product("x1", "w1"), product("x2", "w2")});
  b.output("y", y);
  b.output("z", b.add("neg", {y}));
  return b.finish().value();
}

TEST(PlanCertificate, RejectsSwappedInputsWeightsAndOutputs) {
  const Certified one = certified(pairs(), "x=2", tensor_parallel());
  const auto swapped = [&](const std::string& key, const std::string& a, const std::string& b) {
    const std::string first = "\"" + key + "\": \"" + a + "\"";
    const std::string second = "\"" + key + "\": \"" + b + "\"";
    const std::string held = "\"" + key + "\": \"@\"";
    Certified middle = one;
    middle.plan = replaced(replaced(one.plan, first, held), second, first);
    return error_of_edited(middle, held, second);
  };
  std::vector<std::string> hashes;
  for (const ir::Node& node : one.model.nodes()) {
    if (node.kind == ir::NodeKind::kConstant) hashes.push_back(node.data.content_hash().to_hex());
  }
  ASSERT_EQ(hashes.size(), 2U);
  EXPECT_THAT(swapped("hash", hashes[0], hashes[1]), HasSubstr("is not what the second program"));
  EXPECT_THAT(swapped("input", "x1", "x2"), HasSubstr("is not what the second program"));
  EXPECT_THAT(swapped("name", "z", "y"), HasSubstr("the outputs of the plan are"));
}

TEST(PlanCertificate, IsOfOneModelAlone) {
  const Certified one = certified(parallel::mlp(8, 128, 512), "x=2", tensor_parallel());
  Certified other = one;
  parallel::Model m;
  const ir::Value x = m.input("x", {8, 128});
  const ir::Value h =
      m("tanh", {m("add", {m("matmul", {x, m.weight("w1", {128, 512})}), m.weight("b1", {512})})});
  other.model = m.finish(m("matmul", {h, m.weight("w2", {512, 128})}));
  EXPECT_THAT(other.replay().status().message(), HasSubstr("the plan was made for another model"));
  // Though plan and certificate say that they are of this one.
  other.plan.set("model_hash", parallel::model_hash(other.model));
  other.certificate.program = parallel::program_hash(other.plan).value();
  const auto report = other.replay();
  EXPECT_EQ(report.status().code(), base::StatusCode::kMismatch);
  EXPECT_THAT(report.status().message(), HasSubstr("is not what the first program computes"));
}

// Each alteration of a certificate is rejected, and the message names what is wrong first.
TEST(PlanCertificate, RejectsAlteredCertificates) {
  const Certified one = certified(attention_like(), "x=2,y=2", tensor_parallel());
  ASSERT_TRUE(one.replay().ok());
  base::Random random(5);
  std::map<std::string, int> made;
  for (int i = 0; i < 300; ++i) {
    Certified altered = one;
    PlanCertificate& c = altered.certificate;
    Reason& node = c.nodes[random.below(c.nodes.size())];
    const std::uint64_t kind = random.below(5);
    std::string what;
    if (kind == 0) {  // a node without a reason
      what = "dropped";
      c.nodes.erase(c.nodes.begin() + static_cast<std::ptrdiff_t>(random.below(c.nodes.size())));
    } else if (kind == 1 && node.kind == Reason::Kind::kLaws && c.laws.size() > 1) {
      what = "law";
      std::uint32_t& law = node.laws[random.below(node.laws.size())];
      law = static_cast<std::uint32_t>((law + 1 + random.below(c.laws.size() - 1)) % c.laws.size());
    } else if (kind == 2) {
      what = "hash";
      char& digit = c.laws[random.below(c.laws.size())].hash[random.below(32)];
      digit = digit == '0' ? '1' : '0';
    } else if (kind == 3 && node.kind != Reason::Kind::kExchange) {
      what = "exchange";
      node = {.kind = Reason::Kind::kExchange, .laws = {}, .text = "all_reduce"};
    } else if (kind == 4 && !c.model.steps.empty()) {
      what = "step";
      auto& output = c.model.outputs.front();
      output.step = output.step == 0 ? -1 : output.step - 1;
    } else {
      continue;
    }
    ++made[what];
    const auto report = altered.replay();
    EXPECT_EQ(report.status().code(), base::StatusCode::kMismatch) << what;
    EXPECT_THAT(report.status().message(),
                ContainsRegex("node [0-9]+|the plan has [0-9]+ nodes|output 'y'"))
        << what;
  }
  EXPECT_EQ(made.size(), 5U);
}

TEST(PlanCertificate, ProvesATrainingStep) {
  const ir::Graph model = parallel::mlp(8, 32, 64);
  ir::TrainingArguments training;
  training.loss = "mse";
  const auto step = ir::training_step(model, training, "m.onnx");
  ASSERT_TRUE(step.ok()) << step.status().message();
  parallel::PlanTask task{step->graph};
  const std::size_t parameters = step->parameters.size();
  for (std::size_t i = 0; i < step->initial.size(); ++i) {
    const ir::NodeId input = step->graph.inputs()[step->model_inputs + 1 + i];
    task.carried.push_back(
        {step->graph.node(input).name, step->graph.outputs()[1 + i].name,
         i < parameters ? parallel::LeafRole::kParameter : parallel::LeafRole::kState});
  }
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  const auto plan = make_plan(task, parallel::machine_of("x=2"), options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  Certified one{.model = model, .plan = {}, .certificate = {}};
  one.plan = base::Json::parse(to_json(*plan, {.model = "m.onnx",
                                               .bind = {},
                                               .machine = "local",
                                               .model_hash = parallel::model_hash(model),
                                               .training = ir::to_json(training)})
                                   .dump())
                 .value();
  const auto json = plan_certificate(model, one.plan, options);
  ASSERT_TRUE(json.ok()) << json.status().message();
  one.certificate = parallel::parse_plan_certificate(*json).value();
  EXPECT_TRUE(one.replay().ok()) << one.replay().status().message();

  // Parameters of one size take each other's next values, one takes none, or one takes two.
  const std::vector<base::Json> carried = one.plan.find("carried")->items();
  ASSERT_EQ(carried.size(), 3U);
  const auto error = [&](const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
    Certified other = one;
    base::Json list = base::Json::array();
    for (const auto& [node, output] : pairs) {
      list.push(base::Json::object()
                    .set("node", *carried[node].find("node"))
                    .set("output", *carried[output].find("output")));
    }
    other.plan.set("carried", std::move(list));
    other.certificate.program = parallel::program_hash(other.plan).value();
    const auto report = other.replay();
    EXPECT_EQ(report.status().code(), base::StatusCode::kMismatch);
    return report.status().message();
  };
  EXPECT_THAT(error({{0, 1}, {1, 0}, {2, 2}}), HasSubstr("the plan: "));
  EXPECT_THAT(error({{0, 0}, {1, 1}}), HasSubstr("takes nothing of this step, and should take"));
  EXPECT_THAT(error({{0, 0}, {0, 0}, {1, 1}, {2, 2}}),
              HasSubstr("are carried to one input of the next step"));
}

// A plan that no planner writes, of a model with the input a and the output y.
base::Json plan_by_hand(const ir::Graph& model, const char* mesh, std::size_t output,
                        std::string program) {
  std::ranges::replace(program, '\'', '"');
  base::Json plan = base::versioned_json();
  plan.set("model", "m.onnx").set("model_hash", parallel::model_hash(model));
  plan.set("bind", base::Json::array()).set("mesh", mesh).set("carried", base::Json::array());
  plan.set("program", base::Json::parse(program).value());
  base::Json outputs = base::Json::array();
  outputs.push(base::Json::object().set("name", "y").set("node", output));
  return plan.set("outputs", std::move(outputs));
}

// The error of the replay; no proof is found, either. Plans are read before certificates.
std::string error_of_plan(const ir::Graph& model, const base::Json& plan) {
  EXPECT_FALSE(plan_certificate(model, plan, tensor_parallel()).ok());
  const auto report = parallel::replay_plan(PlanCertificate{}, plan, model, library());
  EXPECT_EQ(report.status().code(), base::StatusCode::kMismatch) << report.status().message();
  return report.status().message();
}

// y = f(a), step by step.
ir::Graph chain(const char* type, const std::vector<std::pair<const char*, ir::Attrs>>& steps) {
  ir::GraphBuilder b;
  ir::Value y = b.input("a", ir::parse_type(type).value());
  for (const auto& [op, attrs] : steps) y = b.add(op, {y}, attrs);
  b.output("y", y);
  return b.finish().value();
}
const ir::Attrs kAll = {{"axes", ir::Integers{0}}, {"keepdims", std::int64_t{0}}};

// The rank would hold -inf, 0, or 1, beside its rows.
TEST(PlanCertificate, RejectsHalosOfOneDevice) {
  const ir::Graph sum = chain("f32[4]", {{"reduce_sum", kAll}});
  EXPECT_THAT(error_of_plan(sum, plan_by_hand(sum, "x=1", 1, R"([
      {'input': 'a', 'placement': 'x:S(0)-1+1(-inf)', 'type': 'f32[4]'},
      {'op': 'reduce_sum', 'attributes': {'axes': '[0]', 'keepdims': '0'}, 'inputs': [0],
       'placement': 'x:R', 'type': 'f32[]'}])")),
              HasSubstr("node 0: a halo along the mesh axis 'x', which has one device"));
  const ir::Graph exp = chain("f32[4]", {{"exp", {}}});
  EXPECT_THAT(error_of_plan(exp, plan_by_hand(exp, "x=1", 1, R"([
      {'input': 'a', 'placement': 'x:S(0)', 'type': 'f32[4]'},
      {'op': 'exp', 'attributes': {}, 'inputs': [0], 'placement': 'x:S(0)-1+1',
       'type': 'f32[4]'}])")),
              HasSubstr("node 1: a halo along the mesh axis 'x', which has one device"));
}

// Wrapped integers of one device differ from those of two.
TEST(PlanCertificate, RejectsPlansWhoseIntegersWrapAroundElsewhere) {
  const ir::Graph sum =
      chain("i32[2]", {{"reduce_sum", kAll}, {"cast", {{"to", std::string("f32")}}}});
  EXPECT_THAT(error_of_plan(sum, plan_by_hand(sum, "x=2", 3, R"([
      {'input': 'a', 'placement': 'x:S(0)', 'type': 'i32[2]'},
      {'op': 'reduce_sum', 'attributes': {'axes': '[0]', 'keepdims': '0'}, 'inputs': [0],
       'placement': 'x:P(sum)', 'type': 'i32[]'},
      {'op': 'cast', 'attributes': {'to': '\"f32\"'}, 'inputs': [1], 'placement': 'x:P(sum)',
       'type': 'f32[]'},
      {'collective': 'all_reduce', 'axis': 'x', 'from': 'P(sum)', 'to': 'R', 'inputs': [2],
       'placement': 'x:R', 'type': 'f32[]'}])")),
              HasSubstr("cast has no law P(sum) -> P(sum)"));
  ir::GraphBuilder b;
  const ir::Value a = b.input("a", ir::parse_type("u8[2]").value());
  b.output("y", b.add("sub", {b.add("reduce_max", {a}, kAll), b.scalar(ir::DType::kU8, 2)}));
  const ir::Graph max = b.finish().value();
  const std::string hash = ir::Tensor::scalar(ir::DType::kU8, 2).content_hash().to_hex();
  EXPECT_THAT(error_of_plan(max, plan_by_hand(max, "x=2", 4, R"([
      {'input': 'a', 'placement': 'x:S(0)', 'type': 'u8[2]'},
      {'op': 'reduce_max', 'attributes': {'axes': '[0]', 'keepdims': '0'}, 'inputs': [0],
       'placement': 'x:P(max)', 'type': 'u8[]'},
      {'constant': 'c', 'hash': ')" + hash + R"(', 'type': 'u8[]', 'placement': 'x:R',
       'values': [2]},
      {'op': 'sub', 'attributes': {}, 'inputs': [1, 2], 'placement': 'x:P(max)', 'type': 'u8[]'},
      {'collective': 'all_reduce', 'axis': 'x', 'from': 'P(max)', 'to': 'R', 'inputs': [3],
       'placement': 'x:R', 'type': 'u8[]'}])")),
              HasSubstr("sub has no law P(max), R -> P(max)"));
}

// 4 TiB, and more than there are bytes to count.
TEST(PlanCertificate, CountsValuesBeforeTheirMemory) {
  const ir::Graph model = chain("f32[4]", {{"relu", {}}});
  for (const char* type : {"f32[1099511627776]", "f32[1099511627776,1099511627776]"}) {
    EXPECT_THAT(error_of_plan(model, plan_by_hand(model, "x=2", 0,
                                                  "[{'constant': 'c', 'hash': '', 'type': '" +
                                                      std::string(type) +
                                                      "', 'placement': '', 'values': []}]")),
                HasSubstr("the plan: node 0: "));
  }
}

TEST(PlanCertificate, SaysWhatItIsOf) {
  const Certified one = certified(parallel::mlp(8, 128, 512), "x=2", tensor_parallel());
  // Another hash, in the certificate too; a batch of another size; no hash.
  const std::string hash = parallel::model_hash(one.model);
  Certified other = one;
  other.plan.set("model_hash", std::string(hash.size(), '0'));
  other.certificate.program = parallel::program_hash(other.plan).value();
  EXPECT_THAT(other.replay().status().message(), HasSubstr("the plan was made for another model"));
  EXPECT_NE(other.certificate.program, one.certificate.program);
  other = one;
  other.model = parallel::mlp(1, 128, 512);
  EXPECT_THAT(other.replay().status().message(), HasSubstr("the plan was made for another model"));
}

// What no node follows, names of other laws, and more than a reason has.
TEST(PlanCertificate, ContainsNothingThatIsNotChecked) {
  const Certified one = certified(parallel::mlp(8, 128, 512), "x=2", tensor_parallel());
  ASSERT_TRUE(one.replay().ok());
  Certified other = one;
  other.certificate.laws.push_back({"matmul R, R -> P(sum)", "0"});
  EXPECT_THAT(other.replay().status().message(),
              ContainsRegex("no node follows law [0-9]+ \\('matmul R, R -> P\\(sum\\)'\\)"));
  other = one;
  other.certificate.laws[0].name = "relu R -> P(sum)";
  EXPECT_EQ(other.replay().status().code(), base::StatusCode::kMismatch);

  const std::string json = plan_certificate(one.model, one.plan, tensor_parallel()).value();
  ASSERT_TRUE(parallel::parse_plan_certificate(json).ok());
  const std::map<std::string, std::string> edits = {
      {"[\"leaf\"]", "[\"leaf\", 0]"},
      {"[\"exchange\", \"all_reduce\"]", "[\"exchange\", \"all_reduce\", 1]"},
      {"[\"exchange\", \"all_reduce\"] ", "[\"exchange\"]"},
      {"\"format\": \"egret-certificate\"", "\"format\": \"egret-certificate\", \"reals\": true"},
      {"\"sizes\": {}", "\"sizes\": {\"batch\": 1}"}};
  for (const auto& [given, after] : edits) {
    const std::string before = given.substr(0, given.find_last_not_of(' ') + 1);
    SCOPED_TRACE(after);
    std::string text = base::Json::parse(json)->dump();
    const std::size_t at = text.find(before);
    ASSERT_NE(at, std::string::npos) << text.substr(0, 400);
    text.replace(at, before.size(), after);
    EXPECT_FALSE(parallel::parse_plan_certificate(text).ok());
  }
}

}  // namespace
}  // namespace egret::driver
