// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/runner.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "egraph/schedulers/backoff.h"
#include "egraph/search/apply_block.h"
#include "egraph/search/inverse_rules.h"

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

std::vector<const Pattern*> patterns_of(std::span<const Rewrite> rules) {
  std::vector<const Pattern*> patterns;
  for (const Rewrite& rule : rules) patterns.push_back(&rule.pattern());
  return patterns;
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
    : egraph_(egraph),
      inverse_of_(inverse_rules(rules)),
      search_(patterns_of(rules), egraph.ops(), inverse_of_),
      requests_(rules.size()),
      accepted_(rules.size()),
      scheduler_(std::make_unique<BackoffScheduler>()) {
  rules_.reserve(rules.size());
  for (const Rewrite& rewrite : rules) {
    const Pattern& pattern = rewrite.pattern();
    rules_.push_back(
        {&rewrite, WatchList(pattern), MatchBuffer(pattern.var_count(), pattern.op_var_count())});
  }
}

// Equality saturation (Tate et al., POPL 2009) in the rounds of egg (Willsey et al., POPL 2021):
// search everything, apply everything, then restore the congruence once per round and not after
// each merge.
RunReport Runner::run() {
  Budget budget(limits_);
  RunReport report;
  for (const Rule& rule : rules_) report.rules.emplace_back().name = rule.rewrite->name();
  start();
  Stop stop;
  if (base::Status status = egraph_.rebuild(); !status.ok()) {
    report.conflict = std::move(status);
    stop = StopReason::kConflict;
  }
  // The e-graph may have been changed between runs in ways that epochs do not record.
  if (end_ != state()) forget();
  while (!stop) {
    if (iteration_ >= limits_.iterations) {
      stop = StopReason::kIterationLimit;
    } else if (hooks_.before_iteration && !hooks_.before_iteration(egraph_, report)) {
      stop = StopReason::kHook;
    } else {
      stop = iterate(report, budget);
      ++iteration_;
    }
  }
  if (may_move()) egraph_.shrink_to_fit();
  end_ = state();
  report.stop = *stop;
  report.ticks = budget.ticks();
  report.seconds = budget.seconds();
  return report;
}

void Runner::start() {
  scheduler_->start(rules_.size());
  scheduler_->learn_inverses(inverse_of_);
  iteration_ = 0;
  idle_ = false;
  growth_ = 0;
  if (resumed_.empty()) return;
  // The words of save(): the iteration, then those of the scheduler.
  iteration_ = resumed_[0];
  const bool restored = scheduler_->restore(std::span(resumed_).subspan(1));
  EGRET_CHECK(restored, "resume() looked at it");
  resumed_.clear();
}

// Forgets what was applied, because a resumed run starts without it: from here on both search
// alike.
std::vector<std::uint64_t> Runner::save() {
  forget();
  std::vector<std::uint64_t> words = {iteration_};
  const std::vector<std::uint64_t> schedule = scheduler_->save();
  words.insert(words.end(), schedule.begin(), schedule.end());
  return words;
}

base::Status Runner::resume(std::span<const std::uint64_t> saved) {
  scheduler_->start(rules_.size());
  scheduler_->learn_inverses(inverse_of_);
  if (saved.empty() || !scheduler_->restore(saved.subspan(1))) {
    return base::bad_input("the saved run used a different scheduler or different rules");
  }
  resumed_.assign(saved.begin(), saved.end());
  return base::ok();
}

// A fingerprint that shows whether the e-graph was changed between runs.
Runner::State Runner::state() const {
  return {egraph_.epoch(), egraph_.next_node(), egraph_.id_count(), egraph_.merge_count()};
}

// One iteration: search, apply, rebuild, then the test for saturation. All matches are found in one
// clean state before any is applied. The order of rules therefore decides ids, but not which
// matches an iteration applies. The rebuild runs even if a limit stopped the application, so the
// caller always gets a clean e-graph.
Runner::Stop Runner::iterate(RunReport& report, Budget& budget) {
  const std::uint64_t keys = egraph_.keys_inserted();
  const std::uint64_t merges = egraph_.merge_count();
  IterationStats stats;
  Stopwatch watch;
  Stop stop = search_all(report, stats, budget);
  stats.search_seconds = watch.lap();
  if (!stop) {
    reserve(stats.matches);
    const std::size_t nodes = egraph_.node_count();
    stop = apply_all(report, stats, budget);
    if (stop) forget();  // some matches were not applied
    const std::size_t added = egraph_.node_count() - std::min(nodes, egraph_.node_count());
    growth_ =
        stats.matches == 0 ? 0 : static_cast<double>(added) / static_cast<double>(stats.matches);
  }
  stats.apply_seconds = watch.lap();
  const std::uint64_t ticks = egraph_.ticks();
  base::Status conflict = egraph_.rebuild();
  budget.spend(egraph_.ticks() - ticks);
  compact();
  stats.rebuild_seconds = watch.lap();

  stats.nodes = egraph_.node_count();
  stats.classes = egraph_.class_count();
  stats.bytes = egraph_.bytes();
  stats.keys = egraph_.keys_inserted();
  const std::uint64_t iteration = iteration_;
  report.iterations.push_back(stats);
  if (!conflict.ok()) {
    report.conflict = std::move(conflict);
    return StopReason::kConflict;
  }
  if (stop) return stop;
  // Terms that a condition added only to compare them are no progress, but a run is saturated only
  // without them. The scheduler is always asked: may_stop() may advance time for banned rules.
  const bool same = keys == egraph_.keys_inserted() && merges == egraph_.merge_count();
  // An idle iteration with postponed matches is not the end: search_all() then lifts the limits of
  // the rules that postponed them.
  idle_ = stats.applied == 0 && scheduler_->may_stop(iteration) && same;
  if (idle_ && !search_.has_pending()) return StopReason::kSaturated;
  if (budget.exhausted()) return budget.reason();
  return check_size();
}

// Reserves hash-cons space for half of the expected growth, extrapolated from the last iteration.
// Only half, because growth may stop and the memory is not returned.
void Runner::reserve(std::uint64_t matches) {
  const auto expected = static_cast<std::uint64_t>(growth_ * static_cast<double>(matches) / 2);
  egraph_.reserve(std::min(egraph_.node_count() + expected, limits_.nodes));
}

// Compacts if many words are dead. Postponed matches hold node ids, so it waits for these.
void Runner::compact() {
  constexpr double kMany = 0.25;
  if (search_.has_pending() || !may_move()) return;
  if (egraph_.dead_share() > kMany) egraph_.compact();
}

bool Runner::may_move() const { return compacts_ && egraph_.clean() && egraph_.checkpoints() == 0; }

Runner::Stop Runner::search_all(RunReport& report, IterationStats& stats, Budget& budget) {
  const std::uint64_t iteration = iteration_;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    requests_[i] = {scheduler_->match_limit(iteration, i), scheduler_->resumes(), false};
    if (idle_ && search_.has_pending(i)) requests_[i].limit = Scheduler::kUnlimited;
    if (requests_[i].limit > 0) ++report.rules[i].searches;
  }
  // With one rule per iteration, most matches near the end add nothing. Grouping them makes
  // ApplyBlock's cache effective.
  const auto is_asked = [](const RuleSearch::Request& request) { return request.limit > 0; };
  if (std::ranges::count_if(requests_, is_asked) == 1) {
    RuleSearch::Request& only = *std::ranges::find_if(requests_, is_asked);
    only.gathered = only.limit >= Scheduler::kUnlimited;
  }
  RuleSearch::Room room;
  room.matches = limits_.matches;
  if (limits_.bytes != Limits::kNone) {
    // Half of the remaining bytes: buffers may double when they grow.
    room.bytes = (limits_.bytes - std::min<std::uint64_t>(limits_.bytes, bytes())) / 2;
  }
  if (const Stop stop = search_.run(egraph_, requests_, room, budget, pool_); stop) return stop;
  accept_matches(report, stats);
  return {};
}

