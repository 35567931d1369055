// SPDX-License-Identifier: Apache-2.0
#include "cost/database_file.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

namespace egret::cost {
namespace {

constexpr int kVersion = 4;  // 1 had no rates, 2 no notes, 3 no marks of disturbed entries
constexpr int kBusyMilliseconds = 5000;

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS profile ("
    "  machine TEXT NOT NULL, key TEXT NOT NULL, runs INTEGER NOT NULL,"
    "  median_s REAL NOT NULL, deviation_s REAL NOT NULL,"
    "  disturbed INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (machine, key)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS rates ("
    "  machine TEXT NOT NULL PRIMARY KEY, flops_per_second REAL NOT NULL,"
    "  bytes_per_second REAL NOT NULL, seconds_per_kernel REAL NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS notes (key TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL)";

base::Result<std::int64_t> version_of(sqlite3* db) {
  EGRET_ASSIGN_OR_RETURN(Statement query, Statement::prepare(db, "PRAGMA user_version"));
  EGRET_ASSIGN_OR_RETURN(const std::optional<std::int64_t> version,
                         query.first("reading", [](const SqlRow& row) { return row.integer(0); }));
  return version.value_or(0);
}

base::Result<bool> has_column(sqlite3* db, std::string_view name) {
  EGRET_ASSIGN_OR_RETURN(
      Statement query,
      Statement::prepare(db, "SELECT COUNT(*) FROM pragma_table_info('profile') WHERE name = ?1"));
  EGRET_ASSIGN_OR_RETURN(const std::optional<std::int64_t> count,
                         query.first(
                             "reading", [](const SqlRow& row) { return row.integer(0); }, name));
  return count.value_or(0) > 0;
}

// Files of later versions are left alone. Fresh ones (version 0) and earlier ones get the tables
// and the column that they lack, and then our version, in one transaction.
base::Status bring_to_version(sqlite3* db, const std::string& path) {
  EGRET_ASSIGN_OR_RETURN(const std::int64_t version, version_of(db));
  if (version > kVersion) {
    return base::bad_input("'" + path + "' is a cost database of version " +
                           std::to_string(version) + "; this program writes version " +
                           std::to_string(kVersion) + "; " + kOtherDatabase);
  }
  if (version == kVersion) return base::ok();
  // A write-ahead log lets several processes measure and read at the same time.
  EGRET_RETURN_IF_ERROR(execute(db, "PRAGMA journal_mode = WAL"));
  EGRET_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
  EGRET_RETURN_IF_ERROR(execute(db, kSchema));
  EGRET_ASSIGN_OR_RETURN(const bool has_marks, has_column(db, "disturbed"));
  if (!has_marks) {
    EGRET_RETURN_IF_ERROR(
        execute(db, "ALTER TABLE profile ADD COLUMN disturbed INTEGER NOT NULL DEFAULT 0"));
  }
  EGRET_RETURN_IF_ERROR(execute(db, ("PRAGMA user_version = " + std::to_string(kVersion)).c_str()));
  return transaction.commit();
}

base::Result<Connection> connect(const std::string& name, int flags, const std::string& path) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Connection db(raw);
  if (opened != SQLITE_OK) {
    if (opened == SQLITE_NOMEM)
      return base::limit_hit("the cost database '" + path + "': not enough memory");
    // SQLite says only that it could not; the system's reason says more.
    const int reason = sqlite3_system_errno(raw);
    return base::unavailable(
        "cannot open the cost database '" + path + "': " +
        (reason != 0 ? std::generic_category().message(reason) : std::string(sqlite3_errmsg(raw))));
  }
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  return db;
}

// For a file that no process writes. Its folder may be write-protected, and SQLite would create a
// file in it.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      constexpr const char* kDigits = "0123456789ABCDEF";
      uri += {'%', kDigits[(c >> 4) & 15], kDigits[c & 15]};
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

// Copying takes pages as they are, and errors of the copy would not name the file.
base::Status check_pages(sqlite3* db, const std::string& path) {
  EGRET_ASSIGN_OR_RETURN(Statement query, Statement::prepare(db, "PRAGMA quick_check(1)"));
  EGRET_ASSIGN_OR_RETURN(const std::vector<std::string> found,
                         query.all("reading", [](const SqlRow& row) { return row.text(0); }));
  if (found.size() == 1 && found[0] == "ok") return base::ok();
  return base::bad_input("the cost database '" + path + "' is damaged; " + kOtherDatabase);
}

bool is_unavailable(const base::Status& status) {
  return status.code() == base::StatusCode::kUnavailable;
}

// Of a protected file with nothing beside it that is to be read too: files of ours would stay
// there, which its owner could not write.
bool leaves_files(sqlite3* db, const std::string& path) {
  std::error_code missing;
  const auto log_bytes = std::filesystem::file_size(path + "-wal", missing);
  return sqlite3_db_readonly(db, "main") == 1 && (missing || log_bytes == 0);
}

base::Status copy(sqlite3* from, sqlite3* to) {
  sqlite3_backup* backup = sqlite3_backup_init(to, "main", from, "main");
  if (backup == nullptr) return sqlite_error(to, "copying");
  const int step = sqlite3_backup_step(backup, -1);
  sqlite3_backup_finish(backup);
  return step == SQLITE_DONE ? base::ok() : sqlite_error(from, "reading");
}

}  // namespace

base::Result<Connection> open_to_write(const std::string& path) {
  if (path != kInMemory) {
    std::error_code error;
    const auto folder = std::filesystem::path(path).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    if (error) {
      return base::unavailable("cannot create the folder of the cost database '" + path +
                               "': " + error.message());
    }
  }
  EGRET_ASSIGN_OR_RETURN(Connection db,
                         connect(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path));
  // What it may not write SQLite opens to read, and fails later.
  if (sqlite3_db_readonly(db.get(), "main") == 1)
    return base::unavailable("the cost database '" + path + "' is read-only");
  EGRET_RETURN_IF_ERROR(bring_to_version(db.get(), path));
  EGRET_RETURN_IF_ERROR(execute(db.get(), "PRAGMA synchronous = NORMAL"));
  return db;
}

// A reader works on a copy. It holds no lock while it runs, sees one state of the file, and may
// bring the copy's schema up to date.
base::Result<Connection> copy_in_memory(const std::string& path) {
  EGRET_ASSIGN_OR_RETURN(Connection memory,
                         connect(kInMemory, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, kInMemory));
  // A connection that may write takes its files away at the end; SQLite opens what is protected to
  // read only.
  EGRET_ASSIGN_OR_RETURN(Connection file, connect(path, SQLITE_OPEN_READWRITE, path));
  if (leaves_files(file.get(), path) || is_unavailable(version_of(file.get()).status())) {
    EGRET_ASSIGN_OR_RETURN(
        file, connect(immutable_uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, path));
  }
  EGRET_RETURN_IF_ERROR(version_of(file.get()).status());
  EGRET_RETURN_IF_ERROR(check_pages(file.get(), path));
  EGRET_RETURN_IF_ERROR(copy(file.get(), memory.get()));
  EGRET_RETURN_IF_ERROR(bring_to_version(memory.get(), path));
  return memory;
}

}  // namespace egret::cost
