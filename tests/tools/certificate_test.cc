// SPDX-License-Identifier: Apache-2.0
// `egret optimize --certificate` and `egret-check`, as users run them.
#include "driver/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "driver/optimize.h"
#include "tests/frontends/onnx_model.h"
#include "tests/paths.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using frontends::OnnxModel;

class CertificateProgram : public FolderTest {
 protected:
  ProgramRun optimize(const std::string& model, const std::string& options = "") {
    return run_program("optimize " + model + " -o " + path("o.onnx") + " --certificate " +
                       path("c.json") + " --cost-db " + path("costs") + " --quick " + options);
  }
  // Runs egret-check on these words.
  ProgramRun check(const std::string& words) {
    const std::string command = std::string(EGRET_BINARY_DIR) + "/bin/egret-check " + words + " >" +
                                path("out") + " 2>" + path("err");
    const int status = std::system(command.c_str());
    return {.code = WEXITSTATUS(status), .out = text("out"), .err = text("err")};
  }
  ProgramRun check_result(const std::string& model) {
    return check(model + " " + path("o.onnx") + " " + path("c.json"));
  }
  std::string text(const std::string& name) {
    auto read = base::read_file(path(name), std::numeric_limits<std::int64_t>::max());
    EXPECT_TRUE(read.ok()) << read.status().message();
    return read.ok() ? *read : "";
  }

  // Two scales that become one.
  std::string scaled_model() {
    OnnxModel model(13);
    model.input("x", {4, 8});
    model.node("Relu", {"x"}, {"r"});
    model.node("Relu", {"r"}, {"s"});
    model.node("Transpose", {"s"}, {"t"});
    model.node("Transpose", {"t"}, {"u"});
    model.node("Neg", {"u"}, {"y"});
    model.output("y");
    EXPECT_TRUE(base::write_file(path("m.onnx"), model.bytes()).ok());
    return path("m.onnx");
  }

  void expect_accepted(const std::string& model) {
    const ProgramRun run = optimize(model, "--limit-time 10");
    ASSERT_EQ(run.code, 0) << run.err;
    const ProgramRun checked = check_result(model);
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_THAT(checked.out, StartsWith("accepted: "));
  }
};

TEST_F(CertificateProgram, AcceptsWhatOptimizeWrote) {
  const std::string model = scaled_model();
  expect_accepted(model);
  const ProgramRun json = check("--json " + model + " " + path("o.onnx") + " " + path("c.json"));
  const auto report = base::Json::parse(json.out);
  ASSERT_TRUE(report.ok()) << json.out;
  EXPECT_GT(*report->find("rule_steps")->as_integer(), 0);
}

TEST_F(CertificateProgram, AcceptsModelsOfTheZoo) {
  for (const char* name : {"squeezenet1.1", "resnet18", "csrnet-backend"}) {
    SCOPED_TRACE(name);
    const std::string model = path(name + std::string(".onnx"));
    ASSERT_EQ(run_program("zoo " + std::string(name) + " -o " + model).code, 0);
    expect_accepted(model);
  }
}

TEST_F(CertificateProgram, AcceptsSharedModels) {
  const char* const shared = std::getenv("EGRET_SHARED");
  const std::filesystem::path folder =
      shared != nullptr ? shared : std::string(EGRET_SOURCE_DIR) + "/../shared";
  const std::filesystem::path file = folder / "models/light_squeezenet.onnx";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
  expect_accepted(file.string());
}

