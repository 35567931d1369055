// SPDX-License-Identifier: Apache-2.0
// `egret rules verify`.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "base/stop.h"
#include "base/system/file.h"
#include "base/system/in_order.h"
#include "base/system/thread_pool.h"
#include "base/thread_clock.h"
#include "base/timer.h"
#include "rules/proofs/rule_certificate_writer.h"
#include "rules/proving/condition_inference.h"
#include "rules/proving/record.h"
#include "rules/proving/verification.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/rule_status.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

using Status = rules::Verdict::Status;

// Tests with tensors of rules whose verdicts are kept.
constexpr std::int64_t kLeastKeptChecks = 1000;

struct VerifyRuleOptions {
  std::int64_t instances = 100;
  std::int64_t tensor_checks = 100;
  std::int64_t small = 400'000;
  std::int64_t seed = 1;
  std::string lemmas = "all";
  std::int64_t bounded = 2000;
  bool infer_conditions = false;
  bool second_opinion = false;
  bool write = false;
  std::string keep_queries;
  std::string certificates;

  static const base::OptionTable<VerifyRuleOptions>& table() {
    using T = VerifyRuleOptions;
    static const base::OptionTable<T> rows{
        "rules verify",
        {{"instances", &T::instances, "Random instances that proven families must contain",
          base::range(1, 1e6)},
         {"tensor-checks", &T::tensor_checks,
          "Random instances that are evaluated with tensors before the proof", base::range(0, 1e6)},
         {"small", &T::small,
          "Limit of the enumeration of small instances of up to four axes, in types that it looks "
          "up",
          base::range(0, 1e9)},
         {"seed", &T::seed, "Seed of random numbers", base::range(0)},
         {"lemmas", &T::lemmas,
          "Proven rules for deriving families that have no proof of their own; '': none"},
         {"bounded", &T::bounded, "Members to check of a family without a proof, at most",
          base::range(0, 1e6)},
         {"infer-conditions", &T::infer_conditions,
          "Find the weakest condition under which a refuted rule is proven"},
         {"second-opinion", &T::second_opinion,
          "Let cvc5 confirm each answer of Z3 that a proof uses"},
         {"write", &T::write,
          "Keep the verdicts beside each rule file, in FILE.status.json; --rules FILE then runs "
          "the "
          "proven rules"},
         {"keep-queries", &T::keep_queries,
          "Write each query to Z3 into this folder, as an SMT-LIB file", base::output_folder()},
         {"certificates", &T::certificates,
          "Write the proofs of proven rules into this file, for egret-check-rule; no lemmas are "
          "used",
          base::output_file()}}};
    return rows;
  }
};

// Why a proven rule is not known to hold for all sizes and attributes; empty without a limit.
std::string limit_text(const rules::Verdict& verdict) {
  if (verdict.status != Status::kProven) return "";
  std::string limit = verdict.of_empty ? "only with a size of 0" : "";
  if (verdict.cover.open.empty()) return limit;
  const auto open = static_cast<std::int64_t>(verdict.cover.kinds - verdict.cover.complete);
  return limit + (limit.empty() ? "" : "; ") + base::counted(open, "kind") +
         " not covered: " + verdict.cover.open;
}

// Kinds of instances that are covered, of all; or that all ranks are.
std::string covered_of(const rules::Verdict& verdict) {
  if (verdict.cover.kinds == 0) return "";
  if (verdict.any_rank && verdict.cover.complete == verdict.cover.kinds) return "any rank";
  return std::to_string(verdict.cover.complete) + " of " + std::to_string(verdict.cover.kinds);
}