// Asks the scheduler whether each rule's matches are applied. A rule that exceeded its limit is
// applied only if its search can be resumed.
void Runner::accept_matches(RunReport& report, IterationStats& stats) {
  const std::uint64_t iteration = iteration_;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const RuleSearch::Found& found = search_.found(i);
    RuleStats& rule_stats = report.rules[i];
    rule_stats.search_seconds += found.seconds;
    accepted_[i] = false;
    if (requests_[i].limit == 0) continue;
    const bool accepted = scheduler_->accept(iteration, i, found.exceeded);
    accepted_[i] = accepted && (!found.exceeded || requests_[i].resume);
    if (found.exceeded || !accepted) ++rule_stats.bans;
    if (!accepted_[i]) {
      search_.release(i);
      continue;
    }
    rule_stats.matches += found.count;
    stats.matches += found.count;
  }
  take_retries();
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (accepted_[i]) report.rules[i].retries += rules_[i].retries.size();
  }
}

// Collects the old matches to retry, for each accepted rule independently. A match is retried if a
// class changed on which its condition depends. Rules share no state here, so threads may divide
// them.
void Runner::take_retries() {
  const auto take = [this](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Rule& rule = rules_[i];
      if (!accepted_[i]) continue;
      rule.retries.clear();
      rule.watched.take(egraph_, rule.seen, rule.retries);
      rule.seen = egraph_.epoch();
    }
  };
  constexpr std::size_t kWorthThreads = 4096;
  std::size_t watched = 0;
  for (const Rule& rule : rules_) watched += rule.watched.size();
  if (pool_ != nullptr && watched >= kWorthThreads) {
    pool_->parallel_for(rules_.size(), 1, take);
  } else {
    take(0, rules_.size());
  }
}