// A user's rule counts where its file and the record of its proof are given.
TEST_F(CertificateProgram, TakesRulesOfFiles) {
  OnnxModel model(13);
  model.input("x", {4, 8});
  const char* names[] = {"x", "a", "b", "c", "d"};
  for (int i = 0; i < 4; ++i) model.node("Neg", {names[i]}, {names[i + 1]});
  model.node("Relu", {"d"}, {"y"});
  model.output("y");
  ASSERT_TRUE(base::write_file(path("m.onnx"), model.bytes()).ok());
  const std::string rules = path("r.rules");
  ASSERT_TRUE(base::write_file(rules, "rule four-neg\n  neg(neg(neg(neg(?x))))\n  => ?x\n").ok());
  ASSERT_EQ(run_program("rules verify --write " + rules).code, 0);
  const ProgramRun run = optimize(path("m.onnx"), "--rules " + rules);
  ASSERT_EQ(run.code, 0) << run.err;
  const ProgramRun with =
      check(path("m.onnx") + " " + path("o.onnx") + " " + path("c.json") + " " + rules);
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_THAT(with.out, HasSubstr("1 instances of 1 proven rules"));
  const ProgramRun without = check_result(path("m.onnx"));
  EXPECT_EQ(without.code, 6);
  EXPECT_THAT(without.err, HasSubstr("(rule 'four-neg'): no known rule has the hash"));
  std::filesystem::remove(rules + ".status.json");
  const ProgramRun unproven =
      check(path("m.onnx") + " " + path("o.onnx") + " " + path("c.json") + " " + rules);
  EXPECT_EQ(unproven.code, 6);
  EXPECT_THAT(unproven.err, HasSubstr("the rule is not proven but untested"));
}

TEST_F(CertificateProgram, RejectsAnotherResult) {
  const std::string model = scaled_model();
  ASSERT_EQ(optimize(model).code, 0);
  OnnxModel other(13);
  other.input("x", {4, 8});
  other.node("Relu", {"x"}, {"y"});
  other.output("y");
  ASSERT_TRUE(base::write_file(path("o.onnx"), other.bytes()).ok());
  const ProgramRun checked = check_result(model);
  EXPECT_EQ(checked.code, 6);
  EXPECT_THAT(checked.err, HasSubstr("output 'y': term"));
  EXPECT_THAT(checked.err, HasSubstr("is not what the second program computes"));
}

TEST_F(CertificateProgram, RejectsAnAlteredCertificate) {
  const std::string model = scaled_model();
  ASSERT_EQ(optimize(model).code, 0);
  std::string certificate = text("c.json");
  const std::size_t hash = certificate.find("\"hash\": \"");
  ASSERT_NE(hash, std::string::npos);
  char& digit = certificate[hash + 9];
  digit = digit == '0' ? '1' : '0';
  ASSERT_TRUE(base::write_file(path("c.json"), certificate).ok());
  const ProgramRun checked = check_result(model);
  EXPECT_EQ(checked.code, 6);
  EXPECT_THAT(checked.err, HasSubstr("(rule '"));
  EXPECT_THAT(checked.err, HasSubstr("no known rule has the hash"));

  ASSERT_TRUE(base::write_file(path("c.json"), "{}").ok());
  EXPECT_EQ(check_result(model).code, 6);
}

// Writes the model and gives its path.
std::string written(const OnnxModel& model, const std::string& path) {
  EXPECT_TRUE(base::write_file(path, model.bytes()).ok());
  return path;
}

// relu(relu(f(neg(neg(x))))), where f is a node of the domain com.example with that number.
OnnxModel around_a_foreign_node(std::int64_t number, const std::string& type = "Mystery") {
  OnnxModel model(13);
  model.opset_import("com.example", 3);
  model.input("x", {4, 8});
  model.node("Neg", {"x"}, {"a"});
  model.node("Neg", {"a"}, {"b"});
  model.node(type, {"b"}, {"c"}).integer("number", number);
  model.graph().mutable_node(2)->set_domain("com.example");
  model.node("Relu", {"c"}, {"d"});
  model.node("Relu", {"d"}, {"y"});
  model.output("y");
  auto* value = model.graph().add_value_info();
  value->set_name("c");
  auto* tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(frontends::kFloatCode);
  for (const int size : {4, 8}) tensor->mutable_shape()->add_dim()->set_dim_value(size);
  return model;
}

TEST_F(CertificateProgram, AcceptsNodesWithoutADefinition) {
  const std::string model = written(around_a_foreign_node(1), path("m.onnx"));
  expect_accepted(model);
  const auto report =
      base::Json::parse(check("--json " + model + " " + path("o.onnx") + " " + path("c.json")).out);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(*report->find("rule_steps")->as_integer(), 2);
}

