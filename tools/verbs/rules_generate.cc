// SPDX-License-Identifier: Apache-2.0
// `egret rules generate`.
#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "driver/report/generation_page.h"
#include "rules/generator/default_set.h"
#include "rules/generator/rule_files.h"
#include "tools/arguments/output_file.h"
#include "tools/arguments/report_option.h"
#include "tools/frame/build_info.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

namespace generator = rules::generator;

struct GenerateOptions {
  std::string space = "operators";
  std::string ops;
  std::int64_t max_ops = 0;
  std::int64_t seed = 1;
  std::int64_t memory = std::int64_t{8} << 30;
  bool keep_derivable = false;
  std::string score = "size";
  std::string uses;
  std::string given;
  bool count_only = false;
  std::string folder;

  static const base::OptionTable<GenerateOptions>& table() {
    using T = GenerateOptions;
    std::vector<std::string> spaces{"operators", "default"};
    for (const generator::NamedSpace& space : generator::named_spaces())
      spaces.emplace_back(space.name);
    std::vector<std::string> scores;
    for (const rules::RuleScore& score : rules::rule_scores()) scores.push_back(score.name);
    static const base::OptionTable<T> rows{
        "rules generate",
        {{"space", &T::space,
          "Space of terms: `operators` takes the operators of --ops; `default` searches all named "
          "spaces, one after another",
          base::one_of(spaces)},
         {"ops", &T::ops, "Operators of terms, separated by commas"},
         {"max-ops", &T::max_ops,
          "Largest number of operators in a term; 0: the default of the space (2 with --ops)",
          base::range(0, 8)},
         {"generate-seed", &T::seed, "Seed of random tensors and instances", base::range(0)},
         {"generate-memory", &T::memory, "Memory limit of terms and their values",
          base::bytes(1 << 20)},
         {"given", &T::given,
          "Known rules, as a selection; rules that follow from them are left out"},
         {"keep-derivable", &T::keep_derivable, "Keep rules that follow from other rules"},
         {"generate-score", &T::score,
          "Score that decides which rules to keep if rules derive each other",
          base::one_of(scores)},
         {"generate-uses", &T::uses,
          "CSV file with columns rule, model, count for the score `usefulness`", base::path()},
         {"count-only", &T::count_only, "Count terms and classes only; generate no rules"},
         {"output-dir", &T::folder,
          "Folder for generated.rules, its verdicts and report.json; `--space default` writes "
          "NAME.rules for each space",
          base::output_folder(), 'o'}}};
    return rows;
  }
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find(',', begin);
    if (end == std::string::npos) end = text.size();
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

class Generate final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.options(options_);
    arguments.options(report_);
  }

  base::Result<ExitCode> run(Console& console) override {
    if (options_.folder.empty())
      return base::usage_error("the output is missing: give it with -o FOLDER");
    std::vector<InputFile> inputs = rule_files(options_.given);
    inputs.push_back({"the table of uses", options_.uses});
    for (const char* name : {"/generated.rules", "/generated.rules.status.json", "/report.json"})
      EGRET_RETURN_IF_ERROR(check_output(options_.folder + name, inputs));
    inputs.insert(inputs.end(), {{"the file of rules", options_.folder + "/generated.rules"},
                                 {"the file of counts", options_.folder + "/report.json"}});
    EGRET_RETURN_IF_ERROR(check_report(report_, inputs));
    if (options_.space == "default") return run_default_set(console);
    EGRET_ASSIGN_OR_RETURN(const generator::Space space, wanted_space());
    EGRET_ASSIGN_OR_RETURN(generator::GenerationOptions how, common(console));
    how.enumeration.most_operators = most_operators();
    how.log = options_.folder + "/decisions.jsonl";
    if (!options_.given.empty()) {
      EGRET_ASSIGN_OR_RETURN(how.given, rules::select_rules(options_.given));
    }
    EGRET_ASSIGN_OR_RETURN(const generator::Generation generation, generator::generate(space, how));
    if (generation.stopped) {
      // Files of an earlier run may be complete; the log of decisions has what is new.
      console.warning("interrupted; the rules in " + options_.folder +
                      " were not changed. The same command continues the run");
    } else {
      EGRET_RETURN_IF_ERROR(generator::write_rule_files(options_.folder, space, generation));
    }
    const base::Json json = generator::report_json(space, generation);
    EGRET_RETURN_IF_ERROR(result_and_report(console, json, table_of(generation), report_, [&] {
      return driver::generation_page({{.name = space.name, .generation = &generation}}, json,
                                     std::string(build_info().version));
    }));
    const bool limited = !generation.limit.empty() && console.is_given("generate-memory");
    return generation.stopped || limited ? ExitCode::kLimit : ExitCode::kOk;
  }

 private:
  base::Result<generator::GenerationOptions> common(Console& console) const {
    generator::GenerationOptions how;
    how.enumeration.seed = static_cast<std::uint64_t>(options_.seed);
    how.enumeration.most_bytes = static_cast<std::size_t>(options_.memory);
    how.enumeration.progress = console.progress();
    how.scrutiny.screening.seed = static_cast<std::uint64_t>(options_.seed);
    how.minimize = !options_.keep_derivable;
    how.count_only = options_.count_only;
    how.score = options_.score;
    if (!options_.uses.empty()) {
      EGRET_ASSIGN_OR_RETURN(how.uses, rules::read_rule_uses(options_.uses));
    }
    return how;
  }

  base::Result<ExitCode> run_default_set(Console& console) const {
    EGRET_ASSIGN_OR_RETURN(const generator::GenerationOptions how, common(console));
    EGRET_ASSIGN_OR_RETURN(
        const std::vector<generator::Generation> generations,
        generator::generate_default_set(generator::named_spaces(), options_.folder, how));
    base::Json spaces = base::Json::array();
    std::vector<driver::GeneratedSpace> pages;
    std::string tables;
    std::size_t rules = 0;
    for (std::size_t i = 0; i < generations.size(); ++i) {
      const generator::NamedSpace& named = generator::named_spaces()[i];
      spaces.push(generator::report_json(named.make(), generations[i]));
      pages.push_back({.name = std::string(named.name),
                       .help = std::string(named.help),
                       .generation = &generations[i]});
      tables += std::string(named.name) + ": " + std::string(named.help) + "\n" +
                table_of(generations[i]) + "\n";
      rules += generations[i].rules.size();
    }
    const base::Json json =
        base::versioned_json().set("rules", rules).set("spaces", std::move(spaces));
    EGRET_RETURN_IF_ERROR(result_and_report(
        console, json,
        tables + base::counted(static_cast<std::int64_t>(rules), "rule") + " in all\n", report_,
        [&] { return driver::generation_page(pages, json, std::string(build_info().version)); }));
    return generations.back().stopped ? ExitCode::kLimit : ExitCode::kOk;
  }

  base::Result<generator::Space> wanted_space() const {
    if (const auto* named = generator::find_named_space(options_.space); named != nullptr) {
      if (!options_.ops.empty())
        return base::usage_error("--ops cannot be combined with --space " + options_.space);
      return named->make();
    }
    const std::vector<std::string> operators = split(options_.ops);
    if (operators.empty())
      return base::usage_error(
          "the operators are missing: give them with --ops add,matmul,... or --space NAME");
    return generator::space_of_operators(operators);
  }
  std::size_t most_operators() const {
    if (options_.max_ops > 0) return static_cast<std::size_t>(options_.max_ops);
    const auto* named = generator::find_named_space(options_.space);
    return named != nullptr ? named->most_operators : 2;
  }

  std::string table_of(const generator::Generation& generation) const {
    const std::string rules =
        base::counted(static_cast<std::int64_t>(generation.rules.size()), "rule");
    return driver::generation_table(generation).render() + "\n" + rules +
           (generation.stopped ? " so far, not written\n" : " in " + options_.folder + "\n");
  }

  GenerateOptions options_;
  ReportOptions report_;
};

}  // namespace

Verb rules_generate_verb() {
  return {"rules generate", "Discover rules from the definitions of operators",
          "Enumerates terms of up to --max-ops operators over small tensors of several sizes and "
          "evaluates them in a finite field. Terms with equal values become rules. Each rule is "
          "generalized as far as it can be proven, with the weakest condition found. Rules that "
          "follow from earlier ones are left out. All written rules are proven.",
          make_command<Generate>};
}

}  // namespace egret::tools
