// SPDX-License-Identifier: Apache-2.0
#include "cost/database.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/hash.h"
#include "base/system/file.h"
#include "cost/database_file.h"
#include "cost/sqlite.h"

namespace egret::cost {
namespace {

Entry entry_of(const SqlRow& row, int first_column) {
  return {.runs = row.integer(first_column),
          .median_s = row.real(first_column + 1),
          .deviation_s = row.real(first_column + 2),
          .disturbed = row.integer(first_column + 3) != 0};
}

Rates rates_of(const SqlRow& row, int first_column) {
  return {.flops_per_second = row.real(first_column),
          .bytes_per_second = row.real(first_column + 1),
          .seconds_per_kernel = row.real(first_column + 2)};
}

bool is_time(double seconds) { return seconds >= 0 && std::isfinite(seconds); }
bool is_rate(double rate) { return rate > 0 && std::isfinite(rate); }

}  // namespace

struct Database::Impl {
  std::string path;
  Connection db;
  Statement find;
  Statement store;
  std::int64_t stored_disturbed = 0;
  std::function<bool()> calm;  // asked once, then empty
  bool replaces_disturbed = false;

  bool leaves_out(const Entry& entry) {
    if (!entry.disturbed) return false;
    if (calm) replaces_disturbed = std::exchange(calm, nullptr)();
    return replaces_disturbed;
  }
  base::Result<Statement> prepare(const char* sql) const {
    return Statement::prepare(db.get(), sql);
  }

