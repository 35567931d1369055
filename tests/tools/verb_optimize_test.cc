// SPDX-License-Identifier: Apache-2.0
// `egret optimize`: where the result goes, and what its status says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

class OptimizeVerb : public FolderTest {
 protected:
  void SetUp() override { write_model(2); }
  void write_model(int relus) {
    ir::GraphBuilder b;
    ir::Value x = b.input("x", {ir::DType::kF32, {64, 64}});
    for (int i = 0; i < relus; ++i) x = b.add("relu", {x});
    b.output("y", x);
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(path("m.onnx"), model->bytes).ok());
  }
  std::string bytes() const { return base::read_file(path("m.onnx"), 1 << 20).value(); }
  ProgramRun optimize(const std::string& words) {
    return run_program("optimize " + path("m.onnx") + " --cost-db " + path("c.sqlite") + " " +
                       words);
  }
  std::string status(const std::string& words) {
    const ProgramRun run = optimize("-o " + path("o.onnx") + " --json " + words);
    EXPECT_EQ(run.code, 0) << run.err;
    const auto json = base::Json::parse(run.out);
    return json.ok() ? json->find("status")->as_string().value() : run.out;
  }
};

TEST_F(OptimizeVerb, DoesNotReplaceTheModelUnasked) {
  const std::string before = bytes();
  const ProgramRun refused = optimize("-o " + path("m.onnx"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("or use --in-place"));
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(optimize("--in-place -o " + path("o.onnx")).code, 2);
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(optimize("--in-place --quick").code, 0);
  EXPECT_NE(bytes(), before);
}

TEST_F(OptimizeVerb, SaysWhetherTheResultIsFasterOrOnlyAnother) {
  EXPECT_EQ(status("--no-measure"), "rewritten");
  EXPECT_EQ(status("--quick"), "rewritten");
  write_model(1);
  EXPECT_EQ(status("--no-measure"), "unchanged");
  EXPECT_EQ(status("--measure-time 0.01"), "unchanged") << "the graphs are the same";
}

// The second run remembers the race of the first.
TEST_F(OptimizeVerb, RemembersItsVerdict) {
  write_model(12);
  const std::string first = status("--measure-time 0.05");
  EXPECT_TRUE(first == "improved" || first == "rewritten") << first;
  EXPECT_EQ(status("--measure-time 0.05"), first);
}

}  // namespace
}  // namespace egret::tools
