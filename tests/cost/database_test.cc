// SPDX-License-Identifier: Apache-2.0
#include "cost/database.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cost/profiled.h"

namespace egret::cost {
namespace {

class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / (std::string("egret_") + info->name());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return (folder_ / "costs.sqlite").string(); }

  std::filesystem::path folder_;
};

TEST_F(DatabaseTest, KeepsEntriesPerMachine) {
  {
    auto db = Database::open(path());
    ASSERT_TRUE(db.ok()) << db.status().message();
    ASSERT_TRUE(
        (*db)
            ->store("m1", "relu(f32[8])", {.runs = 3, .median_s = 2e-6, .deviation_s = 1e-7})
            .ok());
  }
  auto db = Database::open(path());
  ASSERT_TRUE(db.ok());
  const auto found = (*db)->find("m1", "relu(f32[8])");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->runs, 3);
  EXPECT_DOUBLE_EQ((*found)->median_s, 2e-6);
  EXPECT_FALSE((*db)->find("m2", "relu(f32[8])")->has_value());
}

TEST_F(DatabaseTest, RefusesAFileThatIsNoDatabase) {
  std::filesystem::create_directories(folder_);
  std::ofstream(path()) << "not a database, and longer than a header of one hundred bytes: "
                        << std::string(200, 'x');
  const auto db = Database::open(path());
  ASSERT_FALSE(db.ok());
  EXPECT_EQ(db.status().code(), base::StatusCode::kBadInput);
  EXPECT_NE(db.status().message().find(path()), std::string::npos);
}

TEST_F(DatabaseTest, MergingAddsWhatIsMissingOnly) {
  auto mine = Database::open(":memory:");
  auto theirs = Database::open(":memory:");
  ASSERT_TRUE((*mine)->store("m", "a", {.runs = 1, .median_s = 1}).ok());
  ASSERT_TRUE((*theirs)->store("m", "a", {.runs = 1, .median_s = 2}).ok());
  ASSERT_TRUE((*theirs)->store("m", "b", {.runs = 1, .median_s = 3}).ok());
  const auto added = (*mine)->merge_from(**theirs);
  ASSERT_TRUE(added.ok()) << added.status().message();
  EXPECT_EQ(*added, 1);
  EXPECT_DOUBLE_EQ((*(*mine)->find("m", "a"))->median_s, 1);
  EXPECT_EQ((*mine)->rows()->size(), 2U);
}

TEST_F(DatabaseTest, ProfiledModelMeasuresOnce) {
  auto db = Database::open(":memory:");
  ProfiledModel model(**db, "m", Rates{});
  const ir::TensorType type(ir::DType::kF32, {1000});
  const ir::Attrs attrs;
  const bool constant[] = {false};
  const Query query{.op = &ir::get_operator("relu"),
                    .attrs = &attrs,
                    .inputs = {&type, 1},
                    .constant = constant,
                    .output = &type};
  EXPECT_FALSE(model.cost(query)->measured);
  int calls = 0;
  const auto measure = [&](const Query&) -> base::Result<Entry> {
    ++calls;
    return Entry{.runs = 1, .median_s = 0.25};
  };
  EXPECT_TRUE(*model.profile(query, measure));
  EXPECT_FALSE(*model.profile(query, measure));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(model.cost(query)->measured);
  EXPECT_DOUBLE_EQ(model.cost(query)->seconds, 0.25);
}

TEST(Model, ConstantsAndViewsAreFree) {
  auto model = make_model("roofline", Rates{});
  const ir::TensorType type(ir::DType::kF32, {1000});
  const ir::Attrs attrs;
  const bool constant[] = {true};
  const bool variable[] = {false};
  Query query{.op = &ir::get_operator("relu"),
              .attrs = &attrs,
              .inputs = {&type, 1},
              .constant = constant,
              .output = &type};
  EXPECT_EQ(model->cost(query)->seconds, 0);
  query.constant = variable;
  EXPECT_GT(model->cost(query)->seconds, 0);
}

}  // namespace
}  // namespace egret::cost
