// SPDX-License-Identifier: Apache-2.0
// Statements of SQLite: their parameters, the rows that they give, and what errors say.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status.h"

namespace egret::cost {

struct CloseConnection {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
using Connection = std::unique_ptr<sqlite3, CloseConnection>;

// What to do about a database that cannot be used.
inline constexpr const char* kOtherDatabase = "move it away or name another with --cost-db";

// What was being done, and why the last call failed: bad_input for a file that is damaged or no
// database, else unavailable.
base::Status sqlite_error(sqlite3* db, std::string_view doing);
base::Status execute(sqlite3* db, const char* sql);

// One row of a query; columns count from 0.
class SqlRow {
 public:
  explicit SqlRow(sqlite3_stmt* statement) : statement_(statement) {}
  std::string text(int column) const;
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  // NaN for what is no number.
  double real(int column) const;

 private:
  sqlite3_stmt* statement_;
};

// A prepared statement; it may run any number of times, each with all its parameters.
class Statement {
 public:
  Statement() = default;
  static base::Result<Statement> prepare(sqlite3* db, const char* sql);

  // For what has no rows. `doing` is for errors: "writing".
  template <typename... Parameters>
  base::Status run(std::string_view doing, const Parameters&... parameters) {
    bind_all(parameters...);
    return finish(sqlite3_step(statement_.get()), doing);
  }

  // read(SqlRow) of each row.
  template <typename Read, typename... Parameters>
  auto all(std::string_view doing, const Read& read, const Parameters&... parameters)
      -> base::Result<std::vector<std::invoke_result_t<Read, SqlRow>>> {
    bind_all(parameters...);
    std::vector<std::invoke_result_t<Read, SqlRow>> rows;
    int step = 0;
    while ((step = sqlite3_step(statement_.get())) == SQLITE_ROW)
      rows.push_back(read(SqlRow(statement_.get())));
    EGRET_RETURN_IF_ERROR(finish(step, doing));
    return rows;
  }

  // read(SqlRow) of the first row, where there is one.
  template <typename Read, typename... Parameters>
  auto first(std::string_view doing, const Read& read, const Parameters&... parameters)
      -> base::Result<std::optional<std::invoke_result_t<Read, SqlRow>>> {
    bind_all(parameters...);
    std::optional<std::invoke_result_t<Read, SqlRow>> row;
    const int step = sqlite3_step(statement_.get());
    if (step == SQLITE_ROW) row = read(SqlRow(statement_.get()));
    EGRET_RETURN_IF_ERROR(finish(step == SQLITE_ROW ? SQLITE_DONE : step, doing));
    return row;
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  template <typename... Parameters>
  void bind_all(const Parameters&... parameters) {
    int at = 0;
    (bind(++at, parameters), ...);
  }
  void bind(int at, std::string_view text);
  void bind(int at, std::int64_t number) { sqlite3_bind_int64(statement_.get(), at, number); }
  void bind(int at, double number) { sqlite3_bind_double(statement_.get(), at, number); }
  // Makes the statement ready for the next time; an error unless the last step was the end.
  base::Status finish(int step, std::string_view doing);

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Holds while it lives; undone unless it was committed.
class Transaction {
 public:
  static base::Result<Transaction> begin(sqlite3* db);
  base::Status commit();

 private:
  struct RollBack {
    void operator()(sqlite3* db) const;
  };
  explicit Transaction(sqlite3* db) : open_(db) {}
  std::unique_ptr<sqlite3, RollBack> open_;
};

}  // namespace egret::cost
