// SPDX-License-Identifier: Apache-2.0
#include "base/did_you_mean.h"
#include "tools/frame/help_text.h"
#include "tools/frame/verb_table.h"

namespace egret::tools {
namespace {

class Man final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.list("VERB", verb_, "The verb (default: the page of the program)", 0);
  }

  base::Result<ExitCode> run(Console& console) override {
    std::string name;
    for (const std::string& word : verb_) name += (name.empty() ? "" : " ") + word;
    const Verb* verb = find_verb(name);
    if (!name.empty() && verb == nullptr) {
      return base::usage_error("unknown verb \"" + name + "\"" +
                               base::did_you_mean(name, verb_names()));
    }
    const std::string page = manual_page(verb);
    base::Json json = base::versioned_json();
    json.set("page", page);
    console.result(json, page);
    return ExitCode::kOk;
  }

 private:
  std::vector<std::string> verb_;
};

}  // namespace

Verb man_verb() {
  return {"man", "Write the manual page of the program or of a verb",
          "The page is generated from the same tables as the help. Read it with `egret man | man "
          "-l -`, or save it as egret.1 in a folder of the manual path.",
          make_command<Man>};
}

}  // namespace egret::tools
