// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "cost/database.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

class CostsMerge : public FolderTest {
 protected:
  // A database with one entry of this key.
  void make_database(const std::string& name, const std::string& key) const {
    auto database = cost::Database::open(path(name));
    ASSERT_TRUE(database.ok()) << database.status().message();
    ASSERT_TRUE((*database)->store("cpu here", key, {.runs = 3, .median_s = 1e-3}).ok());
  }
  ProgramRun merge(const std::string& sources) const {
    return run_program("costs merge " + sources + " --cost-db " + path("mine.sqlite"));
  }
};

TEST_F(CostsMerge, AddsWhatTheSourcesHave) {
  make_database("a.sqlite", "conv");
  make_database("b.sqlite", "matmul");
  const ProgramRun run = merge(path("a.sqlite") + " " + path("b.sqlite"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "2 entries added\n");
}

TEST_F(CostsMerge, OneEntryIsNoEntries) {
  make_database("a.sqlite", "conv");
  EXPECT_EQ(merge(path("a.sqlite")).out, "1 entry added\n");
}

TEST_F(CostsMerge, WhereNothingIsMeasuredNothingIsChecked) {
  ASSERT_TRUE(cost::Database::open(path("mine.sqlite")).ok());
  const ProgramRun run = run_program("costs check --cost-db " + path("mine.sqlite"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out.find("nothing is measured yet for "), 0U) << run.out;
}

TEST_F(CostsMerge, NamesASourceThatIsNotThereAndMakesNone) {
  make_database("a.sqlite", "conv");
  const ProgramRun run = merge(path("a.sqlite") + " " + path("gone/b.sqlite"));
  EXPECT_EQ(run.code, 3);
  EXPECT_NE(run.err.find("gone/b.sqlite' is not a file"), std::string::npos) << run.err;
  EXPECT_FALSE(std::filesystem::exists(path("gone")));
  EXPECT_FALSE(std::filesystem::exists(path("mine.sqlite"))) << "nothing may be merged by halves";
}

TEST_F(CostsMerge, RefusesFoldersAndOtherFiles) {
  EXPECT_EQ(merge(folder()).code, 3);
  ASSERT_TRUE(base::write_file(path("notes.txt"), std::string(4096, 'n')).ok());
  const ProgramRun run = merge(path("notes.txt"));
  EXPECT_EQ(run.code, 3);
  EXPECT_NE(run.err.find("notes.txt"), std::string::npos) << run.err;
}

constexpr std::string_view kMachine = "cpu there";

class Costs : public FolderTest {
 protected:
  // Products whose times are twice those of a roofline, and the rates of that.
  void SetUp() override {
    auto database = cost::Database::open(path("costs.sqlite"));
    ASSERT_TRUE(database.ok()) << database.status().message();
    for (const int size : {64, 80, 96, 128, 160}) {
      const std::string side = std::to_string(size);
      ASSERT_TRUE(
          (*database)
              ->store(kMachine,
                      "matmul(f32[" + side + "," + side + "], f32[" + side + "," + side + "])",
                      {.runs = 7, .median_s = 4e-9 * size * size * size, .deviation_s = 1e-6})
              .ok());
    }
    const cost::Rates rates{
        .flops_per_second = 1e9, .bytes_per_second = 1e12, .seconds_per_kernel = 1e-12};
    ASSERT_TRUE((*database)->store_rates(kMachine, rates).ok());
  }
  std::string database() const { return " --cost-db " + path("costs.sqlite"); }
  static double number(const base::Json& json, std::string_view name) {
    const base::Json* found = json.find(name);
    return found != nullptr ? found->as_real().value_or(-1) : -1;
  }
};

TEST_F(Costs, AreListedWithRunsAndDeviation) {
  const ProgramRun run = run_program("costs list --all-machines" + database());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("deviation"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("runs"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("7  matmul"), std::string::npos) << run.out;
}

TEST_F(Costs, DisturbedOnesAreMarkedAndPruned) {
  {
    auto database = cost::Database::open(path("costs.sqlite"));
    ASSERT_TRUE((*database)
                    ->store(kMachine, "relu(f32[8])",
                            {.runs = 3, .median_s = 1, .deviation_s = 0, .disturbed = true})
                    .ok());
  }
  const ProgramRun list = run_program("costs list --all-machines" + database());
  EXPECT_NE(list.out.find("yes           3  relu(f32[8])"), std::string::npos) << list.out;
  ASSERT_EQ(run_program("costs export " + path("costs.json") + database()).code, 0);
  const std::string other = " --cost-db " + path("other.sqlite");
  ASSERT_EQ(run_program("costs import " + path("costs.json") + other).code, 0);
  EXPECT_EQ(run_program("costs prune" + other).out, "1 measurement removed\n");
  EXPECT_EQ(run_program("costs prune --other-machines" + other).out, "5 measurements removed\n");
}

TEST_F(Costs, AreClearedByMachine) {
  EXPECT_EQ(run_program("costs clear" + database()).out, "0 measurements removed\n");
  EXPECT_EQ(run_program("costs clear --cost-machine elsewhere" + database()).code, 2);
  EXPECT_EQ(run_program("costs clear --cost-machine there --all-machines" + database()).code, 2);
  EXPECT_EQ(run_program("costs clear --cost-machine there" + database()).out,
            "5 measurements removed\n");
  const auto left = cost::Database::open(path("costs.sqlite"));
  EXPECT_FALSE((*left)->find_rates(kMachine)->has_value());
}

TEST_F(Costs, CheckComparesInterpolationWithTheRoofline) {
  const ProgramRun run = run_program("costs check --json --cost-machine there" + database());
  EXPECT_EQ(run.code, 0) << run.err;
  const auto json = base::Json::parse(run.out);
  ASSERT_TRUE(json.ok()) << run.out;
  const base::Json& all = *json->find("all");
  EXPECT_EQ(number(all, "entries"), 5);
  EXPECT_EQ(number(all, "predicted"), 5);
  EXPECT_NEAR(number(all, "median_error"), 0, 0.01);
  EXPECT_NEAR(number(all, "roofline_median_error"), 1, 0.05);
}

TEST_F(Costs, CheckAsksForAMachineThatIsThere) {
  const ProgramRun run = run_program("costs check --cost-machine elsewhere" + database());
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("cpu there"), std::string::npos) << run.err;
}

TEST_F(Costs, ExportAndImportCarryRates) {
  ASSERT_EQ(run_program("costs export " + path("costs.json") + database()).code, 0);
  const ProgramRun run =
      run_program("costs import " + path("costs.json") + " --cost-db " + path("other.sqlite"));
  EXPECT_EQ(run.out, "5 entries added\n") << run.err;
  const auto other = cost::Database::open(path("other.sqlite"));
  const auto mine = cost::Database::open(path("costs.sqlite"));
  ASSERT_TRUE(other.ok() && mine.ok());
  EXPECT_EQ(*(*other)->content_hash(kMachine), *(*mine)->content_hash(kMachine));
  const auto rates = (*other)->find_rates(kMachine);
  ASSERT_TRUE(rates.ok() && rates->has_value());
  EXPECT_DOUBLE_EQ((*rates)->flops_per_second, 1e9);
}

TEST_F(Costs, ReadingADatabaseThatIsNotThereMakesNone) {
  for (const std::string& words :
       {std::string("list"), std::string("check"), "export " + path("x.json"),
        std::string("check --known-db ") + path("mistyped") + database()}) {
    const std::string place =
        words.find("--cost-db") == std::string::npos ? " --cost-db " + path("mistyped") : "";
    const ProgramRun run = run_program("costs " + words + place);
    EXPECT_EQ(run.code, 3) << words << run.err;
    EXPECT_NE(run.err.find("mistyped' is not a file"), std::string::npos) << run.err;
  }
  EXPECT_FALSE(std::filesystem::exists(path("mistyped")));
  EXPECT_FALSE(std::filesystem::exists(path("x.json")));
}

TEST_F(Costs, OptimizingNeedsNoPlaceForThem) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", {ir::DType::kF32, {4, 64}});
  b.output("y", b.add("relu", {b.add("relu", {x})}));
  ASSERT_TRUE(frontends::export_onnx(*b.finish(), {})->write(path("m.onnx")).ok());
  const ProgramRun run =
      run_program("optimize --profile-time 0.1 --measure-time 0.1 " + path("m.onnx") + " -o " +
                      path("out.onnx"),
                  "env -u HOME -u XDG_CACHE_HOME -u EGRET_COST_DB -u EGRET_KERNEL_CACHE");
  EXPECT_TRUE(run.code == 0 || run.code == 5) << run.err;
  EXPECT_NE(run.err.find("what is measured is not kept"), std::string::npos) << run.err;
  EXPECT_TRUE(std::filesystem::exists(path("out.onnx")));
  EXPECT_FALSE(std::filesystem::exists("/.cache/egret"));
}

TEST_F(Costs, ImportRefusesRatesThatAreNone) {
  ASSERT_TRUE(base::write_file(path("bad.json"),
                               R"({"schema_version": 1, "entries": [], "rates": [{"machine": "m",
                                   "flops_per_second": 0, "bytes_per_second": 1,
                                   "seconds_per_kernel": 1}]})")
                  .ok());
  const ProgramRun run =
      run_program("costs import " + path("bad.json") + " --cost-db " + path("other.sqlite"));
  EXPECT_EQ(run.code, 3);
  EXPECT_NE(run.err.find("flops_per_second"), std::string::npos) << run.err;
}

