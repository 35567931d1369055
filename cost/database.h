// SPDX-License-Identifier: Apache-2.0
// The profile database: measured times of operators, in SQLite, shared by concurrent processes and
// safe to kill at any moment (write-ahead log; one transaction an entry).
//
// An entry belongs to a machine, identified by a fingerprint of everything that changes times:
// processor, instruction set, threads, library versions. Entries of other machines are kept but
// never mixed in. A machine also has its measured rates.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cost/model.h"

namespace egret::cost {

struct Entry {
  std::int64_t runs = 0;
  double median_s = 0;
  double deviation_s = 0;  // median absolute deviation
  bool disturbed = false;  // measured while other processes used the processors
};

class Database {
 public:
  // Opens or creates. A file of an earlier version is migrated and keeps its entries. `path`
  // ":memory:" keeps it in memory. Errors: unavailable (cannot open or write); bad_input (not a
  // profile database, a damaged one, or one of another version; the remedy is in the message).
  // Later calls fail with bad_input where a stored value is not a time or rate.
  static base::Result<std::unique_ptr<Database>> open(const std::string& path);
  // Reads the file without changing it; it may be write-protected. Values stored afterwards are
  // lost with this object.
  static base::Result<std::unique_ptr<Database>> open_to_read(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  base::Result<std::optional<Entry>> find(std::string_view machine, std::string_view key) const;
  // Replaces what was there.
  base::Status store(std::string_view machine, std::string_view key, const Entry& entry);
  // The disturbed entries that store() got.
  std::int64_t stored_disturbed() const;
  // From now on, find() leaves out disturbed entries, as if nothing was measured, if `calm` says
  // that they can be measured better now. It is asked once, when such an entry is met.
  void replace_disturbed(std::function<bool()> calm);
  // Removes entries and returns their number. An empty `machine` means all.
  enum class Removal : std::uint8_t { kAll, kDisturbed };
  base::Result<std::int64_t> remove(std::string_view machine, Removal which);
  // Removes the rates of a machine, or of all.
  base::Status remove_rates(std::string_view machine);

  struct Row {
    std::string machine;
    std::string key;
    Entry entry;
  };
  // All entries in the order of (machine, key); of one machine when that is not empty.
  base::Result<std::vector<Row>> rows(std::string_view machine = "") const;

  // The rates of a machine, where they were measured.
  base::Result<std::optional<Rates>> find_rates(std::string_view machine) const;
  // Replaces what was there.
  base::Status store_rates(std::string_view machine, const Rates& rates);
  struct RatesRow {
    std::string machine;
    Rates rates;
  };
  base::Result<std::vector<RatesRow>> rates() const;  // in the order of machines

  // Notes of other components, by key. merge_from() and content_hash() ignore them.
  base::Result<std::optional<std::string>> find_note(std::string_view key) const;
  // Replaces what was there.
  base::Status store_note(std::string_view key, std::string_view text);

  struct MachineRow {
    std::string machine;
    std::int64_t entries = 0;
  };
  // The machines with entries, in order.
  base::Result<std::vector<MachineRow>> machines() const;

  // Adds the entries and rates of `other` that this one lacks or has disturbed; returns the number
  // of entries.
  base::Result<std::int64_t> merge_from(const Database& other);
  // Hash of all entries and the rates of a machine: equal contents, equal text.
  base::Result<std::string> content_hash(std::string_view machine) const;

 private:
  struct Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  static base::Result<std::unique_ptr<Database>> prepared(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// $EGRET_COST_DB, else egret/costs.sqlite under $XDG_CACHE_HOME or ~/.cache; empty where there is
// no such folder.
std::string default_database_path();
// The help texts of the options that name a machine and a database.
inline constexpr const char* kMachineHelp =
    "Machine in the database: its name or a unique part of it (default: this machine)";
inline constexpr const char* kAllMachinesHelp =
    "Measurements of all machines, not of this one alone";
inline constexpr const char* kDatabaseHelp =
    "Database of measured costs (default: in the user's cache folder)";
// Opens or creates the database at `path`, or at the default path if that is empty.
base::Result<std::unique_ptr<Database>> open_database(const std::string& path);
// Opens it for reading, without creating it. A given `path` must exist (bad_input); the default one
// need not.
base::Result<std::unique_ptr<Database>> open_database_to_read(const std::string& path);

struct DatabaseInUse {
  std::unique_ptr<Database> database;
  std::string warning;  // why stored values are lost; empty if they are kept
};
// For work that continues if the database cannot be written: its contents are then in memory.
base::Result<DatabaseInUse> open_database_in_use(const std::string& path);

}  // namespace egret::cost
