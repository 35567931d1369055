// SPDX-License-Identifier: Apache-2.0
#include "egraph/runner.h"

#include <algorithm>
#include <utility>

namespace egret::egraph {
namespace {

class Stopwatch {
 public:
  // Seconds since the last lap.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

template <typename Field>
double total(const std::vector<IterationStats>& iterations, Field field) {
  double sum = 0;
  for (const IterationStats& stats : iterations) sum += stats.*field;
  return sum;
}

}  // namespace

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kSaturated: return "saturated";
    case StopReason::kIterationLimit: return "iteration limit";
    case StopReason::kNodeLimit: return "node limit";
    case StopReason::kByteLimit: return "byte limit";
    case StopReason::kMatchLimit: return "match limit";
    case StopReason::kTickLimit: return "tick limit";
    case StopReason::kTimeLimit: return "time limit";
    case StopReason::kHook: return "stopped by a hook";
    case StopReason::kConflict: return "conflict";
  }
  return "unknown";
}

double RunReport::search_seconds() const {
  return total(iterations, &IterationStats::search_seconds);
}
double RunReport::apply_seconds() const {
  return total(iterations, &IterationStats::apply_seconds);
}
double RunReport::rebuild_seconds() const {
  return total(iterations, &IterationStats::rebuild_seconds);
}

Runner::Runner(EGraph& egraph, std::span<const Rewrite> rules)
    : egraph_(egraph), scheduler_(std::make_unique<BackoffScheduler>()) {
  rules_.reserve(rules.size());
  for (const Rewrite& rewrite : rules) {
    Matcher matcher(rewrite.pattern(), egraph.ops());
    MatchBuffer buffer = matcher.make_buffer();
    rules_.push_back({&rewrite, std::move(matcher), std::move(buffer)});
  }
}

RunReport Runner::run() {
  Budget budget(limits_);
  RunReport report;
  for (const Rule& rule : rules_) report.rules.emplace_back().name = rule.rewrite->name();
  scheduler_->start(rules_.size());
  Stop stop;
  if (base::Status status = egraph_.rebuild(); !status.ok()) {
    report.conflict = std::move(status);
    stop = StopReason::kConflict;
  }
  while (!stop) {
    if (report.iterations.size() >= limits_.iterations) {
      stop = StopReason::kIterationLimit;
    } else if (hooks_.before_iteration && !hooks_.before_iteration(egraph_, report)) {
      stop = StopReason::kHook;
    } else {
      stop = iterate(report, budget);
    }
  }
  report.stop = *stop;
  report.ticks = budget.ticks();
  report.seconds = budget.seconds();
  return report;
}

Runner::Stop Runner::iterate(RunReport& report, Budget& budget) {
  const std::uint64_t keys = egraph_.keys_inserted();
  const std::uint64_t merges = egraph_.merge_count();
  IterationStats stats;
  Stopwatch watch;
  Stop stop = search_all(report, stats, budget);
  stats.search_seconds = watch.lap();
  if (!stop) stop = apply_all(report, stats, budget);
  stats.apply_seconds = watch.lap();
  const std::uint64_t ticks = egraph_.ticks();
  base::Status conflict = egraph_.rebuild();
  budget.spend(egraph_.ticks() - ticks);
  stats.rebuild_seconds = watch.lap();

  stats.nodes = egraph_.node_count();
  stats.classes = egraph_.class_count();
  stats.bytes = egraph_.bytes();
  stats.keys = egraph_.keys_inserted();
  const std::uint64_t iteration = report.iterations.size();
  report.iterations.push_back(stats);
  if (!conflict.ok()) {
    report.conflict = std::move(conflict);
    return StopReason::kConflict;
  }
  if (stop) return stop;
  const bool quiet = keys == egraph_.keys_inserted() && merges == egraph_.merge_count();
  if (quiet && scheduler_->may_stop(iteration)) return StopReason::kSaturated;
  if (budget.exhausted()) return budget.reason();
  return check_size();
}