// The certificate and the result are those of another node, attribute, domain version or function.
TEST_F(CertificateProgram, RejectsAnotherNodeWithoutADefinition) {
  ASSERT_EQ(optimize(written(around_a_foreign_node(1), path("m.onnx"))).code, 0);
  const ProgramRun attribute = check_result(written(around_a_foreign_node(2), path("n.onnx")));
  EXPECT_EQ(attribute.code, 6);
  EXPECT_THAT(attribute.err, HasSubstr("is not what the first program computes"));
  const ProgramRun type = check_result(written(around_a_foreign_node(1, "Riddle"), path("n.onnx")));
  EXPECT_EQ(type.code, 6) << type.err;
  OnnxModel version = around_a_foreign_node(1);
  version.proto.mutable_opset_import(1)->set_version(4);
  const ProgramRun newer = check_result(written(version, path("n.onnx")));
  EXPECT_EQ(newer.code, 6);
  EXPECT_THAT(newer.err, HasSubstr("the domain 'com.example' has the versions 4 and 3"));
}

// Two random nodes are two functions, though they look alike.
TEST_F(CertificateProgram, DoesNotConfuseRandomNodes) {
  OnnxModel model(13);
  model.input("x", {4});
  for (const char* name : {"r", "s"}) {
    model.node("RandomNormal", {}, {name}).integers("shape", {4});
    auto* value = model.graph().add_value_info();
    value->set_name(name);
    auto* tensor = value->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(frontends::kFloatCode);
    tensor->mutable_shape()->add_dim()->set_dim_value(4);
  }
  model.node("Sub", {"r", "s"}, {"d"});
  model.node("Add", {"x", "d"}, {"e"});
  model.node("Relu", {"e"}, {"f"});
  model.node("Relu", {"f"}, {"y"});
  model.output("y");
  const std::string file = written(model, path("m.onnx"));
  expect_accepted(file);
  model.graph().mutable_node(2)->set_input(1, "r");  // r - r
  const ProgramRun same = check_result(written(model, path("n.onnx")));
  EXPECT_EQ(same.code, 6);
}

