// SPDX-License-Identifier: Apache-2.0
// Tiles chosen by measurement, and where choices are kept.
#include "backends/codegen/tile_search.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/random.h"
#include "base/system/file.h"
#include "cost/database.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "tests/codegen/kernel_batch.h"
#include "tests/codegen/needs_host_compiler.h"

namespace egret::backends::codegen {
namespace {

namespace fs = std::filesystem;

class TileSearch : public NeedsHostCompiler<::testing::Test> {
 protected:
  void SetUp() override {
    NeedsHostCompiler<::testing::Test>::SetUp();
    if (IsSkipped()) return;
    const char* before = std::getenv("EGRET_KERNEL_CACHE");
    if (before != nullptr) before_ = before;
    std::string folder = ::testing::TempDir() + "tiles-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    ::setenv("EGRET_KERNEL_CACHE", folder_.c_str(), 1);
    const char* database = std::getenv("EGRET_COST_DB");
    if (database != nullptr) database_before_ = database;
    ::setenv("EGRET_COST_DB", (folder_ + "/costs.sqlite").c_str(), 1);
  }
  void TearDown() override {
    if (folder_.empty()) return;
    before_.empty() ? ::unsetenv("EGRET_KERNEL_CACHE")
                    : ::setenv("EGRET_KERNEL_CACHE", before_.c_str(), 1);
    database_before_.empty() ? ::unsetenv("EGRET_COST_DB")
                             : ::setenv("EGRET_COST_DB", database_before_.c_str(), 1);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  // A product of 40x70 and 70x90 matrices.
  static ir::Graph product() {
    ir::GraphBuilder b;
    const auto x = b.input("x", ir::TensorType(ir::DType::kF32, {40, 70}));
    const auto y = b.input("y", ir::TensorType(ir::DType::kF32, {70, 90}));
    b.output("z", b.add("matmul", {x, y}));
    auto graph = std::move(b).finish();
    EXPECT_TRUE(graph.ok());
    return *std::move(graph);
  }
  static std::string chosen(const ir::Graph& graph, Tiles tiles, int threads = 1) {
    auto regions = find_regions(graph, {.target = Target::kHost});
    EXPECT_EQ(regions.size(), 1U);
    choose_tiles(graph, regions, tiles, threads);
    EXPECT_TRUE(regions[0].kernel.ok());
    return regions[0].kernel->name;
  }
  // The file of a choice.
  static std::string text_of(const ir::Graph& graph, int number) {
    const auto regions = find_regions(graph, {.target = Target::kHost});
    const Region region = region_of(graph, regions[0].nodes, Target::kHost, {.tiles = number});
    return "tiles " + std::to_string(number) + " " + region.kernel->name + "\n";
  }
  std::string kept() const {
    std::string found;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().extension() != ".tiles") continue;
      EXPECT_TRUE(found.empty());
      found = entry.path();
    }
    return found;
  }

