// SPDX-License-Identifier: Apache-2.0
// All verbs, in the order in which help shows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/frame/verb.h"

namespace egret::tools {

const std::vector<Verb>& verbs();
// By full name, or nullptr.
const Verb* find_verb(std::string_view name);
std::vector<std::string> verb_names();
// The configuration keys of all verbs, sorted, each once.
std::vector<std::string> all_config_keys();

}  // namespace egret::tools
