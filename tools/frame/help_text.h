// SPDX-License-Identifier: Apache-2.0
// Help, manual and shell completion, all from the verb and option tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tools/frame/verb.h"

namespace egret::tools {

// "Usage: egret ..." and the verbs with their summaries.
std::string overview_help();
// The same for the verbs that begin with this word ("rules"); "" when there are none.
std::string group_help(std::string_view first_word);
// Usage, details, arguments and options of one verb. WIDTH in columns.
std::string verb_help(const Verb& verb, std::size_t width);
// How the values of options called TIME and SIZE are written, a sentence each where there are any.
std::vector<std::string> units_of(const base::OptionSet& set);
// "egret optimize [OPTIONS] MODEL".
std::string usage_line(const Verb& verb, const Arguments& arguments);
std::string exit_code_help();

// The manual page of the program (an empty name) or of a verb, in roff.
std::string manual_page(const Verb* verb);

// A completion script; shells: bash, zsh, fish.
base::Result<std::string> completion_script(std::string_view shell);

}  // namespace egret::tools
