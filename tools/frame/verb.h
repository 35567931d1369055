// SPDX-License-Identifier: Apache-2.0
// A verb of the command line: `egret optimize`, `egret rules verify`. One file
// (tools/verbs/NAME.cc) and one row in verbs.def; docs/adding_a_verb.md is the recipe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/options/option_set.h"
#include "base/status.h"
#include "tools/console/console.h"
#include "tools/console/exit_code.h"

namespace egret::tools {

// A positional argument: a string, or a list that takes the rest.
struct Positional {
  std::string name;  // upper case: MODEL
  std::string help;
  std::string* one = nullptr;
  std::vector<std::string>* many = nullptr;
  std::size_t least = 1;  // 0: may be left out
};

// What a verb takes. The structs and strings named here belong to the verb.
class Arguments {
 public:
  // All options of a struct with a table() (base/options/option_table.h).
  template <typename S>
  void options(S& values) {
    set_.add(values);
  }
  // In the order of the command line. Optional ones come last, a list is the last.
  void positional(std::string name, std::string& value, std::string help) {
    positionals_.push_back({std::move(name), std::move(help), &value, nullptr, 1});
  }
  void optional(std::string name, std::string& value, std::string help) {
    positionals_.push_back({std::move(name), std::move(help), &value, nullptr, 0});
  }
  void list(std::string name, std::vector<std::string>& values, std::string help,
            std::size_t least = 1) {
    positionals_.push_back({std::move(name), std::move(help), nullptr, &values, least});
  }

  base::OptionSet& set() { return set_; }
  const base::OptionSet& set() const { return set_; }
  const std::vector<Positional>& positionals() const { return positionals_; }

 private:
  base::OptionSet set_;
  std::vector<Positional> positionals_;
};

// One run of a verb. A failure becomes its exit code and message (base::exit_code); verdicts and
// "limit hit, but valid" are returned as codes.
class Command {
 public:
  virtual ~Command() = default;
  virtual void declare(Arguments& arguments) = 0;
  virtual base::Result<ExitCode> run(Console& console) = 0;
};

struct Verb {
  std::string name;     // "optimize", or two words: "rules verify"
  std::string summary;  // one line without a full stop
  std::string details;  // a paragraph or more for help and manual; blank lines between paragraphs
  std::function<std::unique_ptr<Command>()> make;
};

template <typename C>
std::unique_ptr<Command> make_command() {
  return std::make_unique<C>();
}

}  // namespace egret::tools
