// SPDX-License-Identifier: Apache-2.0
// Sets of rules: the ones that come with Egret, directories and files of rules, and selections.
//
// A selection is a list of items separated by commas, worked through from left to right:
//   default          what `egret optimize` runs: the generated rules and the hand-written ones that
//                    generation does not reach, except those tagged `extra`
//   starter          the hand-written rules, those that the generated ones derive too, except those
//                    tagged `extra`
//   all              the rules that come with Egret
//   PATH             the rules of a file, or of all *.rules files of a directory (has a '/' or ends
//                    in .rules)
//   PATTERN          the rules that come with Egret whose name, tag or file matches (* and ?)
//   -PATTERN         takes away those that match
//   +PATTERN         keeps only those that match
// so `default,-enlarge*` is an ablation and `default,+merge` an intersection. A list that begins
// with '-' or '+' begins with `default`. An item that matches nothing is an error.
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
// The files that come with Egret, compiled in, by name.
std::span<const RuleFile> builtin_rule_files();
// Their statuses (rules/tensors/rule_status.h), as JSON.
std::string_view builtin_rule_statuses();

// The rules of all files; each also has the name of its file, without ".rules", as a tag, and that
// of its folder (`generated`; `derived` for hand-written ones that the generated ones derive).
base::Result<std::vector<Rule>> builtin_rules();
// The rules of a file, or of a directory's *.rules files in order of their names.
base::Result<std::vector<Rule>> load_rules(const std::string& path);

struct RuleSet {
  std::vector<Rule> rules;
  std::vector<const DynamicRule*> dynamic;

  std::size_t size() const { return rules.size() + dynamic.size(); }
  // Names the set's meaning, whatever the order and names of its rules.
  base::ContentHash hash() const;
};

base::Result<RuleSet> select_rules(std::string_view selection);

// Whether a text matches a pattern of letters, '*' (any) and '?' (one).
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace egret::rules
