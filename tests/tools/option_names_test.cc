// SPDX-License-Identifier: Apache-2.0
// EGRET_NAME sets --name of every verb that has it, so an option name has one meaning.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tools/frame/verb_table.h"

namespace egret::tools {
namespace {

struct Use {
  std::string verb;
  std::string help;
  base::OptionDomain domain;
  std::size_t kind = 0;  // alternative of base::OptionSlot
};

// A verb may support some of the values that another one supports: it rejects the others by name.
bool contains_all(const std::vector<std::string>& choices, const std::vector<std::string>& some) {
  return std::ranges::all_of(some, [&](const std::string& one) {
    return std::ranges::find(choices, one) != choices.end();
  });
}

bool same_values(const base::OptionDomain& a, const base::OptionDomain& b) {
  if (a.choices.empty() != b.choices.empty()) return false;
  return a.unit == b.unit && a.low == b.low && a.high == b.high &&
         (contains_all(a.choices, b.choices) || contains_all(b.choices, a.choices));
}

// `egret run --check` compares; `egret reduce --check CMD` names the comparison. Without the
// command reduce can do nothing, so neither can be meant by mistake for the other.
bool is_known_exception(const std::string& option, const std::string& verb) {
  return option == "check" && verb == "reduce";
}

TEST(OptionNames, HaveOneMeaningInAllVerbs) {
  std::map<std::string, Use> first_uses;
  std::size_t shared = 0;
  for (const Verb& verb : verbs()) {
    const std::unique_ptr<Command> command = verb.make();
    Arguments arguments;
    command->declare(arguments);
    for (const base::BoundOption& option : arguments.set().options()) {
      const Use use{verb.name, option.help, option.domain, option.slot.index()};
      const auto [found, is_new] = first_uses.try_emplace(option.name, use);
      if (is_new || is_known_exception(option.name, verb.name)) continue;
      ++shared;
      const Use& first = found->second;
      const std::string place = "--" + option.name + " of " + first.verb + " and " + verb.name;
      EXPECT_EQ(use.help, first.help) << place;
      EXPECT_EQ(use.kind, first.kind) << place;
      EXPECT_TRUE(same_values(use.domain, first.domain)) << place << ": different values";
    }
  }
  EXPECT_GT(shared, 30U);
}

}  // namespace
}  // namespace egret::tools
