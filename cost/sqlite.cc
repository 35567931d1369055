// SPDX-License-Identifier: Apache-2.0
#include "cost/sqlite.h"

#include <limits>

namespace egret::cost {

base::Status sqlite_error(sqlite3* db, std::string_view doing) {
  const char* name = sqlite3_db_filename(db, "main");
  const std::string file =
      name != nullptr && *name != 0 ? "'" + std::string(name) + "'" : "in memory";
  const std::string reason = sqlite3_errmsg(db);
  switch (sqlite3_errcode(db)) {
    case SQLITE_NOMEM: return base::limit_hit("the cost database " + file + ": not enough memory");
    case SQLITE_NOTADB:
      return base::bad_input(file + " is not a cost database (" + reason + "); " + kOtherDatabase);
    case SQLITE_CORRUPT:
      return base::bad_input("the cost database " + file + " is damaged (" + reason + "); " +
                             kOtherDatabase);
    default:
      return base::unavailable("cost database " + file + ": " + std::string(doing) + ": " + reason);
  }
}

base::Status execute(sqlite3* db, const char* sql) {
  return sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK ? base::ok()
                                                                       : sqlite_error(db, sql);
}

std::string SqlRow::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text != nullptr ? text : "";
}

// A value that is no number reads as NaN, which the checks of the database refuse. SQLite itself
// would convert a text to 0.
double SqlRow::real(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  return type == SQLITE_FLOAT || type == SQLITE_INTEGER ? sqlite3_column_double(statement_, column)
                                                        : std::numeric_limits<double>::quiet_NaN();
}

base::Result<Statement> Statement::prepare(sqlite3* db, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(db, sql, -1, &raw, nullptr) != SQLITE_OK) return sqlite_error(db, sql);
  Statement statement;
  statement.statement_.reset(raw);
  return statement;
}

void Statement::bind(int at, std::string_view text) {
  sqlite3_bind_text(statement_.get(), at, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
}

base::Status Statement::finish(int step, std::string_view doing) {
  base::Status status =
      step == SQLITE_DONE ? base::ok() : sqlite_error(sqlite3_db_handle(statement_.get()), doing);
  sqlite3_reset(statement_.get());
  return status;
}

base::Result<Transaction> Transaction::begin(sqlite3* db) {
  EGRET_RETURN_IF_ERROR(execute(db, "BEGIN IMMEDIATE"));
  return Transaction(db);
}

base::Status Transaction::commit() {
  EGRET_RETURN_IF_ERROR(execute(open_.get(), "COMMIT"));
  open_.release();
  return base::ok();
}

void Transaction::RollBack::operator()(sqlite3* db) const {
  sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace egret::cost