TEST_F(Costs, ImportReadsItsOwnVersionAlone) {
  const auto error_of = [&](const std::string& version) {
    const std::string text = "{" + version + R"("entries": [], "rates": []})";
    EXPECT_TRUE(base::write_file(path("v.json"), text).ok());
    const ProgramRun run =
        run_program("costs import " + path("v.json") + " --cost-db " + path("other.sqlite"));
    EXPECT_EQ(run.code, 3) << version;
    EXPECT_FALSE(std::filesystem::exists(path("other.sqlite"))) << version;
    return run.err;
  };
  EXPECT_NE(error_of(R"("schema_version": 99, )")
                .find("v.json: schema_version 99 is unknown; costs of 1 can be read"),
            std::string::npos);
  EXPECT_NE(error_of(R"("schema_version": "1", )").find("v.json: schema_version: "),
            std::string::npos);
  EXPECT_NE(error_of("").find("v.json: 'schema_version' is missing"), std::string::npos);
}

TEST_F(Costs, CalibrateKeepsTheRatesOfThisMachine) {
  const ProgramRun run = run_program("costs calibrate --json --threads 1" + database());
  EXPECT_EQ(run.code, 0) << run.err;
  const auto json = base::Json::parse(run.out);
  ASSERT_TRUE(json.ok()) << run.out;
  EXPECT_GT(number(*json->find("rates"), "flops_per_second"), 1e8);
  const auto database = cost::Database::open(path("costs.sqlite"));
  ASSERT_TRUE(database.ok());
  const auto rates = (*database)->find_rates(*json->find("machine")->as_string());
  ASSERT_TRUE(rates.ok() && rates->has_value());
  EXPECT_EQ((*rates)->bytes_per_second, number(*json->find("rates"), "bytes_per_second"));
}

}  // namespace
}  // namespace egret::tools