  // Stored values are validated: the file may come from elsewhere.
  base::Status check(std::string_view key, const Entry& entry) const {
    if (is_time(entry.median_s) && is_time(entry.deviation_s) && entry.runs >= 0) return base::ok();
    return invalid("no valid time of " + std::string(key));
  }
  base::Status check(std::string_view machine, const Rates& rates) const {
    if (is_rate(rates.flops_per_second) && is_rate(rates.bytes_per_second) &&
        is_rate(rates.seconds_per_kernel))
      return base::ok();
    return invalid("no valid rates of " + std::string(machine));
  }
  base::Status invalid(const std::string& what) const {
    return base::bad_input("'" + path + "' has " + what + "; " + kOtherDatabase);
  }
};

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::~Database() = default;

// Preparing the two frequent statements also checks the schema: SQLite compiles them only if the
// tables and columns exist.
base::Result<std::unique_ptr<Database>> Database::prepared(std::unique_ptr<Impl> impl) {
  const auto prepare = [&](const char* sql) -> base::Result<Statement> {
    auto statement = impl->prepare(sql);
    if (statement.ok() || sqlite3_errcode(impl->db.get()) != SQLITE_ERROR) return statement;
    // Tables of the same names with other columns, or none of them.
    return base::bad_input("'" + impl->path + "' is not a cost database (" +
                           sqlite3_errmsg(impl->db.get()) + "); " + kOtherDatabase);
  };
  EGRET_ASSIGN_OR_RETURN(impl->find,
                         prepare("SELECT runs, median_s, deviation_s, disturbed FROM profile "
                                 "WHERE machine = ?1 AND key = ?2"));
  EGRET_ASSIGN_OR_RETURN(impl->store,
                         prepare("INSERT OR REPLACE INTO profile VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  return std::unique_ptr<Database>(new Database(std::move(impl)));
}

base::Result<std::unique_ptr<Database>> Database::open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  EGRET_ASSIGN_OR_RETURN(impl->db, open_to_write(path));
  return prepared(std::move(impl));
}

// Reads a copy in memory, so the file is neither locked nor changed.
base::Result<std::unique_ptr<Database>> Database::open_to_read(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  EGRET_ASSIGN_OR_RETURN(impl->db, copy_in_memory(path));
  return prepared(std::move(impl));
}

base::Result<std::optional<Entry>> Database::find(std::string_view machine,
                                                  std::string_view key) const {
  EGRET_ASSIGN_OR_RETURN(
      const std::optional<Entry> entry,
      impl_->find.first(
          "reading", [](const SqlRow& row) { return entry_of(row, 0); }, machine, key));
  if (entry) EGRET_RETURN_IF_ERROR(impl_->check(key, *entry));
  if (entry && impl_->leaves_out(*entry)) return std::optional<Entry>();
  return entry;
}

base::Status Database::store(std::string_view machine, std::string_view key, const Entry& entry) {
  impl_->stored_disturbed += entry.disturbed ? 1 : 0;
  return impl_->store.run("writing", machine, key, entry.runs, entry.median_s, entry.deviation_s,
                          std::int64_t{entry.disturbed});
}

std::int64_t Database::stored_disturbed() const { return impl_->stored_disturbed; }

void Database::replace_disturbed(std::function<bool()> calm) { impl_->calm = std::move(calm); }

base::Result<std::int64_t> Database::remove(std::string_view machine, Removal which) {
  EGRET_ASSIGN_OR_RETURN(
      Statement query,
      impl_->prepare("DELETE FROM profile WHERE (?1 = '' OR machine = ?1) AND disturbed >= ?2"));
  EGRET_RETURN_IF_ERROR(
      query.run("removing", machine, std::int64_t{which == Removal::kDisturbed ? 1 : 0}));
  return std::int64_t{sqlite3_changes(impl_->db.get())};
}

base::Status Database::remove_rates(std::string_view machine) {
  EGRET_ASSIGN_OR_RETURN(Statement query,
                         impl_->prepare("DELETE FROM rates WHERE ?1 = '' OR machine = ?1"));
  return query.run("removing rates", machine);
}

base::Result<std::vector<Database::Row>> Database::rows(std::string_view machine) const {
  EGRET_ASSIGN_OR_RETURN(
      Statement query,
      impl_->prepare("SELECT machine, key, runs, median_s, deviation_s, disturbed FROM profile "
                     "WHERE ?1 = '' OR machine = ?1 ORDER BY machine, key"));
  EGRET_ASSIGN_OR_RETURN(std::vector<Row> rows,
                         query.all(
                             "listing",
                             [](const SqlRow& row) {
                               return Row{row.text(0), row.text(1), entry_of(row, 2)};
                             },
                             machine));
  for (const Row& row : rows) EGRET_RETURN_IF_ERROR(impl_->check(row.key, row.entry));
  return rows;
}

base::Result<std::optional<Rates>> Database::find_rates(std::string_view machine) const {
  EGRET_ASSIGN_OR_RETURN(
      Statement query,
      impl_->prepare("SELECT flops_per_second, bytes_per_second, seconds_per_kernel FROM rates "
                     "WHERE machine = ?1"));
  EGRET_ASSIGN_OR_RETURN(
      const std::optional<Rates> rates,
      query.first(
          "reading rates", [](const SqlRow& row) { return rates_of(row, 0); }, machine));
  if (rates) EGRET_RETURN_IF_ERROR(impl_->check(machine, *rates));
  return rates;
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
  EGRET_ASSIGN_OR_RETURN(std::vector<RatesRow> rows,
                         query.all("listing rates", [](const SqlRow& row) {
                           return RatesRow{row.text(0), rates_of(row, 1)};
                         }));
  for (const RatesRow& row : rows) EGRET_RETURN_IF_ERROR(impl_->check(row.machine, row.rates));
  return rows;
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

// In one transaction, so that a failure leaves the database as it was. Own entries win, unless only
// they are disturbed.
base::Result<std::int64_t> Database::merge_from(const Database& other) {
  EGRET_ASSIGN_OR_RETURN(const std::vector<Row> theirs, other.rows());
  EGRET_ASSIGN_OR_RETURN(const std::vector<RatesRow> their_rates, other.rates());
  EGRET_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(impl_->db.get()));
  std::int64_t added = 0;
  for (const Row& row : theirs) {
    EGRET_ASSIGN_OR_RETURN(const std::optional<Entry> mine, find(row.machine, row.key));
    if (mine && (!mine->disturbed || row.entry.disturbed)) continue;
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

// Rows come in the order of their keys, so that equal contents have equal hashes.
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

// The path of the environment, else a file in the user's cache folder; empty if there is none.
std::string default_database_path() {
  const char* path = std::getenv("EGRET_COST_DB");
  if (path != nullptr && *path != 0) return path;
  const std::string folder = base::cache_folder();
  return folder.empty() ? "" : folder + "/costs.sqlite";
}

namespace {

bool is_there(const std::string& path) {
  std::error_code ignored;  // what cannot be examined is not a file that we can read
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace

base::Result<std::unique_ptr<Database>> open_database(const std::string& path) {
  const std::string file = path.empty() ? default_database_path() : path;
  if (!file.empty()) return Database::open(file);
  return base::unavailable(
      "HOME and XDG_CACHE_HOME are not set; give the cost database with --cost-db");
}

// A missing default database is empty. A missing file that the user named is an error.
base::Result<std::unique_ptr<Database>> open_database_to_read(const std::string& path) {
  const std::string file = path.empty() ? default_database_path() : path;
  if (file == kInMemory || is_there(file)) return Database::open_to_read(file);
  if (path.empty()) return Database::open(kInMemory);  // nothing was measured yet
  return base::bad_input(
      "'" + path +
      "' is not a file; give a cost database of `egret optimize` or `egret costs import`");
}

// A file that cannot be written is read into memory; new measurements are then lost at the end,
// which the warning says.
base::Result<DatabaseInUse> open_database_in_use(const std::string& path) {
  auto kept = open_database(path);
  if (kept.ok()) return DatabaseInUse{*std::move(kept), ""};
  const bool is_protected = kept.status().code() == base::StatusCode::kUnavailable;
  if (!is_protected || (!path.empty() && !is_there(path))) return kept.status();
  DatabaseInUse used;
  EGRET_ASSIGN_OR_RETURN(used.database, open_database_to_read(path));
  used.warning = "what is measured is not kept: " + kept.status().message();
  return used;
}

}  // namespace egret::cost
