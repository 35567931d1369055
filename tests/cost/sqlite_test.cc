// SPDX-License-Identifier: Apache-2.0
#include "cost/sqlite.h"

#include <gtest/gtest.h>

namespace egret::cost {
namespace {

class Sqlite : public testing::Test {
 protected:
  Sqlite() {
    sqlite3* raw = nullptr;
    EXPECT_EQ(sqlite3_open(":memory:", &raw), SQLITE_OK);
    db_.reset(raw);
    EXPECT_TRUE(execute(raw, "CREATE TABLE birds (name TEXT PRIMARY KEY, eggs INTEGER)").ok());
  }

  Statement prepare(const char* sql) { return *Statement::prepare(db_.get(), sql); }

  std::int64_t count() {
    return **prepare("SELECT COUNT(*) FROM birds").first("counting", [](const SqlRow& row) {
      return row.integer(0);
    });
  }

  Connection db_;
};

TEST_F(Sqlite, StatementsRunAgainWithOtherParameters) {
  Statement insert = prepare("INSERT INTO birds VALUES (?1, ?2)");
  EXPECT_TRUE(insert.run("writing", "egret", std::int64_t{4}).ok());
  EXPECT_TRUE(insert.run("writing", "heron", std::int64_t{3}).ok());
  const auto name = [](const SqlRow& row) { return row.text(0); };
  const auto names = prepare("SELECT name FROM birds ORDER BY name").all("listing", name);
  ASSERT_TRUE(names.ok()) << names.status().message();
  EXPECT_EQ(*names, (std::vector<std::string>{"egret", "heron"}));

  Statement find = prepare("SELECT name FROM birds WHERE eggs >= ?1 ORDER BY name");
  EXPECT_EQ(find.first("reading", name, 3.5)->value(), "egret");
  EXPECT_FALSE(find.first("reading", name, 4.5)->has_value());
  EXPECT_EQ(find.all("listing", name, 2.5)->size(), 2U);
}

TEST_F(Sqlite, ErrorsSayWhatWasBeingDone) {
  Statement insert = prepare("INSERT INTO birds VALUES (?1, ?2)");
  EXPECT_TRUE(insert.run("writing", "egret", std::int64_t{4}).ok());
  const base::Status twice = insert.run("writing again", "egret", std::int64_t{5});
  EXPECT_EQ(twice.code(), base::StatusCode::kUnavailable);
  EXPECT_NE(twice.message().find("writing again: UNIQUE"), std::string::npos) << twice.message();
  EXPECT_TRUE(insert.run("writing", "heron", std::int64_t{3}).ok()) << "ready after an error";
  EXPECT_FALSE(Statement::prepare(db_.get(), "SELECT wings FROM birds").ok());
}

TEST_F(Sqlite, TransactionsThatAreNotCommittedAreUndone) {
  Statement insert = prepare("INSERT INTO birds VALUES (?1, ?2)");
  {
    auto given_up = Transaction::begin(db_.get());
    ASSERT_TRUE(given_up.ok());
    EXPECT_TRUE(insert.run("writing", "egret", std::int64_t{4}).ok());
  }
  EXPECT_EQ(count(), 0);
  auto kept = Transaction::begin(db_.get());
  ASSERT_TRUE(kept.ok()) << "the one before has ended";
  EXPECT_TRUE(insert.run("writing", "egret", std::int64_t{4}).ok());
  EXPECT_TRUE(kept->commit().ok());
  EXPECT_EQ(count(), 1);
}

}  // namespace
}  // namespace egret::cost