// Applies the rules in order. The scheduler learns of each rule how many matches were tried and how
// many changed something.
Runner::Stop Runner::apply_all(RunReport& report, IterationStats& stats, Budget& budget) {
  const std::uint64_t iteration = iteration_;
  Stopwatch watch;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    RuleStats& rule_stats = report.rules[i];
    const std::uint64_t applied = rule_stats.applied;
    if (accepted_[i]) {
      const std::uint64_t tried = search_.found(i).count + rules_[i].retries.size();
      const Stop stop = apply_rule(i, rule_stats, budget);
      stats.applied += rule_stats.applied - applied;
      rule_stats.apply_seconds += watch.lap();
      if (stop) return stop;
      scheduler_->applied(iteration, i, {tried, rule_stats.applied - applied});
    }
    if (hooks_.after_rule && !hooks_.after_rule(egraph_, i)) return StopReason::kHook;
  }
  return {};
}

// Applies the retries, then the new matches. commit() follows only if all were applied.
Runner::Stop Runner::apply_rule(std::size_t index, RuleStats& stats, Budget& budget) {
  Rule& rule = rules_[index];
  const std::uint64_t refused = stats.refused;
  const MatchRun retries{&rule.retries, 0, rule.retries.size()};
  const std::span<const MatchRun> old(&retries, rule.retries.empty() ? 0 : 1);
  if (const Stop stop = apply(rule, old, stats, budget); stop) return stop;
  const std::span<const MatchRun> found = search_.found(index).rows.runs();
  if (const Stop stop = apply(rule, found, stats, budget); stop) return stop;
  search_.commit(index, stats.refused == refused);
  search_.release(index);
  return {};
}

// Applies one match. Keeps it for another try if its outcome may change.
void Runner::apply_one(Rule& rule, const Match& match, RuleStats& stats) {
  const bool callbacks = rule.rewrite->has_callbacks();
  const std::uint64_t before = callbacks ? WatchList::fingerprint(egraph_, match) : 0;
  const Rewrite::Application done = rule.rewrite->apply(egraph_, match);
  if (const auto reads = rule.rewrite->depends_on(done.outcome)) {
    rule.watched.add(match, before, *reads);
  }
  using Outcome = Rewrite::Outcome;
  switch (done.outcome) {
    case Outcome::kChanged: ++stats.applied; break;
    case Outcome::kUnchanged: ++stats.unchanged; break;
    case Outcome::kRejected: ++stats.rejected; break;
    case Outcome::kRefused:
      if (stats.refused++ == 0) stats.first_refusal = done.refusal.message();
      break;
  }
}

