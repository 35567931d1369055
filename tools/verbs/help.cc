// SPDX-License-Identifier: Apache-2.0
#include "base/did_you_mean.h"
#include "base/system/terminal.h"
#include "rules/language/language_page.h"
#include "tools/frame/help_text.h"
#include "tools/frame/verb_table.h"

namespace egret::tools {
namespace {

class Help final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.list("TOPIC", topic_, "A verb or \"exit-codes\" (default: the list of verbs)", 0);
  }

  base::Result<ExitCode> run(Console& console) override {
    std::string name;
    for (const std::string& word : topic_) name += (name.empty() ? "" : " ") + word;
    std::string text;
    const Verb* verb = find_verb(name);
    if (name.empty()) {
      text = overview_help();
    } else if (name == "exit-codes") {
      text = exit_code_help();
    } else if (verb != nullptr) {
      text = verb_help(*verb, base::terminal_width(1));
    } else if (name == "rules") {
      text = group_help(name) + "\n" + rules::language_page();
    } else if (text = group_help(name); text.empty()) {
      std::vector<std::string> topics = verb_names();
      topics.push_back("exit-codes");
      return base::usage_error("unknown help topic \"" + name + "\" (`egret help` lists them)" +
                               base::did_you_mean(name, topics));
    }
    base::Json json = base::versioned_json();
    json.set("help", text);
    console.result(json, text);
    return ExitCode::kOk;
  }

 private:
  std::vector<std::string> topic_;
};

}  // namespace

Verb help_verb() {
  return {
      "help", "Explain the verbs",
      "Prints what `egret VERB --help` prints, the list of verbs, the rule language (`egret help "
      "rules`), or the exit codes.",
      make_command<Help>};
}

}  // namespace egret::tools
