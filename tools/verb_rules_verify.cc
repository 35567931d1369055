// SPDX-License-Identifier: Apache-2.0
// `egret rules verify`.
#include <algorithm>
#include <map>

#include "base/stop.h"
#include "base/text_table.h"
#include "base/units.h"
#include "rules/condition_inference.h"
#include "rules/rule_set.h"
#include "rules/verification.h"
#include "tools/verb.h"

namespace egret::tools {
namespace {

using Status = rules::Verdict::Status;

struct VerifyRuleOptions {
  std::int64_t instances = 200;
  std::int64_t checks = 100;
  std::int64_t seed = 1;
  bool infer_conditions = false;

  static const base::OptionTable<VerifyRuleOptions>& table() {
    using T = VerifyRuleOptions;
    static const base::OptionTable<T> rows{
        "rules verify",
        {{"instances", &T::instances, "Random instances that must be members of proven families",
          base::range(1, 1e6)},
         {"checks", &T::checks, "Instances that are run with tensors before anything is proven",
          base::range(0, 1e6)},
         {"seed", &T::seed, "Seed of the instances", base::range(0)},
         {"infer-conditions", &T::infer_conditions,
          "Find the weakest condition under which a refuted rule is proven"}}};
    return rows;
  }
};

// How a verdict was reached.
std::string method_of(const rules::Verdict& verdict) {
  switch (verdict.status) {
    case Status::kProven: return verdict.solver.queries == 0 ? "normal form" : "normal form and solver";
    case Status::kRefuted: return "counterexample";
    default: return "";
  }
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

class Verify final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.optional("SELECTION", selection_, "Which rules (default: all)");
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const rules::RuleSet set, rules::select_rules(selection_));
    rules::VerifyOptions how;
    how.instances = static_cast<int>(options_.instances);
    how.tensor_checks = static_cast<int>(options_.checks);
    how.seed = static_cast<std::uint64_t>(options_.seed);
    const base::Progress progress(console.progress(), "verify rules");
    rules::KnownSignatures known;
    for (std::size_t i = 0; i < set.rules.size() && !base::stop_requested(); ++i) {
      const base::Stopwatch watch;
      const rules::Verdict verdict = rules::verify(set.rules[i], how, known);
      const double seconds = watch.seconds();
      std::optional<rules::InferredCondition> condition;
      if (options_.infer_conditions && verdict.status == Status::kRefuted)
        condition = rules::infer_condition(set.rules[i], how, known);
      add(set.rules[i], verdict, seconds, condition);
      if (progress.due()) {
        progress.report({{base::kItems, i + 1}},
                        static_cast<double>(i + 1) / static_cast<double>(set.rules.size()),
                        set.rules[i].name);
      }
    }
    base::Json json = base::versioned_json();
    json.set("rules", std::move(list_));
    console.result(json, table_.render() + counterexamples_ + "\n" + summary());
    return exit_code();
  }

 private:
  void add(const rules::Rule& rule, const rules::Verdict& verdict, double seconds,
           const std::optional<rules::InferredCondition>& condition) {
    const std::string status(rules::to_string(verdict.status));
    const bool refuted = verdict.status == Status::kRefuted;
    list_.push(base::Json::object()
                   .set("name", rule.name)
                   .set("status", status)
                   .set("condition", condition ? condition->text : "")
                   .set("status_under_condition",
                        condition ? rules::to_string(condition->verdict.status) : "")
                   .set("condition_is_weakest", condition && condition->is_weakest())
                   .set("method", method_of(verdict))
                   .set("reason", refuted ? "" : verdict.reason)
                   .set("counterexample", refuted ? verdict.reason : "")
                   .set("families", verdict.families)
                   .set("instances", verdict.members)
                   .set("queries", verdict.solver.queries)
                   .set("seconds", seconds));
    constexpr std::size_t kWidth = 60;
    std::string reason = refuted ? "see below" : first_line(verdict.reason);
    if (reason.size() > kWidth) reason = reason.substr(0, kWidth) + "...";
    table_.row({rule.name, status, std::to_string(verdict.families),
                std::to_string(verdict.solver.queries), base::format_seconds(seconds), reason});
    if (refuted) counterexamples_ += "\n" + verdict.reason + "\n";
    if (condition) counterexamples_ += text_of(*condition);
    ++counts_[verdict.status];
    seconds_.push_back(seconds);
  }

  static std::string text_of(const rules::InferredCondition& condition) {
    return "  " + std::string(rules::to_string(condition.verdict.status)) + " where " +
           condition.text + "\n  of " + std::to_string(condition.outside) +
           " instances that do not satisfy this, " + std::to_string(condition.outside_equal) +
           " have equal sides\n";
  }

  std::string summary() {
    std::string text;
    for (const auto& [status, count] : counts_) {
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " +
              std::string(rules::to_string(status));
    }
    if (seconds_.empty()) return "no rules\n";
    std::ranges::sort(seconds_);
    return text + "; median " + base::format_seconds(seconds_[seconds_.size() / 2]) + ", longest " +
           base::format_seconds(seconds_.back()) + "\n";
  }

  // Vacuous and trivial rules are mistakes, as refuted ones are.
  ExitCode exit_code() const {
    for (const Status wrong : {Status::kRefuted, Status::kVacuous, Status::kTrivial}) {
      if (counts_.contains(wrong)) return ExitCode::kRefuted;
    }
    return counts_.contains(Status::kUndecided) ? ExitCode::kUndecided : ExitCode::kProven;
  }

  std::string selection_ = "all";
  VerifyRuleOptions options_;
  base::Json list_ = base::Json::array();
  base::TextTable table_{{{"rule"},
                          {"verdict"},
                          {"families", base::Align::kRight},
                          {"queries", base::Align::kRight},
                          {"time", base::Align::kRight},
                          {"why not"}}};
  std::string counterexamples_;
  std::map<Status, int> counts_;
  std::vector<double> seconds_;
};

}  // namespace

Verb rules_verify_verb() {
  return {
      "rules verify", "Prove rules for all sizes, or refute them",
      "Random instances of each rule are run with tensors first: a rule that fails is refuted, "
      "and the shapes, attributes and tensors are printed. Instances are then made general, and "
      "both sides are proven equal for all sizes and attributes that take the same path through "
      "the definitions, until as many random instances as asked for are members of such proven "
      "families. Exact real arithmetic is meant. Exit code 10 when all rules are proven, 20 when "
      "one is refuted, says nothing at all or has equal sides, 30 when some are undecided.",
      make_command<Verify>};
}

}  // namespace egret::tools
