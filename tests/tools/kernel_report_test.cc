// SPDX-License-Identifier: Apache-2.0
#include "tools/console/kernel_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/system/file.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

double number(const base::Json& object, std::string_view key) {
  const base::Json* member = object.find(key);
  EXPECT_NE(member, nullptr) << key;
  return member == nullptr ? 0 : member->as_real().value_or(0);
}

TEST(KernelReport, GivesTheShareOfTheTighterRoof) {
  backends::PlanReport report;
  report.kernels.resize(3);
  report.kernels[0].seconds = report.kernels[1].seconds = 2e-3;
  report.kernels[2].seconds = 1e-3;  // a reorder
  const std::vector<ir::Work> works = {{1e9, 1e6, 1e6}, {0, 1e6, 1e6}, {}};
  const cost::Rates rates{.flops_per_second = 1e12, .bytes_per_second = 4e9};
  const base::Json list = kernel_list(report, works, rates);
  EXPECT_DOUBLE_EQ(number(list.items()[0], "roofline_share"), 0.5);
  EXPECT_DOUBLE_EQ(number(list.items()[1], "roofline_share"), 0.25);
  EXPECT_DOUBLE_EQ(number(list.items()[2], "roofline_share"), 0);
  const std::string table = kernel_table(report, works, rates);
  EXPECT_NE(table.find("50.0%"), std::string::npos) << table;
  EXPECT_NE(table.find("500"), std::string::npos) << table;
}

TEST(KernelReport, DoubtsRatesThatAKernelBeats) {
  backends::PlanReport report;
  report.kernels.resize(1);
  const cost::Rates rates{.flops_per_second = 1e12, .bytes_per_second = 4e9};
  const auto doubts = [&](double seconds, const ir::Work& work = {1e9, 1e6, 1e6}) {
    report.kernels[0].seconds = seconds;
    return kernel_table(report, {work}, rates).find("costs calibrate") != std::string::npos;
  };
  EXPECT_FALSE(doubts(1e-3));
  EXPECT_FALSE(doubts(0.26e-3));  // as Winograd's tiles may
  EXPECT_TRUE(doubts(0.24e-3));
  EXPECT_FALSE(doubts(0.26e-3, {0, 5e7, 5e7}));  // as caches may
  EXPECT_TRUE(doubts(0.24e-3, {0, 5e7, 5e7}));
  EXPECT_FALSE(doubts(0)) << "what was not timed says nothing";
}

class ProfiledRun : public FolderTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(run_program("zoo squeezenet1.1 -o " + path("m.onnx")).code, 0);
  }
};

TEST_F(ProfiledRun, WritesATraceOfAllKernels) {
  const ProgramRun run = run_program("run " + path("m.onnx") + " --trace " + path("t.json"));
  ASSERT_EQ(run.code, 0) << run.err;
  const auto text = base::read_file(path("t.json"), 1 << 20);
  ASSERT_TRUE(text.ok()) << text.status().message();
  const auto trace = base::Json::parse(*text);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  const base::Json* events = trace->find("traceEvents");
  ASSERT_NE(events, nullptr);
  EXPECT_GT(events->items().size(), 20U);
  double end = 0;
  double flops = 0;
  for (const base::Json& event : events->items()) {
    EXPECT_EQ(event.find("ph")->scalar_text(), "X");
    EXPECT_GE(number(event, "ts"), end - 1e-3);  // microseconds
    end = number(event, "ts") + number(event, "dur");
    flops += number(*event.find("args"), "flops");
  }
  EXPECT_GT(flops, 6e8);  // the model has 350 million multiply-adds
  EXPECT_LT(flops, 9e8);
}

TEST_F(ProfiledRun, LeavesOutPartsOfTheBackend) {
  const std::string bench = "bench " + path("m.onnx") + " --kernels --json --time 0 --runs 1";
  const auto kernels = [&](const std::string& flags) {
    const ProgramRun run = run_program(bench + flags);
    EXPECT_EQ(run.code, 0) << run.err;
    const auto json = base::Json::parse(run.out);
    return json.ok() ? *json->find("kernels") : base::Json::array();
  };
  const auto blocked = [](const base::Json& list) {
    return std::ranges::count_if(list.items(), [](const base::Json& kernel) {
      return kernel.find("layout")->scalar_text() != "row-major";
    });
  };
  const base::Json all = kernels("");
  EXPECT_GT(blocked(all), 0);
  EXPECT_EQ(blocked(kernels(" --without blocked")), 0);
  EXPECT_GT(kernels(" --without fusion").items().size(), all.items().size());
  const ProgramRun unknown = run_program(bench + " --without speed");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("--without"), std::string::npos) << unknown.err;
}

TEST_F(ProfiledRun, ListsRatesOfKernels) {
  const ProgramRun run =
      run_program("bench " + path("m.onnx") + " --kernels --json --time 0 --runs 2");
  ASSERT_EQ(run.code, 0) << run.err;
  const auto json = base::Json::parse(run.out);
  ASSERT_TRUE(json.ok()) << json.status().message();
  double best = 0;
  for (const base::Json& kernel : json->find("kernels")->items()) {
    EXPECT_GE(number(kernel, "roofline_share"), 0);
    best = std::max(best, number(kernel, "roofline_share"));
  }
  EXPECT_GT(best, 0);
}

// The least that a model takes is its weights. A plan has most of them in a form of its own: that
// they are not held twice, by file, graph and plan, is what this asks for.
TEST_F(ProfiledRun, SaysWhatMemoryAModelAdds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "what a sanitizer adds is not the model's";
#endif
  ASSERT_EQ(run_program("zoo resnet18 -o " + path("r.onnx")).code, 0);
  const auto bytes = static_cast<double>(std::filesystem::file_size(path("r.onnx")));
  const ProgramRun run =
      run_program("bench " + path("r.onnx") + " --threads 1 --json --time 0 --runs 1");
  ASSERT_EQ(run.code, 0) << run.err;
  const auto json = base::Json::parse(run.out);
  ASSERT_TRUE(json.ok()) << json.status().message();
  const double plan = number(*json, "weights_bytes") + number(*json, "arena_bytes");
  EXPECT_GT(number(*json, "model_bytes"), plan);
  EXPECT_LT(number(*json, "model_bytes"), plan + 1.5 * bytes);
  EXPECT_GT(number(*json, "peak_bytes"), number(*json, "model_bytes"));
}

TEST_F(ProfiledRun, HoldsOneSetOfInputsWhereTheyAreReused) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "what a sanitizer adds is not the model's";
#endif
  const auto peak = [&](const std::string& flags) {
    const ProgramRun run =
        run_program("bench " + path("m.onnx") + " --threads 1 --json --time 0.1s" + flags);
    EXPECT_EQ(run.code, 0) << run.err;
    const auto json = base::Json::parse(run.out);
    return json.ok() ? number(*json, "peak_bytes") : 0;
  };
  EXPECT_GT(peak(""), peak(" --reuse-inputs") + 2e6);  // seven more images of 0.6 MB
}

TEST_F(ProfiledRun, NamesATraceFileThatCannotBeWritten) {
  const ProgramRun run = run_program("run " + path("m.onnx") + " --trace " + path("no/t.json"));
  EXPECT_EQ(run.code, 7) << run.err;
  EXPECT_NE(run.err.find("no/t.json"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace egret::tools
