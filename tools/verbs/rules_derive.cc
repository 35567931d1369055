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
          "Terms that the rules of A start from: both sides of a rule or its left side. "
          "`optimizer` starts from the left side, applies heuristic conditions, and tests only "
          "instances that satisfy those of the rule",
          base::one_of({"both", "left", "optimizer"})},
         {"derive-instances", &T::instances, "Instances of each rule; all must be derived",
          base::range(1, 1000)},
         {"derive-iterations", &T::iterations, "Iterations of saturation", base::range(1, 1000)},
         {"derive-nodes", &T::nodes, "E-node limit of saturation", base::range(1, 1e8)},
         {"derive-matches", &T::matches,
          "Match limit of a rule before the backoff scheduler bans it", base::range(1, 1e8)},
         {"derive-multi", &T::multi, "Iterations in which rules with several sources run",
          base::range(0, 1000)},
         {"derive-seed", &T::seed, "Seed of the instances", base::range(0)}}};
    return rows;
  }
};

class Derive final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("A", set_, "Rules to derive with; see --rules in `egret help optimize`");
    arguments.positional("B", goals_, "Rules to derive");
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
  return {"rules derive", "Check which rules of one set follow from another set",
          "Instantiates each rule of B on small inputs that satisfy its condition, and runs the "
          "rules of A by equality saturation. The rule is derived if its two sides are then in one "
          "e-class in every instance. The exit code is 30 if a rule is not derived.",
          make_command<Derive>};
}

}  // namespace egret::tools
