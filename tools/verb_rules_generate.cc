// SPDX-License-Identifier: Apache-2.0
// `egret rules generate`.
#include <filesystem>

#include "base/text_table.h"
#include "base/units.h"
#include "rules/generator/rule_files.h"
#include "tools/verb.h"

namespace egret::tools {
namespace {

namespace generator = rules::generator;

enum class SpaceChoice : unsigned char { kOperators, kTaso };

struct GenerateOptions {
  SpaceChoice space = SpaceChoice::kOperators;
  std::string ops;
  std::int64_t max_ops = 2;
  std::int64_t seed = 1;
  std::int64_t memory = std::int64_t{8} << 30;
  bool keep_derivable = false;
  std::string folder;

  static const base::OptionTable<GenerateOptions>& table() {
    using T = GenerateOptions;
    static const base::OptionTable<T> rows{
        "rules generate",
        {{"space", &T::space, "What terms are made of: the operators of --ops, or TASO's space",
          base::one_of({"operators", "taso"})},
         {"ops", &T::ops, "Operators, separated by commas"},
         {"max-ops", &T::max_ops, "Operators of a term, at most", base::range(1, 8)},
         {"generate-seed", &T::seed, "Seed of random tensors and instances", base::range(0)},
         {"generate-memory", &T::memory, "Memory for terms and their values", base::bytes(1 << 20)},
         {"keep-derivable", &T::keep_derivable, "Keep rules that the others derive"},
         {"output-dir", &T::folder, "Folder for generated.rules, status.json and report.json",
          base::path(), 'o'}}};
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
  void declare(Arguments& arguments) override { arguments.options(options_); }

  base::Result<ExitCode> run(Console& console) override {
    if (options_.folder.empty()) return base::usage_error("say where rules go with -o DIR");
    EGRET_ASSIGN_OR_RETURN(const generator::Space space, wanted_space());
    generator::GenerationOptions how;
    how.enumeration.most_operators = static_cast<std::size_t>(options_.max_ops);
    how.enumeration.seed = static_cast<std::uint64_t>(options_.seed);
    how.enumeration.most_bytes = static_cast<std::size_t>(options_.memory);
    how.enumeration.progress = console.progress();
    how.verification.seed = static_cast<std::uint64_t>(options_.seed);
    how.verification.instances = 60;
    how.verification.tensor_checks = 60;
    how.verification.attempts_per_instance = 60;
    how.verification.most_families = 80;
    std::error_code error;
    std::filesystem::create_directories(options_.folder, error);
    if (error)
      return base::unavailable("cannot make the folder " + options_.folder + ": " +
                               error.message());
    how.log = options_.folder + "/decisions.jsonl";
    how.minimize = !options_.keep_derivable;
    EGRET_ASSIGN_OR_RETURN(const generator::Generation generation, generator::generate(space, how));
    EGRET_RETURN_IF_ERROR(generator::write_rule_files(options_.folder, space, generation));
    console.result(generator::report_json(space, generation), table_of(generation));
    return generation.stopped ? ExitCode::kLimit : ExitCode::kOk;
  }

 private:
  base::Result<generator::Space> wanted_space() const {
    if (options_.space == SpaceChoice::kTaso) {
      if (!options_.ops.empty())
        return base::usage_error("--ops and --space taso exclude each other");
      return generator::taso_space();
    }
    const std::vector<std::string> operators = split(options_.ops);
    if (operators.empty())
      return base::usage_error("say which operators with --ops add,matmul,... or --space taso");
    return generator::space_of_operators(operators);
  }

  std::string table_of(const generator::Generation& generation) const {
    using base::Align;
    base::TextTable table({{"operators", Align::kRight},
                           {"terms", Align::kRight},
                           {"classes", Align::kRight},
                           {"candidates", Align::kRight},
                           {"derived", Align::kRight},
                           {"proven", Align::kRight},
                           {"conditional", Align::kRight},
                           {"refuted", Align::kRight},
                           {"undecided", Align::kRight},
                           {"kept", Align::kRight},
                           {"enumerate", Align::kRight},
                           {"decide", Align::kRight},
                           {"memory", Align::kRight}});
    const auto count = [](std::uint64_t n) {
      return base::format_count(static_cast<std::int64_t>(n));
    };
    for (std::size_t i = 0; i < generation.candidates.size(); ++i) {
      const generator::LevelCount& level = generation.levels[i];
      const generator::CandidateCount& c = generation.candidates[i];
      table.row({count(level.operators), count(level.terms), count(level.classes),
                 count(c.candidates), count(c.derived), count(c.proven), count(c.conditional),
                 count(c.refuted), count(c.undecided), count(c.kept),
                 base::format_seconds(level.seconds), base::format_seconds(c.seconds),
                 base::format_bytes(static_cast<double>(level.bytes))});
    }
    return table.render() + "\n" + std::to_string(generation.rules.size()) + " rules in " +
           options_.folder + "\n";
  }

  GenerateOptions options_;
};

}  // namespace

Verb rules_generate_verb() {
  return {
      "rules generate", "Discover rules from the definitions of operators",
      "Terms of up to --max-ops operators are enumerated over small tensors of several sizes and "
      "evaluated in a finite field. Equal ones become rules: as general as can be proven, with "
      "the weakest condition found where one is needed. What the rules found before derive is "
      "left out. All rules written are proven.",
      make_command<Generate>};
}

}  // namespace egret::tools