// A node that counts on rounding is no function of the reals, and one that computes one of two
// branches stays one node.
TEST_F(CertificateProgram, AcceptsNodesThatStayWhole) {
  OnnxModel model(13);
  model.input("x", {8});
  model.input("z", {}, 9);
  auto* magic = model.initializer("magic", frontends::kFloatCode, {});
  magic->add_float_data(12582912.0F);
  model.node("Add", {"x", "magic"}, {"a"});
  model.node("Sub", {"a", "magic"}, {"b"});
  model.node("Relu", {"b"}, {"c"});
  model.node("Relu", {"c"}, {"d"});
  auto chosen = model.node("If", {"z"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto& graph = *chosen.graph(branch);
    graph.set_name(branch);
    frontends::add_node(graph, *branch == 't' ? "Neg" : "Abs", {"d"}, {branch});
    graph.add_output()->set_name(branch);
  }
  model.output("y");
  const std::string file = written(model, path("m.onnx"));
  expect_accepted(file);
  onnx::ModelProto result;
  ASSERT_TRUE(result.ParseFromString(text("o.onnx")));
  int kept = 0;
  for (auto& node : *result.mutable_graph()->mutable_node()) {
    if (node.op_type() != "If") continue;
    ++kept;
    node.mutable_attribute(0)->mutable_g()->mutable_node(0)->set_op_type("Abs");
  }
  EXPECT_EQ(kept, 1);
  ASSERT_TRUE(base::write_file(path("o.onnx"), result.SerializeAsString()).ok());
  EXPECT_EQ(check_result(file).code, 6);
}

OnnxModel with_open_sizes() {
  OnnxModel model(13);
  auto* shape = model.input("x", {1, 1, 8});
  shape->mutable_dim(0)->set_dim_param("batch.size");
  shape->mutable_dim(1)->set_dim_param("time");
  model.node("Relu", {"x"}, {"a"});
  model.node("Relu", {"a"}, {"b"});
  model.integers("flat", {0, -1});
  model.node("Reshape", {"b", "flat"}, {"c"});
  model.node("Shape", {"x"}, {"s"});
  model.node("Reshape", {"c", "s"}, {"d"});
  model.node("Transpose", {"d"}, {"e"}).integers("perm", {1, 0, 2});
  model.node("Transpose", {"e"}, {"f"}).integers("perm", {1, 0, 2});
  model.node("Neg", {"f"}, {"y"});
  model.output("y");
  return model;
}

TEST_F(CertificateProgram, AcceptsOpenSizes) {
  const std::string model = written(with_open_sizes(), path("m.onnx"));
  expect_accepted(model);
  const ProgramRun checked = check_result(model);
  EXPECT_THAT(checked.out, HasSubstr("\"time\": \"1..2147483648\""));
  const auto report =
      base::Json::parse(check("--json " + model + " " + path("o.onnx") + " " + path("c.json")).out);
  ASSERT_TRUE(report.ok());
  EXPECT_GT(*report->find("rule_steps")->as_integer(), 0);
  ASSERT_EQ(optimize(model, "--range time=1..64").code, 0);
  EXPECT_THAT(check_result(model).out, HasSubstr("\"time\": \"1..64\""));
}

// Its proof needs facts about quotients of sizes. Without any one of them a step is wrong.
TEST_F(CertificateProgram, NeedsAllFactsAboutOpenSizes) {
  const std::string model = std::string(EGRET_SOURCE_DIR) + "/experiments/data/ppocr_cls.onnx";
  expect_accepted(model);
  const auto document = base::Json::parse(text("c.json"));
  ASSERT_TRUE(document.ok());
  const auto& facts = document->find("obligations")->members();
  ASSERT_GT(facts.size(), 5);
  for (const auto& [gone, proof_of_it] : facts) {
    SCOPED_TRACE(gone);
    base::Json fewer = base::Json::object();
    base::Json wrong = base::Json::object();
    for (const auto& [guard, proof] : facts) {
      if (guard != gone) fewer.set(guard, proof);
      wrong.set(guard, guard != gone ? *proof.as_string() : "0:1");
    }
    for (const base::Json& altered : {fewer, wrong}) {
      base::Json other = *document;
      other.set("obligations", altered);
      ASSERT_TRUE(base::write_file(path("c.json"), other.dump()).ok());
      const ProgramRun checked = check_result(model);
      EXPECT_EQ(checked.code, 6);
      EXPECT_THAT(checked.err, HasSubstr("a size is not known to be at least 1"));
    }
  }
}

TEST_F(CertificateProgram, RejectsOtherOpenSizes) {
  const std::string model = written(with_open_sizes(), path("m.onnx"));
  ASSERT_EQ(optimize(model).code, 0);
  // A result for one size only.
  onnx::ModelProto result;
  ASSERT_TRUE(result.ParseFromString(text("o.onnx")));
  auto* input = result.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  input->mutable_shape()->mutable_dim(1)->set_dim_value(16);
  ASSERT_TRUE(base::write_file(path("p.onnx"), result.SerializeAsString()).ok());
  const ProgramRun bound = check(model + " " + path("p.onnx") + " " + path("c.json"));
  EXPECT_EQ(bound.code, 6);
  EXPECT_THAT(bound.err, HasSubstr("the programs are "));
  // A certificate that does not say that sizes are open.
  auto document = base::Json::parse(text("c.json"));
  ASSERT_TRUE(document.ok());
  document->set("open", base::Json::object());
  ASSERT_TRUE(base::write_file(path("c.json"), document->dump()).ok());
  const ProgramRun closed = check_result(model);
  EXPECT_EQ(closed.code, 4);
  EXPECT_THAT(closed.err, HasSubstr("has an open size"));
}

// What is so for all sizes of an empty range says nothing.
TEST_F(CertificateProgram, RejectsEmptyRanges) {
  const std::string model = written(with_open_sizes(), path("m.onnx"));
  ASSERT_EQ(optimize(model).code, 0);
  auto document = base::Json::parse(text("c.json"));
  ASSERT_TRUE(document.ok());
  base::Json open = *document->find("open");
  open.set("time", base::Json::array().push(2).push(1).push(1));
  document->set("open", open);
  ASSERT_TRUE(base::write_file(path("c.json"), document->dump()).ok());
  const ProgramRun checked = check_result(model);
  EXPECT_EQ(checked.code, 6);
  EXPECT_THAT(checked.err, HasSubstr("'time' of 'open': the least size exceeds the most"));
}

// Sizes that are open though the certificate does not name them are printed, too.
TEST_F(CertificateProgram, NamesAllOpenSizes) {
  const std::string model = written(with_open_sizes(), path("m.onnx"));
  ASSERT_EQ(optimize(model).code, 0);
  auto document = base::Json::parse(text("c.json"));
  ASSERT_TRUE(document.ok());
  base::Json open = base::Json::object();
  open.set("batch.size", *document->find("open")->find("batch.size"));
  document->set("open", open);
  ASSERT_TRUE(base::write_file(path("c.json"), document->dump()).ok());
  const ProgramRun checked = check_result(model);
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("\"time\": \"1..2147483648\""));
}

