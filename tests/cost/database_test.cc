// SPDX-License-Identifier: Apache-2.0
#include "cost/database.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/system/file.h"
#include "cost/database_file.h"
#include "cost/profiled.h"

namespace egret::cost {
namespace {

constexpr Rates kRates{
    .flops_per_second = 3e10, .bytes_per_second = 2e9, .seconds_per_kernel = 5e-6};

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

// Makes a closed database one of another version, which is a number in the header of the file
// (SQLite's file format, section 1.3), and takes its table of rates away, by another name of the
// same length.
void change_version(const std::string& path, char version) {
  auto bytes = base::read_file(path, 1 << 20);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  constexpr std::size_t kUserVersion = 63;  // its lowest byte
  ASSERT_EQ((*bytes)[kUserVersion], 4);
  (*bytes)[kUserVersion] = version;
  const std::string_view name = "rates";
  std::size_t found = 0;
  for (std::size_t at = 0; (at = bytes->find(name, at)) != std::string::npos; ++found)
    bytes->replace(at, name.size(), "ratez");
  ASSERT_GE(found, 3U);
  ASSERT_TRUE(base::write_file(path, *bytes).ok());
}

TEST_F(DatabaseTest, AFileOfTheEarlierVersionKeepsItsEntriesAndTakesRates) {
  {
    auto db = Database::open(path());
    ASSERT_TRUE((*db)->store("m", "a", {.runs = 3, .median_s = 0.5}).ok());
  }
  change_version(path(), 1);
  for (int opening = 0; opening < 2; ++opening) {
    auto db = Database::open(path());
    ASSERT_TRUE(db.ok()) << db.status().message();
    const auto found = (*db)->find("m", "a");
    ASSERT_TRUE(found.ok() && found->has_value());
    EXPECT_DOUBLE_EQ((*found)->median_s, 0.5);
    ASSERT_TRUE((*db)->store_rates("m", kRates).ok());
  }
}

// Version 3 had no column of marks.
TEST_F(DatabaseTest, AFileOfVersionThreeTakesMarks) {
  std::filesystem::create_directories(folder_);
  ASSERT_TRUE(Database::open(path()).ok());
  {
    const auto file = open_to_write(path());
    ASSERT_TRUE(file.ok());
    for (const char* const sql :
         {"DROP TABLE profile",
          "CREATE TABLE profile (machine TEXT NOT NULL, key TEXT NOT NULL, runs INTEGER NOT NULL,"
          " median_s REAL NOT NULL, deviation_s REAL NOT NULL, PRIMARY KEY (machine, key))"
          " WITHOUT ROWID",
          "INSERT INTO profile VALUES ('m', 'a', 3, 0.5, 0.1)", "PRAGMA user_version = 3"})
      ASSERT_TRUE(execute(file->get(), sql).ok()) << sql;
  }
  const auto read = Database::open_to_read(path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_DOUBLE_EQ((*(*read)->find("m", "a"))->median_s, 0.5);
  const auto db = Database::open(path());
  ASSERT_TRUE(db.ok()) << db.status().message();
  EXPECT_FALSE((*(*db)->find("m", "a"))->disturbed);
  ASSERT_TRUE((*db)->store("m", "b", {.runs = 1, .median_s = 1, .disturbed = true}).ok());
  EXPECT_TRUE((*(*db)->find("m", "b"))->disturbed);
}

TEST_F(DatabaseTest, DisturbedEntriesAreReplacedOnACalmMachine) {
  for (const bool calm : {false, true}) {
    auto db = Database::open(":memory:");
    ASSERT_TRUE((*db)->store("m", "a", {.runs = 1, .median_s = 9, .disturbed = true}).ok());
    ASSERT_TRUE((*db)->store("m", "b", {.runs = 1, .median_s = 1}).ok());
    EXPECT_EQ((*db)->stored_disturbed(), 1);
    int asked = 0;
    (*db)->replace_disturbed([&] {
      ++asked;
      return calm;
    });
    EXPECT_TRUE((*db)->find("m", "b")->has_value());
    EXPECT_EQ(asked, 0);
    for (int time = 0; time < 2; ++time) EXPECT_EQ((*db)->find("m", "a")->has_value(), !calm);
    EXPECT_EQ(asked, 1);
    ProfiledModel model(**db, "m", kRates);
    EXPECT_EQ((*db)->rows("m")->size(), 2U);
    ASSERT_TRUE((*db)->store("m", "a", {.runs = 1, .median_s = 2}).ok());
    EXPECT_DOUBLE_EQ((*(*db)->find("m", "a"))->median_s, 2);
  }
}

TEST_F(DatabaseTest, RemovesEntries) {
  auto db = Database::open(":memory:");
  const auto fill = [&] {
    for (const char* const machine : {"m", "n"}) {
      ASSERT_TRUE((*db)->store(machine, "a", {.runs = 1, .median_s = 1, .disturbed = true}).ok());
      ASSERT_TRUE((*db)->store(machine, "b", {.runs = 1, .median_s = 1}).ok());
      ASSERT_TRUE((*db)->store_rates(machine, kRates).ok());
    }
  };
  fill();
  EXPECT_EQ(*(*db)->remove("m", Database::Removal::kDisturbed), 1);
  EXPECT_EQ(*(*db)->remove("m", Database::Removal::kAll), 1);
  ASSERT_TRUE((*db)->remove_rates("m").ok());
  EXPECT_TRUE((*db)->rows("m")->empty());
  EXPECT_FALSE((*db)->find_rates("m")->has_value());
  EXPECT_EQ((*db)->rows("n")->size(), 2U);
  EXPECT_TRUE((*db)->find_rates("n")->has_value());
  fill();
  EXPECT_EQ(*(*db)->remove("", Database::Removal::kDisturbed), 2);
  EXPECT_EQ(*(*db)->remove("", Database::Removal::kAll), 2);
}

TEST_F(DatabaseTest, MergingReplacesDisturbedEntries) {
  auto mine = Database::open(":memory:"), theirs = Database::open(":memory:");
  ASSERT_TRUE((*mine)->store("m", "a", {.runs = 1, .median_s = 9, .disturbed = true}).ok());
  ASSERT_TRUE((*mine)->store("m", "b", {.runs = 1, .median_s = 9, .disturbed = true}).ok());
  ASSERT_TRUE((*theirs)->store("m", "a", {.runs = 1, .median_s = 2}).ok());
  ASSERT_TRUE((*theirs)->store("m", "b", {.runs = 1, .median_s = 8, .disturbed = true}).ok());
  EXPECT_EQ(*(*mine)->merge_from(**theirs), 1);
  EXPECT_DOUBLE_EQ((*(*mine)->find("m", "a"))->median_s, 2);
  EXPECT_DOUBLE_EQ((*(*mine)->find("m", "b"))->median_s, 9);
}

TEST_F(DatabaseTest, RefusesAFileOfALaterVersion) {
  ASSERT_TRUE(Database::open(path()).ok());
  change_version(path(), 99);
  const auto opened = Database::open(path());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().message().find("version 99"), std::string::npos);
}

TEST_F(DatabaseTest, KeepsRatesPerMachine) {
  {
    auto db = Database::open(path());
    EXPECT_FALSE((*db)->find_rates("m")->has_value());
    ASSERT_TRUE((*db)->store_rates("m", kRates).ok());
  }
  auto db = Database::open(path());
  const auto found = (*db)->find_rates("m");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_DOUBLE_EQ((*found)->flops_per_second, 3e10);
  EXPECT_DOUBLE_EQ((*found)->bytes_per_second, 2e9);
  EXPECT_DOUBLE_EQ((*found)->seconds_per_kernel, 5e-6);
  EXPECT_FALSE((*db)->find_rates("n")->has_value());
}

TEST_F(DatabaseTest, KeepsNotesBesideTheTimes) {
  std::string before;
  {
    auto db = Database::open(path());
    before = *(*db)->content_hash("m");
    EXPECT_FALSE((*db)->find_note("a")->has_value());
    ASSERT_TRUE((*db)->store_note("a", "earlier").ok());
    ASSERT_TRUE((*db)->store_note("a", "later").ok());
    ASSERT_TRUE((*db)->store_note("b", "").ok());
  }
  auto db = Database::open(path());
  EXPECT_EQ(**(*db)->find_note("a"), "later");
  EXPECT_EQ(**(*db)->find_note("b"), "");
  EXPECT_FALSE((*db)->find_note("c")->has_value());
  EXPECT_EQ(*(*db)->content_hash("m"), before);
  EXPECT_TRUE((*db)->machines()->empty());
}

TEST_F(DatabaseTest, MergingAddsRatesThatAreMissing) {
  auto mine = Database::open(":memory:");
  auto theirs = Database::open(":memory:");
  const Rates other{.flops_per_second = 1, .bytes_per_second = 1, .seconds_per_kernel = 1};
  ASSERT_TRUE((*mine)->store_rates("m", kRates).ok());
  ASSERT_TRUE((*theirs)->store_rates("m", other).ok());
  ASSERT_TRUE((*theirs)->store_rates("n", other).ok());
  ASSERT_TRUE((*mine)->merge_from(**theirs).ok());
  EXPECT_DOUBLE_EQ((*(*mine)->find_rates("m"))->flops_per_second, 3e10);
  EXPECT_DOUBLE_EQ((*(*mine)->find_rates("n"))->flops_per_second, 1);
}

TEST_F(DatabaseTest, RatesAreInTheContentHash) {
  auto db = Database::open(":memory:");
  ASSERT_TRUE((*db)->store("m", "a", {.runs = 1, .median_s = 1}).ok());
  const std::string before = *(*db)->content_hash("m");
  ASSERT_TRUE((*db)->store_rates("m", kRates).ok());
  const std::string with_rates = *(*db)->content_hash("m");
  EXPECT_NE(before, with_rates);
  Rates faster = kRates;
  faster.bytes_per_second *= 2;
  ASSERT_TRUE((*db)->store_rates("m", faster).ok());
  EXPECT_NE(*(*db)->content_hash("m"), with_rates);
}

TEST_F(DatabaseTest, CountsEntriesByMachine) {
  auto db = Database::open(":memory:");
  for (const std::string_view key : {"a", "b"})
    ASSERT_TRUE((*db)->store("n", key, {.runs = 1, .median_s = 1}).ok());
  ASSERT_TRUE((*db)->store("m", "a", {.runs = 1, .median_s = 1}).ok());
  const auto machines = (*db)->machines();
  ASSERT_TRUE(machines.ok());
  ASSERT_EQ(machines->size(), 2U);
  EXPECT_EQ((*machines)[0].machine, "m");
  EXPECT_EQ((*machines)[0].entries, 1);
  EXPECT_EQ((*machines)[1].entries, 2);
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
  EXPECT_FALSE(model.cost(query)->measured());
  int calls = 0;
  const auto measure = [&](const Query&) -> base::Result<Entry> {
    ++calls;
    return Entry{.runs = 1, .median_s = 0.25};
  };
  EXPECT_TRUE(*model.profile(query, measure));
  EXPECT_FALSE(*model.profile(query, measure));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(model.cost(query)->measured());
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
