// SPDX-License-Identifier: Apache-2.0
// `egret rules list | show | test`.
#include <set>

#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "base/stop.h"
#include "rules/proving/instance_search.h"
#include "rules/proving/verification.h"
#include "rules/tensors/dynamic_rules.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/rule_status.h"
#include "rules/testing/tester.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

class List final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.optional("SELECTION", selection_,
                       "Rules to list (default: all); see --rules in `egret help optimize`");
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const rules::RuleSet set, rules::select_rules(selection_));
    EGRET_ASSIGN_OR_RETURN(const rules::RuleStatuses statuses, rules::statuses_of(set));
    for (const std::string& note : set.notes) console.detail(note);
    base::Json json = base::versioned_json();
    base::Json list = base::Json::array();
    base::TextTable table({{"rule"}, {"status"}, {"limit"}, {"file"}, {"what"}});
    for (const rules::Rule& rule : set.rules) {
      const std::string_view status = rules::to_string(statuses.of(rule));
      const rules::RuleLimit limit = statuses.limit_of(rule);
      const std::string limited = limit.is_none() ? "" : rules::to_string(limit);
      list.push(base::Json::object()
                    .set("name", rule.name)
                    .set("status", status)
                    .set("limit", limited)
                    .set("file", rule.file)
                    .set("doc", rule.doc));
      table.row({rule.name, std::string(status), limited, rule.file, first_line(rule.doc)});
    }
    for (const rules::DynamicRule* rule : set.dynamic) {
      list.push(base::Json::object()
                    .set("name", rule->name)
                    .set("status", "dynamic")
                    .set("limit", "")
                    .set("doc", rule->help));
      table.row({std::string(rule->name), "dynamic", "", "", std::string(rule->help)});
    }
    json.set("rules", std::move(list)).set("hash", set.hash().to_hex());
    console.result(
        json, table.render() + base::counted(static_cast<std::int64_t>(set.size()), "rule") + "\n");
    return ExitCode::kOk;
  }

 private:
  std::string selection_ = "all";
};

struct ShowRuleOptions {
  bool proof = false;

  static const base::OptionTable<ShowRuleOptions>& table() {
    using T = ShowRuleOptions;
    static const base::OptionTable<T> rows{
        "rules show",
        {{"proof", &T::proof,
          "Prove the rules and print for each family of instances its conditions, both sides as "
          "sums, and the matching of their terms"}}};
    return rows;
  }
};

class Show final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("SELECTION", selection_, "Rules to print: a name or a pattern");
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const rules::RuleSet set, rules::select_rules(selection_));
    EGRET_ASSIGN_OR_RETURN(const rules::RuleStatuses statuses, rules::statuses_of(set));
    base::Json json = base::versioned_json();
    base::Json list = base::Json::array();
    std::string text;
    rules::KnownOperators known;
    for (const rules::Rule& rule : set.rules) {
      const std::string status(rules::to_string(statuses.of(rule)));
      base::Json entry = base::Json::object();
      entry.set("name", rule.name).set("status", status).set("text", rules::to_string(rule));
      text += "# " + status + "\n" + rules::to_string(rule) + "\n";
      if (options_.proof) {
        const rules::Verdict verdict = rules::verify(rule, {}, known);
        base::Json proofs = base::Json::array();
        text += rules::to_string(verdict.status);
        text += (verdict.reason.empty() ? "" : ": " + verdict.reason) + "\n";
        std::set<std::string> shown;  // some differ in texts and types of attributes only
        for (const std::string& proof : verdict.proofs) {
          if (!shown.insert(proof).second) continue;
          proofs.push(proof);
          text += proof;
        }
        entry.set("verdict", rules::to_string(verdict.status)).set("proofs", std::move(proofs));
      }
      list.push(std::move(entry));
    }
    json.set("rules", std::move(list));
    console.result(json, text);
    return ExitCode::kOk;
  }

 private:
  std::string selection_;
  ShowRuleOptions options_;
};

struct TestRuleOptions {
  std::int64_t checks = 1000;
  std::int64_t seed = 1;

  static const base::OptionTable<TestRuleOptions>& table() {
    using T = TestRuleOptions;
    static const base::OptionTable<T> rows{
        "rules test",
        {{"checks", &T::checks, "Random instances to evaluate of each rule", base::range(1, 1e9)},
         {"seed", &T::seed, "Seed of random numbers", base::range(0)}}};
    return rows;
  }
};

class Test final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.optional("SELECTION", selection_, "Rules to test (default: all)");
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const rules::RuleSet set, rules::select_rules(selection_));
    if (set.rules.empty()) return base::bad_input("'" + selection_ + "' selects no rules to test");
    base::Json json = base::versioned_json();
    base::Json list = base::Json::array();
    base::TextTable table({{"rule"},
                           {"verdict"},
                           {"checks", base::Align::kRight},
                           {"time", base::Align::kRight},
                           {"why not, or limit"}});
    std::string counterexamples;
    bool refuted = false;
    const base::Progress progress(console.progress(), "test rules");
    rules::KnownOperators known;
    for (std::size_t i = 0; i < set.rules.size() && !base::stop_requested(); ++i) {
      const rules::Rule& rule = set.rules[i];
      const base::Stopwatch watch;
      const rules::TestReport report =
          rules::test_rule(rule,
                           {.checks = static_cast<int>(options_.checks),
                            .seed = static_cast<std::uint64_t>(options_.seed),
                            .solved = rules::solved_instances},
                           known);
      const std::string verdict(rules::to_string(report.verdict));
      list.push(base::Json::object()
                    .set("name", rule.name)
                    .set("status", verdict)
                    .set("checks", report.checks)
                    .set("counterexample", report.counterexample)
                    .set("reason", report.reason)
                    .set("only_with_size_0", report.of_empty)
                    .set("seconds", watch.seconds()));
      table.row({rule.name, verdict, base::format_count(report.checks),
                 base::format_seconds(watch.seconds()),
                 report.of_empty ? "only with a size of 0" : report.reason});
      if (!report.counterexample.empty())
        counterexamples += "\n" + rule.name + ":\n" + report.counterexample + "\n";
      refuted = refuted || report.verdict == rules::TestReport::Verdict::kRefuted;
      if (progress.due()) {
        progress.report({{base::kItems, i + 1}},
                        static_cast<double>(i + 1) / static_cast<double>(set.rules.size()),
                        rule.name);
      }
    }
    json.set("rules", std::move(list));
    console.result(json, table.render() + counterexamples);
    return refuted ? ExitCode::kRefuted : ExitCode::kOk;
  }

 private:
  std::string selection_ = "all";
  TestRuleOptions options_;
};

}  // namespace

Verb rules_list_verb() {
  return {"rules list", "List rewrite rules with their status",
          "A rule is proven (for all sizes), bounded (proven for sizes up to a bound), tested (it "
          "held on random instances) or untested. Dynamic rules are implemented in C++. SELECTION "
          "has the form of --rules of `egret optimize`.",
          make_command<List>};
}
Verb rules_show_verb() {
  return {"rules show", "Print rules in the rule language",
          "Prints rules in canonical form with their status. --proof prints their proofs.",
          make_command<Show>};
}
Verb rules_test_verb() {
  return {"rules test", "Check rules on random instances",
          "Instantiates each rule with random small shapes, attributes and tensors, and compares "
          "both sides with the reference interpreter. If a rule is refuted, its counterexample is "
          "printed and the exit code is 20.",
          make_command<Test>};
}

}  // namespace egret::tools