// x of [N, 4] and y of [M, 4]: the sum needs equal sizes. Two equal parts of [K] need an even size.
TEST_F(CertificateProgram, SaysWhatIsAssumedOfOpenSizes) {
  OnnxModel model(13);
  model.input("x", {1, 4})->mutable_dim(0)->set_dim_param("N");
  model.input("y", {1, 4})->mutable_dim(0)->set_dim_param("M");
  model.input("z", {1})->mutable_dim(0)->set_dim_param("K");
  model.node("Add", {"x", "y"}, {"a"});
  model.node("Relu", {"a"}, {"b"});
  model.node("Relu", {"b"}, {"c"});
  model.node("Split", {"z"}, {"d", "e"});
  model.node("Neg", {"d"}, {"f"});
  for (const char* name : {"c", "f", "e"}) model.output(name);
  const std::string file = written(model, path("m.onnx"));
  expect_accepted(file);
  const ProgramRun text = check_result(file);
  EXPECT_THAT(text.out, HasSubstr("assumed of the sizes: M == N"));
  EXPECT_THAT(text.out, HasSubstr("assumed of the sizes: mod(K, 2) == 0"));
  const auto report =
      base::Json::parse(check("--json " + file + " " + path("o.onnx") + " " + path("c.json")).out);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->find("assumptions")->items().size(), 3) << report->dump();
  EXPECT_EQ(report->find("reals")->scalar_text(), "false");
}

// Import assumes nothing for a branch that need not be taken: x of [2] has no two parts of 1 below.
TEST_F(CertificateProgram, AssumesNothingForBranches) {
  OnnxModel model(13);
  model.input("x", {1})->mutable_dim(0)->set_dim_param("N");
  model.input("z", {}, 9);
  model.node("Relu", {"x"}, {"a"});
  model.node("Relu", {"a"}, {"b"});
  auto chosen = model.node("If", {"z"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto& graph = *chosen.graph(branch);
    graph.set_name(branch);
    if (*branch == 't') {
      frontends::add_node(graph, "Split", {"b"}, {"first", "second"});
      frontends::add_node(graph, "Concat", {"second", "first"}, {branch}).integer("axis", 0);
    } else {
      frontends::add_node(graph, "Neg", {"b"}, {branch});
    }
    graph.add_output()->set_name(branch);
  }
  model.output("y");
  auto* tensor = model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(frontends::kFloatCode);
  tensor->mutable_shape()->add_dim()->set_dim_param("N");
  const std::string file = written(model, path("m.onnx"));
  expect_accepted(file);
  EXPECT_THAT(check_result(file).out, ::testing::Not(HasSubstr("assumed")));
}

// A certificate that takes rounding nodes apart says so.
TEST_F(CertificateProgram, SaysThatRoundingCounts) {
  OnnxModel model(13);
  model.input("x", {8});
  auto* magic = model.initializer("magic", frontends::kFloatCode, {});
  magic->add_float_data(12582912.0F);
  model.node("Add", {"x", "magic"}, {"a"});
  model.node("Sub", {"a", "magic"}, {"b"});
  model.node("Relu", {"b"}, {"y"});
  model.output("y");
  const std::string file = written(model, path("m.onnx"));
  ASSERT_EQ(optimize(file, "--fp reals").code, 0);
  const ProgramRun checked = check_result(file);
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("nodes that count on rounding are taken as real arithmetic"));
  const auto report =
      base::Json::parse(check("--json " + file + " " + path("o.onnx") + " " + path("c.json")).out);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->find("reals")->scalar_text(), "true");
}

