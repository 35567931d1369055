// SPDX-License-Identifier: Apache-2.0
#include "base/formats/units.h"
#include "base/stop.h"
#include "base/system/file.h"
#include "base/system/shell_command.h"
#include "base/system/temporary_folder.h"
#include "frontends/reduce_model.h"
#include "tools/arguments/model_file.h"
#include "tools/arguments/output_file.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct ReduceArguments {
  std::string check;
  std::string output;
  double check_time = 60;
  double reduce_time = 0;
  std::int64_t limit_checks = 0;
  bool stated_types = false;

  static const base::OptionTable<ReduceArguments>& table() {
    using R = ReduceArguments;
    static const base::OptionTable<R> rows{
        "reduce",
        {{"check", &R::check,
          "Command of the shell that exits with 0 where a model still shows the fault. {} in it is "
          "the model's file; without {}, the file is the last argument"},
         {"output", &R::output, "File for the result; - is standard output", base::output_file(),
          'o'},
         {"check-time", &R::check_time,
          "Seconds after which a check counts as failed, and is killed", base::seconds()},
         {"reduce-time", &R::reduce_time, "Stop after this time; 0: no limit", base::seconds()},
         {"limit-checks", &R::limit_checks, "Stop after this many checks; 0: no limit",
          base::range(0, 1e9)},
         {"stated-types", &R::stated_types,
          "Do not import the model: use the types that it states, and check invalid models too. "
          "For "
          "faults of the import itself"}}};
    return rows;
  }
};

std::string command_for(const std::string& check, const std::string& file) {
  const std::string word = base::shell_quoted(file);
  std::string command = check;
  bool named = false;
  for (std::size_t at = 0; (at = command.find("{}", at)) != std::string::npos; at += word.size()) {
    command.replace(at, 2, word);
    named = true;
  }
  return named ? command : command + " " + word;
}

class Reduce final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("MODEL", path_, "An ONNX file");
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    if (options_.check.empty())
      return base::usage_error("the check is missing: give it with --check CMD");
    if (options_.output.empty())
      return base::usage_error("the output is missing: give it with -o FILE");
    EGRET_RETURN_IF_ERROR(check_not_input(options_.output, {{"the model", path_}}));
    EGRET_ASSIGN_OR_RETURN(const auto folder, base::TemporaryFolder::make("egret-reduce-"));
    const std::string command = command_for(options_.check, folder->file("model.onnx"));
    frontends::ReduceOptions how;
    how.imports = !options_.stated_types;
    how.max_tests = options_.limit_checks;
    how.seconds = options_.reduce_time;
    how.progress = console.progress();
    std::int64_t too_slow = 0;
    how.test = [&](const std::string& bytes) -> base::Result<bool> {
      EGRET_RETURN_IF_ERROR(base::write_file(folder->file("model.onnx"), bytes));
      const auto code = base::run_command(command, options_.check_time);
      if (code.ok()) return *code == 0;
      if (code.status().code() != base::StatusCode::kLimit || base::stop_requested())
        return code.status();
      ++too_slow;
      return false;
    };
    const bool to_file = options_.output != "-";
    how.found = [&](const std::string& bytes) {
      if (!to_file) return base::ok();
      return base::write_file(options_.output, bytes).at(options_.output);
    };
    EGRET_ASSIGN_OR_RETURN(const frontends::ReducedModel reduced,
                           frontends::reduce_model(path_, how));
    EGRET_RETURN_IF_ERROR(write_output(console, options_.output, reduced.bytes));
    const ExitCode code = reduced.stop_reason == "minimal" ? ExitCode::kOk : ExitCode::kLimit;
    if (!to_file) return code;
    base::Json json = base::versioned_json();
    json.set("nodes_before", reduced.nodes_before)
        .set("nodes", reduced.nodes)
        .set("bytes_before", reduced.bytes_before)
        .set("bytes", std::uint64_t{reduced.bytes.size()})
        .set("checks", reduced.tests)
        .set("checks_too_slow", too_slow)
        .set("stop_reason", reduced.stop_reason);
    const auto size = [](auto bytes) { return base::format_bytes(static_cast<double>(bytes)); };
    console.result(json,
                   base::counted(reduced.nodes_before, "node") + ", " + size(reduced.bytes_before) +
                       " -> " + base::counted(reduced.nodes, "node") + ", " +
                       size(reduced.bytes.size()) + "; " + base::counted(reduced.tests, "check") +
                       (too_slow > 0 ? ", " + std::to_string(too_slow) + " too slow" : "") +
                       ", stopped: " + reduced.stop_reason + "\n");
    return code;
  }

 private:
  std::string path_;
  ReduceArguments options_;
};

}  // namespace

Verb reduce_verb() {
  return {
      "reduce", "Find a small model for which a command still succeeds",
      "Removes nodes, outputs, attributes, operands and weights, and shrinks sizes, as long as "
      "the check exits with 0. The result is 1-minimal: no single one of them can go. The "
      "output file always is the smallest model so far, also after a signal.\n\nThe check should "
      "tell one fault from others, since smaller models may fail in their own ways: compare an "
      "exit code or a message.\n\n  egret reduce big.onnx -o small.onnx --check 'egret optimize "
      "{} -o /tmp/o.onnx --quick; test $? -eq 6'",
      make_command<Reduce>};
}

}  // namespace egret::tools
