// SPDX-License-Identifier: Apache-2.0
// Sets of rules: Egret's own rules, files and directories of rules, and selections.
//
// A selection is a list of items separated by commas, worked through from left to right:
//   default          what `egret optimize` runs: the generated rules and the hand-written ones that
//                    generation does not reach, except those tagged `extra`
//   starter          the hand-written rules, those that the generated ones derive too, except those
//                    tagged `extra`
//   all              the rules that come with Egret
//   PATH             the rules of a file, or of all *.rules files of a folder (has a '/' or ends in
//                    .rules, or is a folder and matches no rule that comes with Egret)
//   PATTERN          the rules that come with Egret whose name, tag or file matches (* and ?)
//   -PATTERN         takes away those that match
//   +PATTERN         keeps only those that match
// so `default,-enlarge*` is an ablation and `default,+merge` an intersection. A list that begins
// with '-' or '+' begins with `default`. An item that matches nothing is an error.
//
// A rule of a PATH whose name is taken by another rule is called FILE/NAME, or FOLDER/NAME
// (rules/language/rule_names.h). A PATTERN matches both names.
//
// Dynamic rules (rules/tensors/dynamic_rules.h) are selected by the same items.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "rules/language/rule.h"
#include "rules/tensors/dynamic_rules.h"
#include "rules/tensors/fixed_width.h"

namespace egret::rules {

struct RuleFile {
  std::string_view name;  // "merges.rules", "generated/taso.rules"
  std::string_view text;
};
// The rule files that are compiled into Egret, by name.
std::span<const RuleFile> builtin_rule_files();
// Their statuses (rules/tensors/rule_status.h): JSON documents.
std::span<const std::string_view> builtin_rule_statuses();

// The rules of all built-in files. Each rule gets its file's name without ".rules" as a tag, and
// its folder's name (`generated`; `derived` for hand-written rules that generated ones derive).
base::Result<std::vector<Rule>> builtin_rules();
// The rules of a file, or of a folder's *.rules files in name order.
base::Result<std::vector<Rule>> load_rules(const std::string& path);
// These files: the path itself, or the folder's files.
base::Result<std::vector<std::string>> rule_files_of(const std::string& path);

struct RuleSet {
  std::vector<Rule> rules;
  std::vector<const DynamicRule*> dynamic;
  std::vector<std::string> files{};  // that were read, in order
  std::vector<std::string> notes{};  // on names that were taken, for people

  std::size_t size() const { return rules.size() + dynamic.size(); }
  // A hash of the set's meaning, independent of the order and names of its rules.
  base::ContentHash hash() const;
};

base::Result<RuleSet> select_rules(std::string_view selection);

// Whether a text matches a glob pattern: '*' matches any string and '?' any character.
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace egret::rules
