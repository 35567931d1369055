// SPDX-License-Identifier: Apache-2.0
// --report of the verbs that have it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Report : public FolderTest {
 protected:
  void SetUp() override {
    ir::GraphBuilder b;
    base::Random random(1);
    const ir::Value x = b.input("x", {ir::DType::kF32, {4, 64}});
    const ir::Value w = b.constant(ir::Tensor::random({ir::DType::kF32, {64, 64}}, random), "w");
    b.output("y", b.add("relu", {b.add("relu", {b.add("matmul", {x, w})})}));
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(path("m.onnx"), model->bytes).ok());
    ASSERT_TRUE(base::write_file(path("e.json"), R"({
      "nodes": {"a": {"op": "a", "children": [], "eclass": "1", "cost": 2},
                "b": {"op": "<b>", "children": [], "eclass": "1", "cost": 1},
                "f": {"op": "f", "children": ["a"], "eclass": "0", "cost": 5}},
      "root_eclasses": ["0"]})")
                    .ok());
  }
  std::string file(const std::string& name) const {
    const auto text = base::read_file(path(name), 1 << 24);
    return text.ok() ? *text : "";
  }
  // The document in the page is the one that --json prints, but for times.
  base::Json data_of(const std::string& page) const {
    const std::string begin = "<script type=\"application/json\" id=\"report-data\">";
    const std::size_t at = page.find(begin) + begin.size();
    auto json = base::Json::parse(page.substr(at, page.find("</script>", at) - at));
    EXPECT_TRUE(json.ok());
    return json.ok() ? *json : base::Json();
  }
  std::string optimize(const std::string& words) const {
    return "optimize " + path("m.onnx") + " --quick --cost-db " + path("c.sqlite") + " -o " +
           path("o.onnx") + " " + words;
  }
};

TEST_F(Report, OfOptimize) {
  const ProgramRun run = run_program(optimize("--json --report " + path("r.html")));
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string page = file("r.html");
  EXPECT_THAT(page, HasSubstr("<h1>m.onnx</h1>"));
  EXPECT_THAT(page, HasSubstr("The graph before and after"));
  const auto printed = base::Json::parse(run.out);
  ASSERT_TRUE(printed.ok());
  EXPECT_EQ(data_of(page).dump(), printed->dump());
  EXPECT_EQ(*printed->find("kernels_source")->as_string(), "predicted");
  EXPECT_EQ(base::Json::parse(run_program(optimize("--json")).out)->find("kernels_source"),
            nullptr);
}

TEST_F(Report, OfAMeasuredRunHasKernels) {
  const ProgramRun run =
      run_program("optimize " + path("m.onnx") + " --measure-time 0.02 --cost-db " +
                  path("c.sqlite") + " -o " + path("o.onnx") + " --report " + path("r.html"));
  ASSERT_EQ(run.code, 0) << run.err;
  const base::Json data = data_of(file("r.html"));
  EXPECT_EQ(*data.find("kernels_source")->as_string(), "measured");
  ASSERT_FALSE(data.find("kernels_before")->items().empty());
  EXPECT_GT(*data.find("kernels_before")->items()[0].find("seconds")->as_real(), 0);
  EXPECT_THAT(file("r.html"), HasSubstr("The race of candidates"));
}

TEST_F(Report, OfPlan) {
  const ProgramRun run =
      run_program("plan " + path("m.onnx") + " --mesh x=2 --report " + path("r.html"));
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string page = file("r.html");
  EXPECT_THAT(page, HasSubstr("Placements by layer"));
  EXPECT_NE(data_of(page).find("placements"), nullptr);
}

TEST_F(Report, OfExtract) {
  const ProgramRun run = run_program("extract " + path("e.json") + " --report " + path("r.html"));
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string page = file("r.html");
  EXPECT_THAT(page, HasSubstr("proven to be the cheapest"));
  EXPECT_THAT(page, HasSubstr("enode chosen"));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_EQ(*data_of(page).find("dag_cost")->as_real(), 6);
}

TEST_F(Report, OfGeneratedRules) {
  const ProgramRun run = run_program("rules generate --ops relu,neg --max-ops 2 -o " +
                                     path("rules") + " --report " + path("r.html"));
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string page = file("r.html");
  EXPECT_THAT(page, HasSubstr("Rules and their proofs"));
  EXPECT_THAT(page, HasSubstr("relu(relu("));
  EXPECT_THAT(page, HasSubstr("proven for all sizes"));
}

TEST_F(Report, AnUnwritablePlaceIsNoticedBeforeTheWork) {
  const ProgramRun run = run_program(optimize("--report " + path("no/r.html")));
  EXPECT_EQ(run.code, 7);
  EXPECT_THAT(run.err, HasSubstr("no/r.html"));
  EXPECT_FALSE(std::filesystem::exists(path("o.onnx")));
}

TEST_F(Report, ReplacesNoFileOfTheRun) {
  const std::string before = file("m.onnx");
  for (const char* name : {"m.onnx", "o.onnx", "c.sqlite"}) {
    const ProgramRun run = run_program(optimize("--report " + path(name)));
    EXPECT_EQ(run.code, 2) << name;
    EXPECT_THAT(run.err, HasSubstr("--report: "));
  }
  EXPECT_EQ(file("m.onnx"), before);
  EXPECT_EQ(run_program("extract " + path("e.json") + " --report " + path("e.json")).code, 2);
  EXPECT_EQ(run_program(optimize("--report -")).code, 2);
}

// The folder of the page becomes unwritable after it was looked at: a device without space.
TEST_F(Report, TheModelIsKeptWhereThePageIsLost) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "without /dev/full";
  const ProgramRun run = run_program(optimize("--report /dev/full"));
  EXPECT_EQ(run.code, 7) << run.err;
  EXPECT_THAT(run.err, HasSubstr("/dev/full"));
  EXPECT_FALSE(file("o.onnx").empty());
  EXPECT_THAT(run.out, HasSubstr("rewritten")) << "the result is printed all the same";
}

}  // namespace
}  // namespace egret::tools