// How a verdict was reached.
std::string method_of(const rules::Verdict& verdict) {
  switch (verdict.status) {
    case Status::kProven:
      if (verdict.derived > 0) return "derivation";
      return verdict.solver.queries == 0 ? "normal form" : "normal form and solver";
    case Status::kBounded: return "exhaustive check";
    case Status::kRefuted: return "counterexample";
    default: return "";
  }
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

class Verify final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.optional("SELECTION", selection_, "Rules to verify (default: all)");
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const rules::RuleSet set, rules::select_rules(selection_));
    if (set.rules.empty())
      return base::bad_input("'" + selection_ + "' selects no rules to verify");
    for (const std::string& note : set.notes) console.detail(note);
    if (options_.write && set.files.empty())
      return base::usage_error("--write: '" + selection_ + "' selects no rule file");
    if (options_.second_opinion && !rules::has_second_solver()) {
      return base::unavailable(
          "--second-opinion: this build has no cvc5; install libcvc5-dev and build again");
    }
    const bool certifies = !options_.certificates.empty();
    std::vector<rules::Lemma> lemmas;
    if (!certifies) {
      EGRET_ASSIGN_OR_RETURN(lemmas, proven_lemmas());
    }
    rules::VerifyOptions how;
    how.lemmas = lemmas;
    how.instances = static_cast<int>(options_.instances);
    how.tensor_checks =
        static_cast<int>(options_.write ? std::max(options_.tensor_checks, kLeastKeptChecks)
                                        : options_.tensor_checks);
    how.small_effort = static_cast<std::size_t>(options_.small);
    how.seed = static_cast<std::uint64_t>(options_.seed);
    how.bounded_members = options_.bounded;
    how.keep_queries = !options_.keep_queries.empty();
    how.second_opinion = options_.second_opinion;
    const base::Progress progress(console.progress(), "verify rules");
    const base::Stopwatch watch;
    rules::KnownOperators known;
    EGRET_ASSIGN_OR_RETURN(rules::StatusFiles statuses, rules::StatusFiles::open(set));
    base::Status kept = base::ok();
    base::in_order<Outcome>(
        base::shared_pool(), set.rules.size(),
        [&](std::size_t i) -> std::optional<Outcome> {
          if (base::stop_requested()) return std::nullopt;
          Outcome outcome = outcome_of(set.rules[i], how, known);
          if (certifies && outcome.verdict.status == Status::kProven) {
            const base::ThreadStopwatch certifying;
            outcome.certificate = rules::certify(set.rules[i], outcome.verdict, known);
            outcome.certify_seconds = certifying.seconds();
          }
          if (base::stop_requested()) return std::nullopt;  // before it was decided
          return outcome;
        },
        [&](std::size_t i, const Outcome& outcome) {
          if (kept.ok()) kept = write_queries(set.rules[i], outcome.verdict);
          if (options_.write) statuses.add(set.rules[i], outcome.verdict);
          if (options_.write && kept.ok()) kept = statuses.write();
          add(set.rules[i], outcome);
          if (outcome.certificate) add_certificate(set.rules[i], outcome);
          if (progress.due()) {
            progress.report({{base::kItems, i + 1}},
                            static_cast<double>(i + 1) / static_cast<double>(set.rules.size()),
                            set.rules[i].name);
          }
        });
    EGRET_RETURN_IF_ERROR(kept);
    if (certifies) EGRET_RETURN_IF_ERROR(base::write_file(options_.certificates, certificates_));
    base::Json json = base::versioned_json();
    json.set("rules", std::move(list_))
        .set("seconds", watch.seconds())
        .set("threads", std::uint64_t{base::shared_pool().threads()})
        .set("solver", json_of(solver_));
    if (certifies) {
      json.set("certificates", base::Json::object()
                                   .set("written", written_)
                                   .set("need_solver", need_solver_)
                                   .set("contradictions", std::uint64_t{contradictions_})
                                   .set("contradictions_of_solver", std::uint64_t{of_solver_}));
    }
    console.result(json, table_.render() + below_ + "\n" + summary(watch.seconds()));
    return exit_code();
  }

 private:
  struct Outcome {
    rules::Verdict verdict;
    double seconds = 0;  // of processor time
    std::optional<rules::InferredCondition> condition;
    std::optional<base::Result<rules::RuleCertificate>> certificate{};
    double certify_seconds = 0;  // of processor time
  };

  Outcome outcome_of(const rules::Rule& rule, const rules::VerifyOptions& how,
                     rules::KnownOperators& known) const {
    const base::ThreadStopwatch watch;
    Outcome outcome{rules::verify(rule, how, known), 0, std::nullopt};
    outcome.seconds = watch.seconds();
    if (options_.infer_conditions && outcome.verdict.status == Status::kRefuted)
      outcome.condition = rules::infer_condition(rule, how, known);
    return outcome;
  }

  // Within the limits of their recorded proofs.
  base::Result<std::vector<rules::Lemma>> proven_lemmas() const {
    std::vector<rules::Lemma> lemmas;
    if (options_.lemmas.empty()) return lemmas;
    EGRET_ASSIGN_OR_RETURN(rules::RuleSet set, rules::select_rules(options_.lemmas));
    EGRET_ASSIGN_OR_RETURN(const rules::RuleStatuses statuses, rules::statuses_of(set));
    // A rule of Egret that was just edited has no recorded proof, and is to be verified here.
    if (options_.lemmas == VerifyRuleOptions().lemmas) {
      std::erase_if(set.rules, [&](const rules::Rule& rule) {
        return statuses.of(rule) != rules::RuleStatus::kProven;
      });
    }
    EGRET_RETURN_IF_ERROR(rules::require_status(set, statuses, rules::RuleStatus::kProven));
    for (rules::Rule& rule : set.rules) {
      rules::RuleLimit limit = statuses.limit_of(rule);
      lemmas.push_back({std::move(rule), std::move(limit)});
    }
    return lemmas;
  }

  void add_certificate(const rules::Rule& rule, const Outcome& outcome) {
    const auto& certificate = *outcome.certificate;
    if (!certificate.ok()) {
      below_ += "\n" + rule.name + ": no certificate: " + certificate.status().message() + "\n";
      return;
    }
    ++written_;
    contradictions_ += certificate->contradictions.size();
    of_solver_ += certificate->solver.size();
    if (!certificate->solver.empty()) ++need_solver_;
    certificates_ += rules::json_of(*certificate).dump() + "\n";
  }

  // RULE-001.smt2 and so on, in the order in which they were asked.
  base::Status write_queries(const rules::Rule& rule, const rules::Verdict& verdict) const {
    for (std::size_t i = 0; i < verdict.queries.size(); ++i) {
      char number[32];
      std::snprintf(number, sizeof number, "-%03zu.smt2", i + 1);
      std::string name = rule.name + number;
      std::ranges::replace(name, '/', '.');
      const auto path = std::filesystem::path(options_.keep_queries) / name;
      EGRET_RETURN_IF_ERROR(base::write_file(path.string(), verdict.queries[i]));
    }
    return base::ok();
  }

  static base::Json json_of(const verifier::SolverStatistics& solver) {
    return base::Json::object()
        .set("queries", solver.queries)
        .set("remembered", solver.remembered)
        .set("contradictions", solver.contradictions)
        .set("confirmed", solver.confirmed)
        .set("unconfirmed", solver.unconfirmed)
        .set("disagreed", solver.disagreed)
        .set("longest_query_s", solver.longest_seconds)
        .set("most_work", solver.most_work);
  }

  void add(const rules::Rule& rule, const Outcome& outcome) {
    const rules::Verdict& verdict = outcome.verdict;
    const auto& condition = outcome.condition;
    const std::string status(rules::to_string(verdict.status));
    const bool refuted = verdict.status == Status::kRefuted;
    list_.push(base::Json::object()
                   .set("name", rule.name)
                   .set("status", status)
                   .set("condition", condition ? condition->text : "")
                   .set("status_under_condition",
                        condition ? rules::to_string(condition->verdict.status) : "")
                   .set("weakest", condition ? rules::to_string(condition->weakest) : "")
                   .set("weakest_rank", condition ? condition->weakest_rank : 0)
                   .set("why_not_weakest", condition ? condition->why_not_proven : "")
                   .set("method", method_of(verdict))
                   .set("reason", refuted ? "" : verdict.reason)
                   .set("counterexample", refuted ? verdict.reason : "")
                   .set("bound", verdict.bound)
                   .set("families", verdict.families)
                   .set("instances", verdict.members)
                   .set("axes", verdict.axes)
                   .set("any_rank", verdict.any_rank)
                   .set("only_with_size_0", verdict.of_empty)
                   .set("rank", verdict.cover.rank)
                   .set("kinds", verdict.cover.kinds)
                   .set("kinds_covered", verdict.cover.complete)
                   .set("paths", static_cast<std::int64_t>(verdict.cover.paths))
                   .set("limit", limit_text(verdict))
                   .set("queries", verdict.solver.queries)
                   .set("solver", json_of(verdict.solver))
                   .set("seconds", outcome.seconds));
    constexpr std::size_t kWidth = 60;
    std::string reason = refuted ? "see below" : first_line(verdict.reason);
    if (const std::string limit = limit_text(verdict); !limit.empty()) reason = limit;
    if (reason.size() > kWidth) {
      below_ += "\n" + rule.name + ": " + reason + "\n";
      reason = reason.substr(0, kWidth) + "...";
    }
    const std::string shown =
        verdict.bound > 0 ? status + " <= " + std::to_string(verdict.bound) : status;
    table_.row({rule.name, shown, std::to_string(verdict.families), covered_of(verdict),
                std::to_string(verdict.solver.queries), base::format_seconds(outcome.seconds),
                reason});
    if (refuted || verdict.status == Status::kDisputed) below_ += "\n" + verdict.reason + "\n";
    if (condition) below_ += text_of(*condition);
    ++counts_[verdict.status];
    seconds_.push_back(outcome.seconds);
    verifier::add(solver_, verdict.solver);
  }

  static std::string text_of(const rules::InferredCondition& condition) {
    return "  " + std::string(rules::to_string(condition.verdict.status)) + " where " +
           condition.text + "\n  of " + base::counted(condition.outside, "instance") +
           " beyond this, " +
           base::counted(condition.outside_equal, "has equal sides", "have equal sides") + "\n" +
           weakest_of(condition);
  }

  static std::string weakest_of(const rules::InferredCondition& condition) {
    using Weakest = rules::InferredCondition::Weakest;
    if (condition.weakest == Weakest::kUnknown) return "";
    if (condition.weakest == Weakest::kTested)
      return "  weakest tested, not proven: " + first_line(condition.why_not_proven) + "\n";
    return "  weakest proven: beyond it the sides differ for some tensors, for all sizes and ranks "
           "up to " +
           std::to_string(condition.weakest_rank) + "\n";
  }

  std::string summary(double elapsed) {
    std::string text;
    for (const auto& [status, count] : counts_) {
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " +
              std::string(rules::to_string(status));
    }
    if (seconds_.empty()) return "no rules\n";
    std::ranges::sort(seconds_);
    const std::size_t threads = base::shared_pool().threads();
    text += "; median " + base::format_seconds(seconds_[seconds_.size() / 2]) + ", longest " +
            base::format_seconds(seconds_.back()) + ", all " + base::format_seconds(elapsed) +
            " on " + base::counted(static_cast<std::int64_t>(threads), "thread") + "\n";
    text += base::counted(solver_.queries, "query", "queries") + ", longest " +
            base::format_seconds(solver_.longest_seconds) + " (" +
            base::counted(static_cast<std::int64_t>(solver_.most_work), "unit") + " of work); " +
            std::to_string(solver_.remembered) + " answered from memory\n";
    if (!options_.certificates.empty()) {
      text += base::counted(written_, "certificate") + ", " + std::to_string(need_solver_) +
              " of them need the solver: it alone knows of " + std::to_string(of_solver_) + " of " +
              std::to_string(contradictions_ + of_solver_) + " contradictions\n";
    }
    if (options_.second_opinion) {
      text += "of " + base::counted(solver_.contradictions, "answer") +
              " that proofs use, cvc5 confirms " + std::to_string(solver_.confirmed) +
              ", does not decide " + std::to_string(solver_.unconfirmed) + ", contradicts " +
              std::to_string(solver_.disagreed) + "\n";
    }
    return text;
  }

  // Vacuous and trivial rules are mistakes, as refuted ones are.
  ExitCode exit_code() const {
    if (counts_.contains(Status::kDisputed)) return ExitCode::kInternal;
    for (const Status wrong : {Status::kRefuted, Status::kVacuous, Status::kTrivial}) {
      if (counts_.contains(wrong)) return ExitCode::kRefuted;
    }
    const bool open = counts_.contains(Status::kUndecided) || counts_.contains(Status::kBounded);
    return open ? ExitCode::kUndecided : ExitCode::kOk;
  }

  std::string selection_ = "all";
  VerifyRuleOptions options_;
  base::Json list_ = base::Json::array();
  base::TextTable table_{{{"rule"},
                          {"verdict"},
                          {"families", base::Align::kRight},
                          {"covered", base::Align::kRight},
                          {"queries", base::Align::kRight},
                          {"time", base::Align::kRight},
                          {"why not, or limit"}}};
  std::string below_;
  std::map<Status, int> counts_;
  verifier::SolverStatistics solver_;
  std::string certificates_;  // a line each
  std::int64_t written_ = 0;
  std::int64_t need_solver_ = 0;
  std::size_t contradictions_ = 0;  // with proofs
  std::size_t of_solver_ = 0;
  std::vector<double> seconds_;
};

}  // namespace

Verb rules_verify_verb() {
  return {
      "rules verify", "Prove rules for all sizes, or refute them",
      "First, random instances of each rule are evaluated with tensors. A rule that fails is "
      "refuted, and its shapes, attributes and tensors are printed. Then instances are "
      "generalized to families: all sizes and attributes that take the same path through the "
      "definitions. Both sides are proven equal for a family, over real numbers, until proven "
      "families contain --instances random instances. Rules are verified in parallel; the "
      "verdicts do not depend on the number of threads.\n\nThe work of Z3 is bounded, not its "
      "time, so its answers are reproducible. With --second-opinion, cvc5 checks each answer "
      "that a proof uses. If it contradicts Z3, the rule is disputed and the exit code is "
      "1.\n\nWith --write, the verdicts on the rules of a file are kept beside it, under hashes "
      "of the rules and of the definitions of their operators. They hold until a rule or one of "
      "these definitions changes.\n\nThe exit code is 0 if all rules are proven; 20 if a rule "
      "is refuted, is vacuous or has equal sides; and 30 if a rule is undecided.",
      make_command<Verify>};
}

}  // namespace egret::tools
