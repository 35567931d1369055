// SPDX-License-Identifier: Apache-2.0
#include "cost/database.h"

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/hash.h"
#include "cost/sqlite.h"

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

Entry entry_of(const SqlRow& row, int first_column) {
  return {.runs = row.integer(first_column),
          .median_s = row.real(first_column + 1),
          .deviation_s = row.real(first_column + 2)};
}

Rates rates_of(const SqlRow& row, int first_column) {
  return {.flops_per_second = row.real(first_column),
          .bytes_per_second = row.real(first_column + 1),
          .seconds_per_kernel = row.real(first_column + 2)};
}

base::Result<std::int64_t> version_of(sqlite3* db, const std::string& path) {
  EGRET_ASSIGN_OR_RETURN(Statement query, Statement::prepare(db, "PRAGMA user_version"));
  const auto version = query.first("reading", [](const SqlRow& row) { return row.integer(0); });
  if (!version.ok() || !version->has_value()) {
    return base::bad_input("'" + path + "' is not a cost database (" + sqlite3_errmsg(db) +
                           "); move it away or name another with --cost-db");
  }
  return **version;
}

// Files of later versions are left alone. Fresh ones (version 0) and earlier ones get the tables
// that they lack, which is all that versions differ by so far, and then our version.
base::Status bring_to_version(sqlite3* db, const std::string& path) {
  EGRET_ASSIGN_OR_RETURN(const std::int64_t version, version_of(db, path));
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

  base::Result<Statement> prepare(const char* sql) const {
    return Statement::prepare(db.get(), sql);
  }
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
  if (opened != SQLITE_OK) return sqlite_error(raw, "cannot open '" + path + "'");
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  EGRET_RETURN_IF_ERROR(bring_to_version(raw, path));
  EGRET_RETURN_IF_ERROR(execute(raw, "PRAGMA synchronous = NORMAL"));
  EGRET_ASSIGN_OR_RETURN(
      impl->find,
      impl->prepare(
          "SELECT runs, median_s, deviation_s FROM profile WHERE machine = ?1 AND key = ?2"));
  EGRET_ASSIGN_OR_RETURN(
      impl->store, impl->prepare("INSERT OR REPLACE INTO profile VALUES (?1, ?2, ?3, ?4, ?5)"));
  return std::unique_ptr<Database>(new Database(std::move(impl)));
}

base::Result<std::optional<Entry>> Database::find(std::string_view machine,
                                                  std::string_view key) const {
  return impl_->find.first(
      "reading", [](const SqlRow& row) { return entry_of(row, 0); }, machine, key);
}

base::Status Database::store(std::string_view machine, std::string_view key, const Entry& entry) {
  return impl_->store.run("writing", machine, key, entry.runs, entry.median_s, entry.deviation_s);
}

base::Result<std::vector<Database::Row>> Database::rows(std::string_view machine) const {
  EGRET_ASSIGN_OR_RETURN(
      Statement query,
      impl_->prepare("SELECT machine, key, runs, median_s, deviation_s FROM profile "
                     "WHERE ?1 = '' OR machine = ?1 ORDER BY machine, key"));
  return query.all(
      "listing",
      [](const SqlRow& row) {
        return Row{row.text(0), row.text(1), entry_of(row, 2)};
      },
      machine);
}

base::Result<std::optional<Rates>> Database::find_rates(std::string_view machine) const {
  EGRET_ASSIGN_OR_RETURN(
      Statement query,
      impl_->prepare("SELECT flops_per_second, bytes_per_second, seconds_per_kernel FROM rates "
                     "WHERE machine = ?1"));
  return query.first(
      "reading rates", [](const SqlRow& row) { return rates_of(row, 0); }, machine);
}

base::Status Database::store_rates(std::string_view machine, const Rates& rates) {
  EGRET_ASSIGN_OR_RETURN(Statement insert,
                         impl_->prepare("INSERT OR REPLACE INTO rates VALUES (?1, ?2, ?3, ?4)"));
  return insert.run("writing rates", machine, rates.flops_per_second, rates.bytes_per_second,
                    rates.seconds_per_kernel);
}

base::Result<std::vector<Database::RatesRow>> Database::rates() const {
  EGRET_ASSIGN_OR_RETURN(
      Statement query,
      impl_->prepare("SELECT machine, flops_per_second, bytes_per_second, seconds_per_kernel "
                     "FROM rates ORDER BY machine"));
  return query.all("listing rates", [](const SqlRow& row) {
    return RatesRow{row.text(0), rates_of(row, 1)};
  });
}

base::Result<std::optional<std::string>> Database::find_note(std::string_view key) const {
  EGRET_ASSIGN_OR_RETURN(Statement query, impl_->prepare("SELECT text FROM notes WHERE key = ?1"));
  return query.first(
      "reading a note", [](const SqlRow& row) { return row.text(0); }, key);
}

base::Status Database::store_note(std::string_view key, std::string_view text) {
  EGRET_ASSIGN_OR_RETURN(Statement insert,
                         impl_->prepare("INSERT OR REPLACE INTO notes VALUES (?1, ?2)"));
  return insert.run("writing a note", key, text);
}

base::Result<std::vector<Database::MachineRow>> Database::machines() const {
  EGRET_ASSIGN_OR_RETURN(
      Statement query,
      impl_->prepare("SELECT machine, COUNT(*) FROM profile GROUP BY machine ORDER BY machine"));
  return query.all("listing machines", [](const SqlRow& row) {
    return MachineRow{row.text(0), row.integer(1)};
  });
}

base::Result<std::int64_t> Database::merge_from(const Database& other) {
  EGRET_ASSIGN_OR_RETURN(const std::vector<Row> theirs, other.rows());
  EGRET_ASSIGN_OR_RETURN(const std::vector<RatesRow> their_rates, other.rates());
  EGRET_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(impl_->db.get()));
  std::int64_t added = 0;
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
  EGRET_RETURN_IF_ERROR(transaction.commit());
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
