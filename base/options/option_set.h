// SPDX-License-Identifier: Apache-2.0
// The options of one command: tables bound to the structs they fill. Values may come in any order;
// the strongest origin wins: flag > environment > --config file > user file > default.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/options/option_table.h"
#include "base/status.h"

namespace egret::base {

struct TomlEntry;

enum class OptionOrigin : unsigned char { kDefault, kUserFile, kConfigFile, kEnvironment, kFlag };
std::string_view to_string(OptionOrigin origin);

// One option and the place of its value. Owned by an OptionSet.
struct BoundOption {
  std::string section;
  std::string name;
  std::string help;
  OptionDomain domain;
  char short_flag = 0;
  OptionSlot slot;
  std::string default_text;  // the value when it was bound, with its unit
  OptionOrigin origin = OptionOrigin::kDefault;

  bool is_switch() const { return std::holds_alternative<bool*>(slot); }
  bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(slot); }
  std::string flag() const { return "--" + name; }
  std::string variable() const;  // EGRET_LIMIT_NODES
  std::string key() const;       // saturation.limit-nodes
  // N, X, SIZE, TIME, FILE, FOLDER, TEXT, or a|b|c; "" for a switch
  std::string value_name() const;
  std::string limits() const;      // "at least 1", "1 to 64", or ""
  std::string value_text() const;  // as a flag would take it; lists joined by commas
  std::string value_toml() const;

  // Parses and checks. A usage error says what is expected, without naming the place.
  Status assign(const std::vector<std::string>& texts);
};

// The struct must outlive the set. Copying is forbidden: slots point into bound structs.
class OptionSet {
 public:
  OptionSet() = default;
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;
  OptionSet(OptionSet&&) = default;
  OptionSet& operator=(OptionSet&&) = default;

  template <typename S>
  void add(S& values) {
    add(S::table(), values);
  }
  template <typename S>
  void add(const OptionTable<S>& table, S& values) {
    for (const OptionRow<S>& row : table.rows) {
      add(BoundOption{table.section, row.name, row.help, row.domain, row.short_flag,
                      row.field.bind(values), "", OptionOrigin::kDefault});
    }
  }

  const std::vector<BoundOption>& options() const { return options_; }
  const BoundOption* find(std::string_view name) const;  // by name, without "--"
  std::vector<std::string> names() const;

  // Sets by name unless a stronger origin has spoken. PLACE names the source in errors ("--seed",
  // "egret.toml:3"). Fails: unknown name (with a suggestion), value outside the domain.
  Status set(std::string_view name, const std::vector<std::string>& texts, OptionOrigin origin,
             std::string_view place);
  // Reads the variable of every option through the getter (nullptr: not set).
  Status apply_environment(FunctionRef<const char*(const std::string&)> getter);
  // Entries of a configuration file. KNOWN_KEYS are the keys of all commands: a file may serve
  // several, so those are skipped where this command lacks them; any other unknown key is an error.
  Status apply_config(const std::vector<TomlEntry>& entries, OptionOrigin origin,
                      std::string_view file, const std::vector<std::string>& known_keys);

  // A configuration file that reproduces the present values, with help and origin as comments.
  std::string print_config() const;

 private:
  void add(BoundOption option);

  std::vector<BoundOption> options_;
};

// The values of one table as a configuration has them: its section, then an option a line.
template <typename S>
std::string table_toml(S values) {
  OptionSet set;
  set.add(values);
  std::string text = "[" + S::table().section + "]\n";
  for (const BoundOption& option : set.options())
    text += option.name + " = " + option.value_toml() + "\n";
  return text;
}

}  // namespace egret::base
