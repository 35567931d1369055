// SPDX-License-Identifier: Apache-2.0
#include "cost/database.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/hash.h"

namespace egret::cost {
namespace {

constexpr int kVersion = 3;  // 1 had no rates, 2 no notes
constexpr int kBusyMilliseconds = 5000;

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS profile ("
    "  machine TEXT NOT NULL, key TEXT NOT NULL, runs INTEGER NOT NULL,"
    "  median_s REAL NOT NULL, deviation_s REAL NOT NULL,"
    "  PRIMARY KEY (machine, key)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS rates ("
    "  machine TEXT NOT NULL PRIMARY KEY, flops_per_second REAL NOT NULL,"
    "  bytes_per_second REAL NOT NULL, seconds_per_kernel REAL NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS notes (key TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL)";

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Connection = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

base::Status error(sqlite3* db, std::string_view doing) {
  return base::unavailable("cost database: " + std::string(doing) + ": " + sqlite3_errmsg(db));
}

base::Status execute(sqlite3* db, const char* sql) {
  return sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK ? base::ok()
                                                                       : error(db, sql);
}

void bind(sqlite3_stmt* statement, int at, std::string_view text) {
  sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

std::string text_at(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return text != nullptr ? text : "";
}

Entry entry_at(sqlite3_stmt* statement, int first_column) {
  return {.runs = sqlite3_column_int64(statement, first_column),
          .median_s = sqlite3_column_double(statement, first_column + 1),
          .deviation_s = sqlite3_column_double(statement, first_column + 2)};
}

Rates rates_at(sqlite3_stmt* statement, int first_column) {
  return {.flops_per_second = sqlite3_column_double(statement, first_column),
          .bytes_per_second = sqlite3_column_double(statement, first_column + 1),
          .seconds_per_kernel = sqlite3_column_double(statement, first_column + 2)};
}

base::Result<Statement> prepare(sqlite3* db, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(db, sql, -1, &raw, nullptr) != SQLITE_OK) return error(db, sql);
  return Statement(raw);
}

base::Result<int> version_of(sqlite3* db, const std::string& path) {
  EGRET_ASSIGN_OR_RETURN(const Statement query, prepare(db, "PRAGMA user_version"));
  if (sqlite3_step(query.get()) != SQLITE_ROW) {
    return base::bad_input("'" + path + "' is not a cost database (" + sqlite3_errmsg(db) +
                           "); move it away or name another with --cost-db");
  }
  return sqlite3_column_int(query.get(), 0);
}

// Files of later versions are left alone. Fresh ones (version 0) and earlier ones get the tables
// that they lack, which is all that versions differ by so far, and then our version.
base::Status bring_to_version(sqlite3* db, const std::string& path) {
  EGRET_ASSIGN_OR_RETURN(const int version, version_of(db, path));
  if (version > kVersion) {
    return base::bad_input("'" + path + "' is a cost database of version " +
                           std::to_string(version) + ", this program writes version " +
                           std::to_string(kVersion) +
                           "; move it away or name another with --cost-db");
  }
  if (version == kVersion) return base::ok();
  EGRET_RETURN_IF_ERROR(execute(db, "PRAGMA journal_mode = WAL"));
  EGRET_RETURN_IF_ERROR(execute(db, kSchema));
  return execute(db, ("PRAGMA user_version = " + std::to_string(kVersion)).c_str());
}

}  // namespace

struct Database::Impl {
  Connection db;
  Statement find;
  Statement store;
};

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::~Database() = default;

base::Result<std::unique_ptr<Database>> Database::open(const std::string& path) {
  if (path != ":memory:") {
    std::error_code ignored;  // sqlite3_open reports what matters
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  }
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(path.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  auto impl = std::make_unique<Impl>();
  impl->db.reset(raw);
  if (opened != SQLITE_OK) return error(raw, "cannot open '" + path + "'");
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  EGRET_RETURN_IF_ERROR(bring_to_version(raw, path));
  EGRET_RETURN_IF_ERROR(execute(raw, "PRAGMA synchronous = NORMAL"));
  EGRET_ASSIGN_OR_RETURN(
      impl->find,
      prepare(raw,
              "SELECT runs, median_s, deviation_s FROM profile WHERE machine = ?1 AND key = ?2"));
  EGRET_ASSIGN_OR_RETURN(
      impl->store, prepare(raw, "INSERT OR REPLACE INTO profile VALUES (?1, ?2, ?3, ?4, ?5)"));
  return std::unique_ptr<Database>(new Database(std::move(impl)));
}

base::Result<std::optional<Entry>> Database::find(std::string_view machine,
                                                  std::string_view key) const {
  sqlite3_stmt* query = impl_->find.get();
  bind(query, 1, machine);
  bind(query, 2, key);
  const int step = sqlite3_step(query);
  std::optional<Entry> found;
  if (step == SQLITE_ROW) found = entry_at(query, 0);
  sqlite3_reset(query);
  if (step != SQLITE_ROW && step != SQLITE_DONE) return error(impl_->db.get(), "reading");
  return found;
}

base::Status Database::store(std::string_view machine, std::string_view key, const Entry& entry) {
  sqlite3_stmt* insert = impl_->store.get();
  bind(insert, 1, machine);
  bind(insert, 2, key);
  sqlite3_bind_int64(insert, 3, entry.runs);
  sqlite3_bind_double(insert, 4, entry.median_s);
  sqlite3_bind_double(insert, 5, entry.deviation_s);
  const int step = sqlite3_step(insert);
  sqlite3_reset(insert);
  return step == SQLITE_DONE ? base::ok() : error(impl_->db.get(), "writing");
}

base::Result<std::vector<Database::Row>> Database::rows(std::string_view machine) const {
  EGRET_ASSIGN_OR_RETURN(const Statement query,
                         prepare(impl_->db.get(),
                                 "SELECT machine, key, runs, median_s, deviation_s FROM profile "
                                 "WHERE ?1 = '' OR machine = ?1 ORDER BY machine, key"));
  bind(query.get(), 1, machine);
  std::vector<Row> result;
  int step = 0;
  while ((step = sqlite3_step(query.get())) == SQLITE_ROW) {
    result.push_back({text_at(query.get(), 0), text_at(query.get(), 1), entry_at(query.get(), 2)});
  }
  if (step != SQLITE_DONE) return error(impl_->db.get(), "listing");
  return result;
}

base::Result<std::optional<Rates>> Database::find_rates(std::string_view machine) const {
  EGRET_ASSIGN_OR_RETURN(const std::vector<RatesRow> all, rates());
  const auto found = std::ranges::find(all, machine, &RatesRow::machine);
  return found != all.end() ? std::optional(found->rates) : std::nullopt;
}

base::Status Database::store_rates(std::string_view machine, const Rates& rates) {
  EGRET_ASSIGN_OR_RETURN(
      const Statement insert,
      prepare(impl_->db.get(), "INSERT OR REPLACE INTO rates VALUES (?1, ?2, ?3, ?4)"));
  bind(insert.get(), 1, machine);
  sqlite3_bind_double(insert.get(), 2, rates.flops_per_second);
  sqlite3_bind_double(insert.get(), 3, rates.bytes_per_second);
  sqlite3_bind_double(insert.get(), 4, rates.seconds_per_kernel);
  return sqlite3_step(insert.get()) == SQLITE_DONE ? base::ok()
                                                   : error(impl_->db.get(), "writing rates");
}

base::Result<std::vector<Database::RatesRow>> Database::rates() const {
  EGRET_ASSIGN_OR_RETURN(
      const Statement query,
      prepare(impl_->db.get(),
              "SELECT machine, flops_per_second, bytes_per_second, seconds_per_kernel FROM rates "
              "ORDER BY machine"));
  std::vector<RatesRow> result;
  int step = 0;
  while ((step = sqlite3_step(query.get())) == SQLITE_ROW)
    result.push_back({text_at(query.get(), 0), rates_at(query.get(), 1)});
  if (step != SQLITE_DONE) return error(impl_->db.get(), "listing rates");
  return result;
}

base::Result<std::optional<std::string>> Database::find_note(std::string_view key) const {
  EGRET_ASSIGN_OR_RETURN(const Statement query,
                         prepare(impl_->db.get(), "SELECT text FROM notes WHERE key = ?1"));
  bind(query.get(), 1, key);
  const int step = sqlite3_step(query.get());
  if (step == SQLITE_ROW) return std::optional(text_at(query.get(), 0));
  if (step != SQLITE_DONE) return error(impl_->db.get(), "reading a note");
  return std::optional<std::string>{};
}

base::Status Database::store_note(std::string_view key, std::string_view text) {
  EGRET_ASSIGN_OR_RETURN(const Statement insert,
                         prepare(impl_->db.get(), "INSERT OR REPLACE INTO notes VALUES (?1, ?2)"));
  bind(insert.get(), 1, key);
  bind(insert.get(), 2, text);
  return sqlite3_step(insert.get()) == SQLITE_DONE ? base::ok()
                                                   : error(impl_->db.get(), "writing a note");
}

base::Result<std::vector<Database::MachineRow>> Database::machines() const {
  EGRET_ASSIGN_OR_RETURN(
      const Statement query,
      prepare(impl_->db.get(),
              "SELECT machine, COUNT(*) FROM profile GROUP BY machine ORDER BY machine"));
  std::vector<MachineRow> result;
  int step = 0;
  while ((step = sqlite3_step(query.get())) == SQLITE_ROW)
    result.push_back({text_at(query.get(), 0), sqlite3_column_int64(query.get(), 1)});
  if (step != SQLITE_DONE) return error(impl_->db.get(), "listing machines");
  return result;
}

base::Result<std::int64_t> Database::merge_from(const Database& other) {
  EGRET_ASSIGN_OR_RETURN(const std::vector<Row> theirs, other.rows());
  EGRET_ASSIGN_OR_RETURN(const std::vector<RatesRow> their_rates, other.rates());
  std::int64_t added = 0;
  EGRET_RETURN_IF_ERROR(execute(impl_->db.get(), "BEGIN IMMEDIATE"));
  for (const Row& row : theirs) {
    EGRET_ASSIGN_OR_RETURN(const std::optional<Entry> mine, find(row.machine, row.key));
    if (mine) continue;
    EGRET_RETURN_IF_ERROR(store(row.machine, row.key, row.entry));
    ++added;
  }
  for (const RatesRow& row : their_rates) {
    EGRET_ASSIGN_OR_RETURN(const std::optional<Rates> mine, find_rates(row.machine));
    if (!mine) EGRET_RETURN_IF_ERROR(store_rates(row.machine, row.rates));
  }
  EGRET_RETURN_IF_ERROR(execute(impl_->db.get(), "COMMIT"));
  return added;
}

base::Result<std::string> Database::content_hash(std::string_view machine) const {
  EGRET_ASSIGN_OR_RETURN(const std::vector<Row> all, rows(machine));
  std::string text;
  for (const Row& row : all) {
    text += row.key + '\n' + std::to_string(row.entry.runs) + ' ' +
            std::to_string(row.entry.median_s * 1e9) + '\n';
  }
  EGRET_ASSIGN_OR_RETURN(const std::optional<Rates> rates, find_rates(machine));
  if (rates) {
    text += "rates " + std::to_string(rates->flops_per_second) + ' ' +
            std::to_string(rates->bytes_per_second) + ' ' +
            std::to_string(rates->seconds_per_kernel * 1e9) + '\n';
  }
  return base::content_hash(text).to_hex();
}

std::string default_database_path() {
  const char* path = std::getenv("EGRET_COST_DB");
  if (path != nullptr && *path != 0) return path;
  return base::cache_folder() + "/costs.sqlite";
}

base::Result<std::unique_ptr<Database>> open_database(const std::string& path) {
  return Database::open(path.empty() ? default_database_path() : path);
}

}  // namespace egret::cost
