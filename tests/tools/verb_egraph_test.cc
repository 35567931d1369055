// SPDX-License-Identifier: Apache-2.0
// `egret egraph dump` and `egret egraph stats`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kFile = R"({"nodes": {
  "s": {"op": "+", "children": ["x", "y"], "eclass": "sum"},
  "x": {"op": "x", "eclass": "left"}, "y": {"op": "y", "eclass": "right"},
  "z": {"op": "-", "children": ["y", "s"], "eclass": "right"}}, "root_eclasses": ["sum"]})";

class EGraphVerbs : public FolderTest {
 protected:
  void SetUp() override { ASSERT_TRUE(base::write_file(path("e.json"), kFile).ok()); }
};

TEST_F(EGraphVerbs, DumpFilesInEachForm) {
  ProgramRun run = run_program("egraph dump " + path("e.json"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "sum: + left right\nleft: x\nright: y | - right sum\n");
  run = run_program("egraph dump --form dot " + path("e.json"));
  EXPECT_THAT(run.out, StartsWith("digraph"));
  run = run_program("egraph dump --form svg " + path("e.json") + " -o " + path("e.svg"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(*base::read_file(path("e.svg"), 1 << 20), StartsWith("<svg"));
  run = run_program("egraph dump --form json " + path("e.json") + " -o " + path("again.json"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run_program("egraph dump " + path("again.json")).out,
            run_program("egraph dump - < " + path("e.json")).out);
}

// The cycle through "-" is no term of "right".
TEST_F(EGraphVerbs, MarkTheCheapestTerms) {
  ProgramRun run = run_program("egraph dump --form svg --mark-cheapest " + path("e.json"));
  EXPECT_EQ(run.code, 0) << run.err;
  std::size_t chosen = 0;
  for (std::size_t at = 0; (at = run.out.find("enode chosen", at)) != std::string::npos; ++at)
    ++chosen;
  EXPECT_EQ(chosen, 3U + 1U) << "+, x and y, and the legend";
  run = run_program("egraph dump --form dot " + path("e.json"));
  EXPECT_EQ(run.out.find("fillcolor"), std::string::npos);
}

TEST_F(EGraphVerbs, DumpNoTextWhereJsonIsAskedFor) {
  for (const char* form : {"text", "dot", "svg"}) {
    const ProgramRun run =
        run_program("egraph dump --json --form " + (form + (" " + path("e.json"))));
    EXPECT_EQ(run.code, 2) << form;
    EXPECT_THAT(run.err, HasSubstr("--form json")) << form;
    EXPECT_TRUE(base::Json::parse(run.out).ok()) << run.out;
  }
  EXPECT_EQ(run_program("egraph dump --json --form json " + path("e.json")).code, 0);
}

TEST_F(EGraphVerbs, SayWhatIsNotShown) {
  const ProgramRun run = run_program("egraph dump --most-classes 1 " + path("e.json"));
  EXPECT_EQ(run.out, "sum: + left right\n... 2 classes with 3 nodes not shown\n");
  EXPECT_THAT(run.err, HasSubstr("2 classes with 3 nodes not shown; --most-classes shows more"));
}

TEST_F(EGraphVerbs, CountWhatIsThere) {
  const ProgramRun run = run_program("egraph stats --json " + path("e.json"));
  EXPECT_EQ(run.code, 0) << run.err;
  const auto json = base::Json::parse(run.out);
  ASSERT_TRUE(json.ok()) << run.out;
  EXPECT_EQ(*json->find("nodes")->as_integer(), 4);
  EXPECT_EQ(*json->find("classes")->as_integer(), 3);
  EXPECT_EQ(*json->find("cyclic_classes")->as_integer(), 2);
  EXPECT_EQ(*json->find("missing_roots")->as_integer(), 0);
  EXPECT_THAT(run_program("egraph stats " + path("e.json")).out,
              HasSubstr("4, 2 leaves among them"));
}

TEST_F(EGraphVerbs, RefuseBrokenFilesWithTheirPlace) {
  ASSERT_TRUE(base::write_file(path("bad.json"), "{\"nodes\":\n []}").ok());
  ProgramRun run = run_program("egraph stats " + path("bad.json"));
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("bad.json: line 2, column 2"));
  EXPECT_THAT(run.err, HasSubstr("nodes must be an object"));
  ASSERT_TRUE(base::write_file(path("root.json"),
                               "{\"nodes\": {\"n\": {\"op\": \"f\", \"eclass\": \"c\"}}, "
                               "\"root_eclasses\": [\"d\"]}")
                  .ok());
  EXPECT_EQ(run_program("egraph stats " + path("root.json")).code, 3);
  run = run_program("egraph stats --ignore-missing-roots " + path("root.json"));
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("1 root names no e-class"));
  EXPECT_EQ(run_program("egraph dump " + path("none.json")).code, 7);
}

TEST_F(EGraphVerbs, SaturateModelsFirst) {
  ASSERT_EQ(run_program("zoo squeezenet1.1 -o " + path("m.onnx")).code, 0);
  const std::string limits = " --limit-iterations 1 --limit-nodes 2000";
  const ProgramRun stats = run_program("egraph stats --json " + path("m.onnx") + limits);
  const auto json = base::Json::parse(stats.out);
  ASSERT_TRUE(json.ok()) << stats.out << stats.err;
  EXPECT_GT(*json->find("classes")->as_integer(), 10);
  EXPECT_FALSE(json->find("rules")->items().empty());
  const ProgramRun dump =
      run_program("egraph dump --form json " + path("m.onnx") + limits + " -o " + path("m.json"));
  EXPECT_TRUE(dump.code == 0 || dump.code == 5) << dump.err;
  const auto again = base::Json::parse(run_program("egraph stats --json " + path("m.json")).out);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again->find("nodes")->as_integer(), *json->find("nodes")->as_integer());
}

}  // namespace
}  // namespace egret::tools
