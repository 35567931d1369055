// SPDX-License-Identifier: Apache-2.0
#include "tools/frame/help_text.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

class Completion final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("SHELL", shell_, "bash, zsh or fish");
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const std::string script, completion_script(shell_));
    base::Json json = base::versioned_json();
    json.set("shell", shell_).set("script", script);
    console.result(json, script);
    return ExitCode::kOk;
  }

 private:
  std::string shell_;
};

}  // namespace

Verb completion_verb() {
  return {"completion", "Write a completion script for a shell",
          "Load the script in the start file of the shell: `source <(egret completion bash)`, "
          "`source <(egret completion zsh)` or `egret completion fish | source`.",
          make_command<Completion>};
}

}  // namespace egret::tools
