// SPDX-License-Identifier: Apache-2.0
// Names of rules from several files.
//
// Names are unique within a set. Two files may use one name, since their authors may not know of
// each other. The rule that comes later then gets its file's name, or its folder's, as a prefix:
// mine/relu-of-relu. Verdicts are not affected, because they are kept by the hash of the meaning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/language/rule.h"

namespace egret::rules {

// Whether two rules have the same meaning and the same heuristics.
bool is_same_rule(const Rule& a, const Rule& b);

// Adds rules to a set. A rule that the set has under its name already is left out. If the name is
// taken by another rule, the new rule is renamed: to FILE/NAME, FOLDER/FILE/NAME and so on, or
// FILE-2/NAME and so on, whichever is the first that is free. NAME and NAME-reversed keep equal
// prefixes. `path` is the file or folder of the rules; "": each rule's own file. Returns one line
// for people for each rule that was left out or renamed. O((n + m) log (n + m)).
std::vector<std::string> add_rules(std::vector<Rule>& all, std::vector<Rule> more,
                                   const std::string& path);

// The name without prefix: "relu-of-relu" of "mine/relu-of-relu".
std::string_view name_in_file(std::string_view name);

// NAME of NAME and NAME-reversed, which `<=>` makes.
std::string_view name_of_pair(std::string_view name);

}  // namespace egret::rules