// The weights are in a file beside the result, as those of a model above 2 GiB are.
TEST_F(CertificateProgram, AcceptsWeightsInAFileOfTheirOwn) {
  OnnxModel model(13);
  model.input("x", {4, 64});
  auto* weights = model.initializer("w", frontends::kFloatCode, {64, 64});
  for (int i = 0; i < 64 * 64; ++i) weights->add_float_data(static_cast<float>(i % 7));
  model.node("MatMul", {"x", "w"}, {"a"});
  model.node("Relu", {"a"}, {"b"});
  model.node("Relu", {"b"}, {"y"});
  model.output("y");
  const std::string file = written(model, path("m.onnx"));
  const auto read = frontends::import_onnx(file);
  ASSERT_TRUE(read.ok());
  driver::OptimizeOptions options;
  options.explain = true;
  options.quick = true;
  options.cost_db = path("costs");
  const auto result = driver::optimize(read->graph, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  auto exported =
      frontends::export_onnx(result->graph, read->info,
                             {.external_data_path = path("o.onnx.data"), .always_external = true});
  ASSERT_TRUE(exported.ok());
  ASSERT_TRUE(exported->external_file.has_value());
  const driver::ModelSource source{.path = file};
  const auto certificate = driver::certificate_of(*result, {source, read->info, {}}, *exported);
  ASSERT_TRUE(certificate.ok()) << certificate.status().message();
  EXPECT_FALSE(std::filesystem::exists(path("o.onnx.data")));  // it was read before it appeared
  ASSERT_TRUE(exported->write(path("o.onnx")).ok());
  ASSERT_TRUE(base::write_file(path("c.json"), *certificate).ok());
  const ProgramRun accepted = check_result(file);
  EXPECT_EQ(accepted.code, 0) << accepted.err;
  // Another weight in the file.
  std::string data = text("o.onnx.data");
  data[100] = static_cast<char>(data[100] ^ 1);
  ASSERT_TRUE(base::write_file(path("o.onnx.data"), data).ok());
  EXPECT_EQ(check_result(file).code, 6);
}

TEST_F(CertificateProgram, SpeaksOfTheSizesThatAreFixed) {
  OnnxModel open(13);
  open.input("x", {1, 8})->mutable_dim(0)->set_dim_param("N");
  open.node("Relu", {"x"}, {"y"});
  open.output("y");
  ASSERT_EQ(optimize(written(open, path("m.onnx")), "--bind N=4").code, 0);
  const ProgramRun bound = check_result(path("m.onnx"));
  EXPECT_EQ(bound.code, 0) << bound.err;
  EXPECT_THAT(bound.out, HasSubstr("for {\"N\": 4}"));
}

// The graph is chosen with its kernels then, and the same e-graph proves it.
TEST_F(CertificateProgram, ProvesGraphsThatAreChosenWithTheirKernels) {
  OnnxModel model(17);
  model.input("x", {4, 8});
  for (const std::string weights : {"scale", "shift"}) {
    auto* tensor = model.initializer(weights, frontends::kFloatCode, {8});
    for (int i = 1; i <= 8; ++i) tensor->add_float_data(static_cast<float>(i));
  }
  model.node("Mul", {"x", "scale"}, {"m"});
  model.node("Add", {"m", "shift"}, {"a"});
  model.node("Transpose", {"a"}, {"t"});
  model.node("Transpose", {"t"}, {"u"});
  model.node("Mul", {"u", "scale"}, {"v"});
  model.node("Softmax", {"v"}, {"y"});
  model.output("y");
  const std::string file = written(model, path("m.onnx"));
  for (const std::string from : {"egraph", "graph"}) {
    SCOPED_TRACE(from);
    const ProgramRun run = optimize(file, "--limit-time 10 --kernels-from " + from);
    ASSERT_EQ(run.code, 0) << run.err;
    const ProgramRun checked = check_result(file);
    EXPECT_EQ(checked.code, 0) << checked.err << checked.out;
    EXPECT_THAT(checked.out, StartsWith("accepted: "));
  }
}

TEST_F(CertificateProgram, RefusesWhatCannotBeCertified) {
  const std::string model = scaled_model();
  EXPECT_THAT(optimize(model, "--error-budget 1e-2").err, HasSubstr("--certificate excludes"));
  EXPECT_THAT(optimize(model, "--extractor backtracking").err, HasSubstr("--certificate"));
  EXPECT_EQ(check("--help").code, 0);
  EXPECT_EQ(check("one two").code, 2);
}

}  // namespace
}  // namespace egret::tools
