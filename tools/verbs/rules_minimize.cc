// SPDX-License-Identifier: Apache-2.0
// `egret rules minimize`.
#include "base/formats/units.h"
#include "base/stop.h"
#include "base/system/file.h"
#include "base/timer.h"
#include "rules/generator/minimization.h"
#include "tools/arguments/output_file.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct MinimizeOptions {
  std::string score = "size";
  std::string uses;
  std::string with;
  std::string output = "-";
  std::int64_t seed = 1;

  static const base::OptionTable<MinimizeOptions>& table() {
    using T = MinimizeOptions;
    std::vector<std::string> names;
    for (const rules::RuleScore& score : rules::rule_scores()) names.emplace_back(score.name);
    static const base::OptionTable<T> rows{
        "rules minimize",
        {{"score", &T::score, "Score that decides which rules to keep", base::one_of(names)},
         {"uses", &T::uses, "CSV file with columns rule, model, count for the score `usefulness`",
          base::path()},
         {"minimize-with", &T::with, "Additional rules for derivations; they are not written"},
         {"minimize-seed", &T::seed, "Seed of the instances", base::range(0)},
         {"rules-output", &T::output, "File for the rules that are kept; - is standard output",
          base::output_file(), 'o'}}};
    return rows;
  }
};

class Minimize final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("SELECTION", selection_,
                         "Rules to minimize; see --rules in `egret help optimize`");
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    std::vector<InputFile> inputs = rule_files(selection_ + "," + options_.with);
    inputs.push_back({"the table of uses", options_.uses});
    EGRET_RETURN_IF_ERROR(check_not_input(options_.output, inputs));
    EGRET_ASSIGN_OR_RETURN(const rules::RuleSet set, rules::select_rules(selection_));
    rules::RuleSet fixed;
    if (!options_.with.empty()) {
      EGRET_ASSIGN_OR_RETURN(fixed, rules::select_rules(options_.with));
    }
    rules::MinimizationOptions how;
    how.score = options_.score;
    if (!options_.uses.empty()) {
      EGRET_ASSIGN_OR_RETURN(how.uses, rules::read_rule_uses(options_.uses));
    }
    how.derivation.seed = static_cast<std::uint64_t>(options_.seed);
    how.progress = console.progress();
    const base::Stopwatch watch;
    rules::KnownOperators known;
    const std::vector<bool> kept = rules::minimize(set.rules, fixed, how, known);
    std::string text;
    base::Json dropped = base::Json::array();
    std::size_t count = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) {
        text += (count++ > 0 ? "\n" : "") + to_string(set.rules[i]);
      } else {
        dropped.push(set.rules[i].name);
      }
    }
    const bool to_file = options_.output != "-";
    if (to_file && base::stop_requested()) {
      console.warning("interrupted; " + options_.output + " was not changed");
    } else if (to_file) {
      EGRET_RETURN_IF_ERROR(base::write_file(options_.output, text));
    }
    const base::Json json = base::versioned_json()
                                .set("rules", set.rules.size())
                                .set("kept", count)
                                .set("dropped", std::move(dropped))
                                .set("seconds", watch.seconds());
    console.note(std::to_string(count) + " of " +
                 base::counted(static_cast<std::int64_t>(set.rules.size()), "rule") + " kept in " +
                 base::format_seconds(watch.seconds()));
    console.result(json, to_file ? "" : text);
    return base::stop_requested() ? ExitCode::kLimit : ExitCode::kOk;
  }

 private:
  std::string selection_;
  MinimizeOptions options_;
};

}  // namespace

Verb rules_minimize_verb() {
  return {"rules minimize", "Remove rules that follow from the others",
          "Examines the rules from the worst score to the best. A rule is removed if the others "
          "derive it on inputs that satisfy its condition. NAME and NAME-reversed are kept or "
          "removed together.",
          make_command<Minimize>};
}

}  // namespace egret::tools