Runner::Stop Runner::apply(Rule& rule, std::span<const MatchRun> matches, RuleStats& stats,
                           Budget& budget) {
  MatchBlocks blocks(matches);
  if (!ApplyBlock::suits(*rule.rewrite, egraph_)) return apply_singly(rule, blocks, stats, budget);
  ApplyBlock block(*rule.rewrite, egraph_);
  while (!blocks.empty()) {
    // A block checks limits only at its end. Near the node limit, matches are applied one by one.
    if (egraph_.node_count() + block.max_nodes() > limits_.nodes || !block.fits()) {
      return apply_singly(rule, blocks, stats, budget);
    }
    const auto [rows, begin, count] = blocks.next(block_size(rule));
    const std::uint64_t ticks = egraph_.ticks();
    const ApplyBlock::Outcome outcome = block.apply(rows, begin, count);
    if (stats.refused == 0) stats.first_refusal = outcome.refusal.message();
    stats.applied += outcome.changed;
    stats.refused += outcome.refused;
    stats.unchanged += count - outcome.changed - outcome.refused;
    if (const Stop stop = check_size(); stop) return stop;
    if (!budget.spend(1 + egraph_.ticks() - ticks)) return budget.reason();
  }
  return {};
}

// The block size: smaller if the remaining bytes may not suffice for a whole block. A match adds at
// most one node per step, and each node is estimated at kNodeBytes.
std::size_t Runner::block_size(const Rule& rule) const {
  constexpr std::uint64_t kNodeBytes = 128;
  constexpr std::uint64_t kShortest = 8;
  if (limits_.bytes == Limits::kNone) return ApplyBlock::kMatches;
  const std::uint64_t left = limits_.bytes - std::min<std::uint64_t>(limits_.bytes, bytes());
  const std::uint64_t matches = left / kNodeBytes / (rule.rewrite->steps().size() + 1);
  return std::clamp<std::uint64_t>(matches, kShortest, ApplyBlock::kMatches);
}

// Checks the node limit after every match, the other limits after the first match of each block.
Runner::Stop Runner::apply_singly(Rule& rule, MatchBlocks& matches, RuleStats& stats,
                                  Budget& budget) {
  constexpr std::size_t kCheckEvery = 64;
  std::uint64_t ticks = egraph_.ticks();
  while (!matches.empty()) {
    const auto [rows, begin, count] = matches.next(kCheckEvery);
    for (std::size_t i = 0; i < count; ++i) {
      apply_one(rule, rows[begin + i], stats);
      if (egraph_.node_count() > limits_.nodes) return StopReason::kNodeLimit;
      if (i > 0) continue;
      if (const Stop stop = check_size(); stop) return stop;
      if (!budget.spend(1 + egraph_.ticks() - ticks)) return budget.reason();
      ticks = egraph_.ticks();
    }
  }
  budget.spend(egraph_.ticks() - ticks);
  return {};
}

// After this the next search finds all matches anew.
void Runner::forget() {
  search_.forget();
  for (Rule& rule : rules_) rule.watched.clear();
}

// The e-graph, the matches that are kept, and the lists of watched matches count together.
Runner::Stop Runner::check_size() const {
  if (egraph_.node_count() > limits_.nodes) return StopReason::kNodeLimit;
  if (limits_.bytes == Limits::kNone) return {};
  return bytes() > limits_.bytes ? Stop(StopReason::kByteLimit) : Stop();
}

std::size_t Runner::bytes() const {
  std::size_t bytes = egraph_.bytes() + search_.bytes();
  for (const Rule& rule : rules_) {
    bytes += rule.watched.bytes() + rule.retries.bytes();
  }
  return bytes;
}

}  // namespace egret::egraph
