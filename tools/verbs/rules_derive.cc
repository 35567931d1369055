// SPDX-License-Identifier: Apache-2.0
// `egret rules derive`.
#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "base/stop.h"
#include "rules/generator/derivation.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct DeriveOptions {
  rules::DerivationMode mode = rules::DerivationMode::kBothSides;
  std::int64_t instances = 2;
  std::int64_t iterations = 5;
  std::int64_t nodes = 100'000;
  std::int64_t matches = 1000;
  std::int64_t multi = 2;
  std::int64_t seed = 1;

  static const base::OptionTable<DeriveOptions>& table() {
    using T = DeriveOptions;
    static const base::OptionTable<T> rows{
        "rules derive",
        {{"derive-from", &T::mode,
          "What the set may work on: both sides of a rule, or its left side alone; `optimizer`: "
          "the left side, with the set's heuristics, where those of the rule hold",
          base::one_of({"both", "left", "optimizer"})},
         {"derive-instances", &T::instances, "Instances of a rule that must all be derived",
          base::range(1, 1000)},
         {"derive-iterations", &T::iterations, "Iterations of saturation", base::range(1, 1000)},
         {"derive-nodes", &T::nodes, "E-nodes at which saturation ends", base::range(1, 1e8)},
         {"derive-matches", &T::matches, "Matches of a rule before its first ban",
          base::range(1, 1e8)},
         {"derive-multi", &T::multi, "Iterations in which rules with several sources run",
          base::range(0, 1000)},
         {"derive-seed", &T::seed, "Seed of the instances", base::range(0)}}};
    return rows;
  }
};

class Derive final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("A", set_, "The rules to derive with; see egret help optimize");
    arguments.positional("B", goals_, "The rules to derive");
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(rules::RuleSet set, rules::select_rules(set_));
    EGRET_ASSIGN_OR_RETURN(const rules::RuleSet goals, rules::select_rules(goals_));
    if (options_.mode != rules::DerivationMode::kOptimizer)
      set = rules::without_heuristics(std::move(set));
    rules::DerivationOptions how;
    how.mode = options_.mode;
    how.instances = static_cast<int>(options_.instances);
    how.iterations = static_cast<std::uint64_t>(options_.iterations);
    how.nodes = static_cast<std::uint64_t>(options_.nodes);
    how.matches = static_cast<std::uint64_t>(options_.matches);
    how.multi_pattern_iterations = static_cast<int>(options_.multi);
    how.seed = static_cast<std::uint64_t>(options_.seed);
    const base::Progress progress(console.progress(), "derive rules");
    const base::Stopwatch watch;
    rules::KnownOperators known;
    base::Json missing = base::Json::array();
    base::TextTable table({{"not derived"}, {"why"}});
    std::size_t derived = 0;
    std::size_t total = 0;
    for (const rules::Rule& goal : goals.rules) {
      if (base::stop_requested()) break;
      const rules::Derivation derivation = rules::derive(set, goal, how, known);
      ++total;
      derived += derivation.derived ? 1 : 0;
      if (!derivation.derived) {
        missing.push(base::Json::object().set("name", goal.name).set("reason", derivation.reason));
        table.row({goal.name, derivation.reason});
      }
      if (progress.due()) {
        progress.report({{base::kItems, total}},
                        static_cast<double>(total) / static_cast<double>(goals.rules.size()),
                        goal.name);
      }
    }
    const base::Json json = base::versioned_json()
                                .set("total", total)
                                .set("derived", derived)
                                .set("rules", set.size())
                                .set("missing", std::move(missing))
                                .set("seconds", watch.seconds());
    console.result(json, (derived < total ? table.render() + "\n" : "") + std::to_string(derived) +
                             " of " + base::counted(static_cast<std::int64_t>(total), "rule") +
                             " derived by " +
                             base::counted(static_cast<std::int64_t>(set.size()), "rule") + " in " +
                             base::format_seconds(watch.seconds()) + "\n");
    return derived == total ? ExitCode::kOk : ExitCode::kUndecided;
  }

 private:
  std::string set_;
  std::string goals_;
  DeriveOptions options_;
};

}  // namespace

Verb rules_derive_verb() {
  return {
      "rules derive", "Say which rules of one set follow from another",
      "Each rule of B is put on small concrete inputs that satisfy its condition, and the rules "
      "of A run on them by equality saturation. The rule is derived when its two sides are then "
      "in one class, on every instance tried. Exit code 30 when some are not.",
      make_command<Derive>};
}

}  // namespace egret::tools