Runner::Stop Runner::search_all(RunReport& report, IterationStats& stats, Budget& budget) {
  const std::uint64_t iteration = report.iterations.size();
  Stopwatch watch;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    Rule& rule = rules_[i];
    rule.matches.clear();
    const std::uint64_t welcome = scheduler_->match_limit(iteration, i);
    if (welcome == 0) continue;
    RuleStats& rule_stats = report.rules[i];
    ++rule_stats.searches;
    const std::uint64_t left = limits_.matches - std::min(limits_.matches, stats.matches);
    const std::uint64_t fitting = fitting_matches(rule);
    const SearchEnd end =
        rule.matcher.search(egraph_, std::min({welcome, left, fitting}), budget, rule.matches);
    rule_stats.search_seconds += watch.lap();
    if (end == SearchEnd::kExhausted) return budget.reason();
    const bool exceeded = rule.matches.size() > welcome;
    if (!exceeded && rule.matches.size() > left) return StopReason::kMatchLimit;
    if (!exceeded && rule.matches.size() > fitting) return StopReason::kByteLimit;
    if (!scheduler_->accept(iteration, i, exceeded)) {
      ++rule_stats.bans;
      rule.matches.clear();
    }
    rule_stats.matches += rule.matches.size();
    stats.matches += rule.matches.size();
  }
  return {};
}

Runner::Stop Runner::apply_all(RunReport& report, IterationStats& stats, Budget& budget) {
  Stopwatch watch;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    RuleStats& rule_stats = report.rules[i];
    const std::uint64_t applied = rule_stats.applied;
    const Stop stop = apply(rules_[i], rule_stats, budget);
    stats.applied += rule_stats.applied - applied;
    rule_stats.apply_seconds += watch.lap();
    if (stop) return stop;
    if (hooks_.after_rule && !hooks_.after_rule(egraph_, i)) return StopReason::kHook;
  }
  return {};
}

Runner::Stop Runner::apply(Rule& rule, RuleStats& stats, Budget& budget) {
  using Outcome = Rewrite::Outcome;
  constexpr std::size_t kCheckEvery = 64;
  constexpr std::size_t kAhead = 8;  // matches whose look-ups are on their way
  std::uint64_t ticks = egraph_.ticks();
  for (std::size_t i = 0; i < rule.matches.size(); ++i) {
    if (i + kAhead < rule.matches.size()) {
      rule.rewrite->prefetch(egraph_, rule.matches[i + kAhead]);
    }
    const Rewrite::Application done = rule.rewrite->apply(egraph_, rule.matches[i]);
    switch (done.outcome) {
      case Outcome::kChanged: ++stats.applied; break;
      case Outcome::kUnchanged: ++stats.unchanged; break;
      case Outcome::kRejected: ++stats.rejected; break;
      case Outcome::kRefused:
        if (stats.refused++ == 0) stats.first_refusal = done.refusal.message();
        break;
    }
    if (egraph_.node_count() > limits_.nodes) return StopReason::kNodeLimit;
    if (i % kCheckEvery != 0) continue;
    if (const Stop stop = check_size(); stop) return stop;
    if (!budget.spend(1 + egraph_.ticks() - ticks)) return budget.reason();
    ticks = egraph_.ticks();
  }
  budget.spend(egraph_.ticks() - ticks);
  return {};
}

Runner::Stop Runner::check_size() const {
  if (egraph_.node_count() > limits_.nodes) return StopReason::kNodeLimit;
  if (limits_.bytes == Limits::kNone) return {};
  return bytes() > limits_.bytes ? Stop(StopReason::kByteLimit) : Stop();
}

std::size_t Runner::bytes() const {
  std::size_t bytes = egraph_.bytes();
  for (const Rule& rule : rules_) bytes += rule.matches.bytes();
  return bytes;
}

// How many matches of this rule the byte limit has room for. Its buffer may double as it grows.
std::uint64_t Runner::fitting_matches(const Rule& rule) const {
  const std::size_t row = rule.matches.row_bytes();
  if (limits_.bytes == Limits::kNone || row == 0) return Limits::kNone;
  const std::size_t others = bytes() - rule.matches.bytes();
  const std::size_t room = limits_.bytes - std::min<std::size_t>(limits_.bytes, others);
  return room / (2 * row);
}

}  // namespace egret::egraph
