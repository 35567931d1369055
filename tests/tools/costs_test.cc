// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "cost/database.h"
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

}  // namespace
}  // namespace egret::tools