  std::string before_, database_before_, folder_;
};

TEST_F(TileSearch, KeepsWhatItMeasured) {
  const ir::Graph graph = product();
  const std::string by_model = chosen(graph, Tiles::kModel);
  EXPECT_EQ(kept(), "");
  EXPECT_EQ(chosen(graph, Tiles::kKept), by_model);  // nothing was measured
  EXPECT_EQ(kept(), "");
  const std::string measured = chosen(graph, Tiles::kMeasured);
  const std::string file = kept();
  ASSERT_NE(file, "");
  EXPECT_NE(file.find(by_model), std::string::npos);
  const auto text = base::read_file(file, 4096);
  ASSERT_TRUE(text.ok());
  EXPECT_TRUE(text->starts_with("tiles ")) << *text;
  const auto written = fs::last_write_time(file);
  EXPECT_EQ(chosen(graph, Tiles::kMeasured), measured);
  EXPECT_EQ(chosen(graph, Tiles::kKept), measured);
  EXPECT_EQ(fs::last_write_time(file), written);
  EXPECT_EQ(chosen(graph, Tiles::kModel), by_model);
}

TEST_F(TileSearch, TakesAKeptChoiceAndIgnoresADamagedOne) {
  const ir::Graph graph = product();
  const std::string by_model = chosen(graph, Tiles::kModel);
  (void)chosen(graph, Tiles::kMeasured);
  const std::string file = kept();
  ASSERT_NE(file, "");
  ASSERT_TRUE(base::write_file(file, text_of(graph, 2)).ok());
  EXPECT_NE(chosen(graph, Tiles::kKept), by_model);
  // The last one is of another ranking, in which these tiles had another number.
  const std::string third = text_of(graph, 3);
  for (const std::string& damaged :
       {std::string(), std::string("tiles"), std::string("tiles -1"), std::string("tiles 100000"),
        std::string("nothing 2"), std::string("tiles 2"), "tiles 2" + third.substr(7)}) {
    ASSERT_TRUE(base::write_file(file, damaged).ok());
    EXPECT_EQ(chosen(graph, Tiles::kKept), by_model) << damaged;
  }
}

TEST_F(TileSearch, KeepsAChoiceForItsNumberOfThreads) {
  const ir::Graph graph = product();
  const std::string by_model = chosen(graph, Tiles::kModel);
  (void)chosen(graph, Tiles::kMeasured, 1);
  const std::string file = kept();
  ASSERT_NE(file, "");
  ASSERT_TRUE(base::write_file(file, text_of(graph, 2)).ok());
  EXPECT_NE(chosen(graph, Tiles::kKept, 1), by_model);
  EXPECT_EQ(chosen(graph, Tiles::kKept, 2), by_model);
  ASSERT_TRUE(fs::remove(file));
  (void)chosen(graph, Tiles::kMeasured, 2);
  EXPECT_NE(kept(), "");
  EXPECT_NE(kept(), file);
}

TEST_F(TileSearch, KeepsTimesInTheDatabaseOfCosts) {
  const ir::Graph graph = product();
  const std::string by_model = chosen(graph, Tiles::kModel);
  const std::string measured = chosen(graph, Tiles::kMeasured);
  const auto database = cost::open_database_to_read("");
  ASSERT_TRUE(database.ok()) << database.status().message();
  const auto rows = (*database)->rows();
  ASSERT_TRUE(rows.ok());
  ASSERT_GE(rows->size(), 2U);
  for (const cost::Database::Row& row : *rows) {
    EXPECT_TRUE(row.machine.starts_with("emitted kernels / ")) << row.machine;
    EXPECT_TRUE(
        row.key.starts_with("emitted matmul(f32[40,70], f32[70,90]) " + by_model + " tiles "))
        << row.key;
    EXPECT_GT(row.entry.runs, 0);
    EXPECT_GT(row.entry.median_s, 0);
  }
  // Another cache takes the choice from there. Nothing is timed again.
  const std::string file = kept();
  ASSERT_TRUE(fs::remove(file));
  EXPECT_EQ(chosen(graph, Tiles::kMeasured), measured);
  const auto text = base::read_file(file, 4096);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->find("seconds"), std::string::npos) << *text;
}

TEST_F(TileSearch, ComputesTheSameInTheChosenTiles) {
  const ir::Graph graph = product();
  base::Random random(5);
  std::vector<ir::Tensor> inputs;
  for (const ir::NodeId id : graph.inputs())
    inputs.push_back(ir::Tensor::random(graph.node(id).type, random));
  const auto expected = ir::interpret(graph, inputs);
  ASSERT_TRUE(expected.ok());
  for (const Backend* backend : all_backends()) {
    if (backend->name() != "codegen") continue;
    ::setenv("EGRET_TILES", "measured", 1);
    const auto plan = backend->compile(graph, {.threads = 1});
    ::unsetenv("EGRET_TILES");
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    ASSERT_NE(kept(), "");
    const auto outputs = (*plan)->run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    EXPECT_EQ(difference((*outputs)[0], (*expected)[0], 2e-5), "");
  }
}

}  // namespace
}  // namespace egret::backends::codegen
