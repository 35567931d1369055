// SPDX-License-Identifier: Apache-2.0
#include "tools/frame/verb_table.h"

#include <algorithm>

#include "tools/console/common_options.h"

namespace egret::tools {

#define EGRET_VERB(name) Verb name##_verb();
#include "tools/frame/verbs.def"
#undef EGRET_VERB

const std::vector<Verb>& verbs() {
#define EGRET_VERB(name) name##_verb(),
  static const std::vector<Verb> all = {
#include "tools/frame/verbs.def"
  };
#undef EGRET_VERB
  return all;
}

const Verb* find_verb(std::string_view name) {
  const auto found = std::find_if(verbs().begin(), verbs().end(),
                                  [&](const Verb& verb) { return verb.name == name; });
  return found == verbs().end() ? nullptr : &*found;
}

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) names.push_back(verb.name);
  return names;
}

std::vector<std::string> all_config_keys() {
  std::vector<std::string> keys;
  CommonOptions common;
  base::OptionSet common_set;
  common_set.add(common);
  for (const base::BoundOption& option : common_set.options()) keys.push_back(option.key());
  for (const Verb& verb : verbs()) {
    const std::unique_ptr<Command> command = verb.make();
    Arguments arguments;
    command->declare(arguments);
    for (const base::BoundOption& option : arguments.set().options()) keys.push_back(option.key());
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace egret::tools
