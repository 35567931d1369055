// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/generation.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <initializer_list>
#include <map>
#include <mutex>
#include <set>

#include "base/stop.h"
#include "base/system/thread_pool.h"
#include "base/timer.h"
#include "rules/generator/application.h"
#include "rules/generator/candidate.h"
#include "rules/generator/candidate_derivation.h"
#include "rules/generator/candidate_rule.h"
#include "rules/generator/decision_log.h"
#include "rules/generator/drafting/multi_output.h"
#include "rules/generator/minimization.h"
#include "rules/generator/proof_queue.h"
#include "rules/generator/rule_in_world.h"
#include "rules/language/rule_parser.h"

namespace egret::rules::generator {
namespace {

class Generator {
 public:
  Generator(const Space& space, const GenerationOptions& options)
      : space_(space), options_(options), scrutiny_(options.scrutiny) {
    scrutiny_.screening.easy = &answers_;
    scrutiny_.verification.easy = &answers_;
  }

  base::Result<Generation> run() {
    EGRET_ASSIGN_OR_RETURN(terms_, TermTable::create(space_));
    take_given();
    EGRET_ASSIGN_OR_RETURN(log_, DecisionLog::open(options_.log, log_key()));
    Enumeration enumeration(*terms_, options_.enumeration);
    std::size_t taken = 0;
    std::size_t most = options_.enumeration.most_operators;
    for (std::size_t operators = 1; operators <= most && !stop(); ++operators) {
      if (base::Status status = enumeration.next_level(); !status.ok()) {
        // What was found up to here is right, and worth deciding.
        if (status.code() != base::StatusCode::kLimit) return status;
        result_.limit = status.message();
        most = operators;
      }
      if (stop()) break;
      if (options_.count_only) continue;
      const auto& all = enumeration.equalities();
      if (operators == 1) add_exchanges();
      for (; taken < all.size(); ++taken) pending_.push_back(candidate_of(*terms_, all[taken]));
      std::ranges::stable_sort(pending_, comes_first);
      // Terms that share parts are instances of larger ones that do not; those come first.
      std::vector<Candidate> now;
      std::vector<Candidate> later;
      for (const Candidate& c : pending_)
        ((c.operators <= operators && !c.has_constant) || operators == most ? now : later)
            .push_back(c);
      pending_ = std::move(later);
      decide(std::move(now), operators);
    }
    result_.levels = enumeration.counts();
    if (!stop()) explain_unproven();
    if (options_.minimize && !stop()) leave_out_derived();
    for (CandidateCount& count : result_.candidates) {
      count.kept = static_cast<std::uint64_t>(
          std::ranges::count_if(result_.rules, [&](const GeneratedRule& rule) {
            return rule.operators == count.operators && rule.back_of.empty();
          }));
    }
    EGRET_RETURN_IF_ERROR(status_);
    add_two_outputs();
    base::shared_pool().parallel_for(result_.rules.size(), 1, [&](std::size_t i, std::size_t) {
      Rule& rule = result_.rules[i].rule;
      rule = with_worth(std::move(rule), known_);
    });
    result_.stopped = stop();
    if (!result_.stopped && !options_.keep_log) log_.remove();
    return std::move(result_);
  }

 private:
  static bool stop() { return base::stop_requested(); }

  // What decisions depend on. The bound on operators is none of it: more may be asked for later.
  std::string log_key() const {
    std::string key = space_.name + " " + definitions_hash();
    for (const StartTensor& start : space_.starts) {
      key += " " + start.name;
      for (const ir::TensorType& type : start.types) key += ":" + to_string(type);
    }
    for (const OperatorChoice& choice : space_.choices) key += " " + choice.name;
    for (const VerifyOptions* how : {&scrutiny_.screening, &scrutiny_.verification}) {
      for (const std::int64_t number :
           {static_cast<std::int64_t>(how->seed), std::int64_t{how->instances},
            std::int64_t{how->tensor_checks}, std::int64_t{how->longer_search},
            std::int64_t{how->most_queries}, std::int64_t{how->attempts_per_instance},
            static_cast<std::int64_t>(how->small_effort)})
        key += " " + std::to_string(number);
    }
    key += " " + std::to_string(scrutiny_.tests.checks);
    return base::content_hash(key).to_hex();
  }

  // Names of new rules go on from those that are given.
  void take_given() {
    set_ = without_heuristics(options_.given);
    for (const Rule& rule : set_.rules) {
      const std::size_t dash = rule.name.rfind('-');
      int number = 0;
      const char* end = rule.name.data() + rule.name.size();
      if (dash == std::string::npos ||
          std::from_chars(rule.name.data() + dash + 1, end, number).ptr != end)
        continue;
      int& last = names_[rule.name.substr(0, dash)];
      last = std::max(last, number);
    }
  }

  // Of rules that are kept: the parts of concatenations as outputs.
  void add_two_outputs() {
    std::vector<GeneratedRule> found;
    for (const GeneratedRule& generated : result_.rules) {
      if (stop()) return;
      std::optional<Rule> rule = two_output_rule(generated.rule);
      if (!rule) continue;
      Verdict verdict = verify(*rule, scrutiny_.verification, known_);
      if (verdict.status != Verdict::Status::kProven) continue;
      ++result_.two_outputs;
      found.push_back({*std::move(rule), std::move(verdict), generated.operators, "parts"});
    }
    result_.rules.insert(result_.rules.end(), found.begin(), found.end());
  }

  // f(x, y) = f(y, x), which the table of terms has built in.
  void add_exchanges() {
    for (std::size_t choice = 0; choice < space_.choices.size(); ++choice) {
      for (std::size_t a = 0; a < space_.starts.size(); ++a) {
        const TypeId type = terms_->type_of_start(a);
        const auto& alike = terms_->starts_of(type);
        if (alike.front() != a || alike.size() < 2) continue;
        if (!terms_->is_symmetric(choice, type, type)) continue;
        const TermId there[] = {alike[0], alike[1]};
        const TermId back[] = {alike[1], alike[0]};
        pending_.push_back(candidate_of(*terms_, {*terms_->apply_as_given(choice, there),
                                                  *terms_->apply_as_given(choice, back)}));
      }
    }
  }

  // Candidates are in order: those with particular tensors come last.
  void decide(std::vector<Candidate> candidates, std::size_t operators) {
    const base::Stopwatch watch;
    const std::clock_t start = std::clock();
    const base::Progress progress(options_.enumeration.progress,
                                  "decide " + std::to_string(operators) + " operators");
    result_.candidates.push_back({.operators = operators, .candidates = candidates.size()});
    const auto constants = std::ranges::find_if(candidates, &Candidate::has_constant);
    std::vector<Candidate> last(constants, candidates.end());
    candidates.erase(constants, candidates.end());
    decide_in_rounds(std::move(candidates), operators, progress);
    decide_in_rounds(std::move(last), operators, progress);
    result_.candidates.back().seconds = watch.seconds();
    result_.candidates.back().cpu_seconds +=
        static_cast<double>(std::clock() - start) / static_cast<double>(CLOCKS_PER_SEC);
  }

  // What follows from what was found so far is dropped, all at once; then the first few of the
  // others are decided, some at a time.
  void decide_in_rounds(std::vector<Candidate> candidates, std::size_t operators,
                        const base::Progress& progress) {
    constexpr std::size_t kRound = 32;
    Seen seen;
    while (!candidates.empty() && !stop()) {
      drop_consequences(candidates, seen);
      const std::size_t count = std::min(kRound, candidates.size());
      const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
      std::vector<Candidate> round(candidates.begin(), end);
      candidates.erase(candidates.begin(), end);
      decide_round(std::move(round), candidates, operators, progress);
    }
  }

  // How much was known when all candidates were looked at.
  struct Seen {
    std::size_t rules = 0;
    std::size_t unproven = 0;
  };

  static std::size_t drop(std::vector<Candidate>& candidates, const std::vector<bool>& which) {
    std::vector<Candidate> left;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!which[i]) left.push_back(candidates[i]);
    }
    std::swap(candidates, left);
    return left.size() - candidates.size();
  }

  // Where many candidates are left, to look at all of them costs more than some proofs, and waits
  // until there is more to know: each is looked at by itself before it is decided.
  void drop_consequences(std::vector<Candidate>& candidates, Seen& seen) {
    constexpr std::size_t kCandidatesToARule = 1000;
    const auto is_worth = [&](std::size_t now, std::size_t before) {
      const std::size_t few = seen.rules == 0 ? 0 : candidates.size() / kCandidatesToARule;
      return now - before > few;
    };
    if (is_worth(set_.rules.size(), seen.rules)) {
      const std::vector<bool> derived =
          derived_together(*terms_, set_, equalities(candidates), derivation());
      result_.candidates.back().derived += drop(candidates, derived);
      seen.rules = set_.rules.size();
    }
    if (is_worth(unproven_rules_.size(), seen.unproven)) {
      const std::vector<bool> derived =
          derived_together(*terms_, with_unproven(), equalities(candidates), derivation());
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (derived[i]) set_aside(candidates[i]);
      }
      drop(candidates, derived);
      seen.unproven = unproven_rules_.size();
    }
  }

  // Proofs of a wave run side by side, and the next is chosen and begun meanwhile; what they find
  // is taken in order, so that the result does not depend on the number of threads.
  struct Job {
    Candidate candidate;
    std::string shape{};      // its terms without the names of tensors,
    std::string operators{};  // and without attributes
  };
  struct Wave {
    std::vector<Job> jobs;
    std::size_t rules = 0;  // that were known when it was chosen
  };
  static constexpr std::size_t kWave = 4;

  // Candidates that could not be proven, by shape. After a few the next of the shape is not tried:
  // it follows from rules found later, or fails as they did.
  static constexpr int kMostFailures = 2;
  struct Failure {
    int times = 0;
    std::string terms{};  // of the first
    Verdict::Status status = Verdict::Status::kUndecided;
  };

  void decide_round(std::vector<Candidate> round, std::span<const Candidate> further,
                    std::size_t operators, const base::Progress& progress) {
    Wave under_way;
    likely_.clear();
    while ((!round.empty() || !under_way.jobs.empty()) && !stop()) {
      Wave next = next_wave(round, under_way);
      if (!next.jobs.empty()) proofs_.begin(equalities(next.jobs));
      const auto ahead = [&] { return foresee({under_way.jobs, next.jobs}, {round, further}); };
      if (!under_way.jobs.empty()) take(under_way, proofs_.finish(ahead), operators);
      under_way = std::move(next);
      if (progress.due()) report(progress);
    }
    if (!under_way.jobs.empty()) proofs_.finish();
  }

  // Of the candidates after a wave, the next few that would be chosen for another one if nothing
  // came of those under way. What was found once is believed for the rest of the round.
  std::vector<Equality> foresee(std::initializer_list<std::span<const Job>> under_way,
                                std::initializer_list<std::span<const Candidate>> after) {
    constexpr std::size_t kFew = 8;
    constexpr std::size_t kLookedAt = 64;
    RuleSet at_hand = with_unproven();
    std::set<std::string> operators;
    for (const std::span<const Job> jobs : under_way) {
      for (const Job& job : jobs) {
        append(at_hand.rules, in_world(job.candidate.equality));
        operators.insert(job.operators);
      }
    }
    std::vector<Equality> found;
    std::size_t looked_at = 0;
    for (const std::span<const Candidate> candidates : after) {
      for (const Candidate& candidate : candidates) {
        if (found.size() == kFew || looked_at++ == kLookedAt || stop()) return found;
        const Equality& equality = candidate.equality;
        const bool begun = proofs_.foreseen(equality) == ProofQueue::Foreseen::kBegun;
        if (!begun && has_failed_often(shape_of(*terms_, equality))) continue;
        if (!operators.insert(operators_of(*terms_, equality)).second) continue;
        if (!begun) {
          const ir::Graph sides = sides_in_world(*terms_, {&equality, 1}, 0);
          const auto [likely, is_new] = likely_.try_emplace({equality.left, equality.right}, false);
          if (is_new) likely->second = !derives(at_hand, sides, derivation());
          if (!likely->second) continue;
          found.push_back(equality);
        }
        append(at_hand.rules, in_world(equality));
      }
    }
    return found;
  }

  void take(const Wave& wave, const std::vector<BothWays>& proofs, std::size_t operators) {
    if (stop()) return;  // a proof may have been cut short
    for (std::size_t i = 0; i < wave.jobs.size(); ++i) {
      const Equality& equality = wave.jobs[i].candidate.equality;
      remember(equality, proofs[i].made);
      if (proofs[i].back) remember(turned(equality), proofs[i].back);
      if (result_.rules.size() != wave.rules &&
          derived_singly(*terms_, set_, {&equality, 1}, derivation()).front()) {
        ++result_.candidates.back().derived;
      } else {
        take(wave.jobs[i], proofs[i], operators);
      }
    }
    if (status_.ok()) status_ = log_.save();
  }

  void report(const base::Progress& progress) const {
    const CandidateCount& level = result_.candidates.back();
    const std::uint64_t done =
        level.derived + level.proven + level.conditional + level.refuted + level.undecided;
    progress.report({{base::kItems, done}, {kRules, result_.rules.size()}},
                    static_cast<double>(done) / static_cast<double>(level.candidates));
  }

  // The first candidates of a round that do not follow from what is known, nor at the sizes at hand
  // from one another or from those under way. Of those that differ in tensors and attributes alone
  // one will derive the others, so only one is taken at a time. Takes them out of the round, with
  // those that need no proof.
  Wave next_wave(std::vector<Candidate>& round, const Wave& under_way) {
    constexpr std::size_t kAhead = 3 * kWave;
    const std::size_t count = std::min(kAhead, round.size());
    const std::vector<Equality> first = equalities(std::span(round).first(count));
    const std::vector<bool> derived = derived_singly(*terms_, set_, first, derivation());
    RuleSet at_hand = with_unproven();
    std::vector<Equality> open;
    for (std::size_t i = 0; i < count && !unproven_rules_.empty(); ++i) {
      if (!derived[i]) open.push_back(first[i]);
    }
    const std::vector<bool> follows = derived_singly(*terms_, at_hand, open, derivation());
    auto next_follows = follows.begin();
    for (const Job& job : under_way.jobs) append(at_hand.rules, in_world(job.candidate.equality));
    const auto is_like_one_of = [](const Wave& wave, const std::string& operators) {
      return std::ranges::find(wave.jobs, operators, &Job::operators) != wave.jobs.end();
    };
    Wave wave{{}, result_.rules.size()};
    std::vector<Candidate> later;
    for (std::size_t i = 0; i < count; ++i) {
      if (derived[i]) {
        ++result_.candidates.back().derived;
        continue;
      }
      if (!follows.empty() && *next_follows++) {
        set_aside(round[i]);
        continue;
      }
      const std::string shape = shape_of(*terms_, round[i].equality);
      if (const Failure* like = has_failed_often(shape); like != nullptr) {
        note_unproven(round[i], like->status, "", "as " + like->terms);
        continue;
      }
      const std::string operators = operators_of(*terms_, round[i].equality);
      if (wave.jobs.size() == kWave || is_like_one_of(wave, operators) ||
          is_like_one_of(under_way, operators)) {
        later.push_back(round[i]);
        continue;
      }
      const bool alone = wave.jobs.empty() && under_way.jobs.empty();
      const ir::Graph sides = sides_in_world(*terms_, {&round[i].equality, 1}, 0);
      if (!alone && derives(at_hand, sides, derivation())) {
        later.push_back(round[i]);
        continue;
      }
      wave.jobs.push_back({round[i], shape, operators});
      append(at_hand.rules, rules_in_world(sides));
    }
    later.insert(later.end(), round.begin() + static_cast<std::ptrdiff_t>(count), round.end());
    round = std::move(later);
    return wave;
  }

  // The failures of the shape, or null.
  const Failure* has_failed_often(const std::string& shape) const {
    const auto like = failures_.find(shape);
    return like != failures_.end() && like->second.times >= kMostFailures ? &like->second : nullptr;
  }

  static void append(std::vector<Rule>& rules, std::vector<Rule> more) {
    std::ranges::move(more, std::back_inserter(rules));
  }
  std::vector<Rule> in_world(const Equality& equality) const {
    return rules_in_world(sides_in_world(*terms_, {&equality, 1}, 0));
  }

  // As the log has it, or anew; in the form that the log would give back.
  std::optional<Generalized> generalized(const Equality& equality) {
    {
      const std::lock_guard lock(log_mutex_);
      if (const DecisionLog::Decision* decided = log_.find(text_of(equality))) return decided->made;
    }
    auto made = generalize_equality(*terms_, equality, scrutiny_, known_);
    if (made) {
      // Fails for operators that are not registered; those are never read from a file.
      auto rules = parse_rules("generated", to_string(made->rule));
      if (rules.ok() && rules->size() == 1) made->rule = std::move(rules->front());
    }
    return made;
  }
  void remember(const Equality& equality, const std::optional<Generalized>& made) {
    const std::string text = text_of(equality);
    const std::lock_guard lock(log_mutex_);
    if (log_.find(text) != nullptr) {
      ++result_.from_log;
      if (made) result_.candidates.back().cpu_seconds += made->cpu_seconds;
    } else {
      log_.record(text, made);
    }
  }
  std::string text_of(const Equality& equality) const {
    return generator::text_of(*terms_, equality);
  }

  void take(const Job& job, const BothWays& proofs, std::size_t operators) {
    const auto& [made, back] = proofs;
    const std::optional<Generalized>& first = proofs.proven();
    if (!is_proven(first)) {
      using enum Verdict::Status;
      const Verdict::Status status = made ? made->verdict.status : kUndecided;
      note_unproven(job.candidate, status, made ? to_string(made->rule) : "",
                    made ? made->verdict.reason : "cannot be stated");
      Failure& failure = failures_[job.shape];
      if (++failure.times == 1) failure.terms = text_of(job.candidate.equality);
      failure.status = status;
      // That two terms are equal whose tensors nothing ties together is not false, only no rule.
      if (made) append(unproven_rules_, in_world(job.candidate.equality));
      return;
    }
    CandidateCount& count = result_.candidates.back();
    ++(first->conditional ? count.conditional : count.proven);
    const std::string name = add(*first, operators, "");
    // As general as both became they may say the same.
    if (is_proven(made) && is_proven(back) && content_hash(made->rule) != content_hash(back->rule))
      add(*back, operators, name);
  }

  // What could not be proven by itself may follow from rules found later.
  void explain_unproven() {
    const std::vector<bool> derived =
        derived_together(*terms_, set_, equalities(unproven_), derivation());
    std::vector<Unproven> left;
    for (std::size_t i = 0; i < derived.size(); ++i) {
      Unproven& candidate = result_.unproven[i];
      if (!derived[i]) {
        left.push_back(std::move(candidate));
        continue;
      }
      CandidateCount& count = result_.candidates[candidate.level];
      --(candidate.status == "refuted" ? count.refuted : count.undecided);
      ++count.derived;
    }
    result_.unproven = std::move(left);
  }

  // Follows from equalities that no rule came of, at the sizes at hand: nothing new, and to prove
  // it takes as long as it took in vain for those.
  void set_aside(const Candidate& candidate) {
    note_unproven(candidate, Verdict::Status::kUndecided, "",
                  "follows from equalities that no rule came of");
  }

  RuleSet with_unproven() const {
    RuleSet all = set_;
    all.rules.insert(all.rules.end(), unproven_rules_.begin(), unproven_rules_.end());
    return all;
  }
  static std::vector<Equality> equalities(std::span<const Job> jobs) {
    std::vector<Equality> all;
    for (const Job& job : jobs) all.push_back(job.candidate.equality);
    return all;
  }
  static std::vector<Equality> equalities(std::span<const Candidate> candidates) {
    return generator::equalities(candidates);
  }
  const DerivationOptions& derivation() const { return options_.derivation; }

  void leave_out_derived() {
    std::vector<Rule> rules;
    for (const GeneratedRule& generated : result_.rules) rules.push_back(generated.rule);
    MinimizationOptions minimization;
    minimization.derivation = options_.derivation;
    minimization.score = options_.score;
    minimization.uses = options_.uses;
    minimization.progress = options_.enumeration.progress;
    const std::vector<bool> kept = rules::minimize(rules, options_.given, minimization, known_);
    std::vector<GeneratedRule> left;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) left.push_back(std::move(result_.rules[i]));
    }
    result_.rules = std::move(left);
  }

  void note_unproven(const Candidate& candidate, Verdict::Status status, std::string rule,
                     std::string reason) {
    unproven_.push_back(candidate);
    CandidateCount& count = result_.candidates.back();
    ++(status == Verdict::Status::kRefuted ? count.refuted : count.undecided);
    result_.unproven.push_back({text_of(candidate.equality), std::move(rule),
                                std::string(to_string(status)), std::move(reason),
                                result_.candidates.size() - 1});
  }

  std::string add(const Generalized& made, std::size_t operators, const std::string& back_of) {
    Rule rule = made.rule;
    rule.name = back_of.empty() ? name_of(rule) : back_of + "-reversed";
    set_.rules.push_back(rule);
    result_.rules.push_back({rule, made.verdict, operators, back_of});
    return rule.name;
  }

  // The operators of the left side, from the outside in, and a number.
  std::string name_of(const Rule& rule) {
    std::string name;
    for_each_subterm(rule.sources.front().term, [&](const Term& part) {
      if (part.kind == Term::Kind::kApply) name += (name.empty() ? "" : "-") + part.op->name();
    });
    std::ranges::replace(name, '_', '-');
    return name + "-" + std::to_string(++names_[name]);
  }

  static constexpr base::ProgressColumn kRules{"rules", "rules", base::ProgressColumn::Unit::kCount,
                                               "rules proven so far"};

  const Space& space_;
  const GenerationOptions& options_;
  std::unique_ptr<TermTable> terms_;
  std::vector<Candidate> pending_;
  std::vector<Candidate> unproven_;   // as in the result
  std::vector<Rule> unproven_rules_;  // in the first world
  KnownOperators known_;
  CandidateScrutiny scrutiny_;
  verifier::EasyAnswers answers_;
  std::mutex log_mutex_;
  DecisionLog log_;
  base::Status status_;
  RuleSet set_;
  std::map<std::string, int> names_;
  std::map<std::string, Failure> failures_;
  std::map<std::pair<TermId, TermId>, bool> likely_;  // candidates of a round that were foreseen
  Generation result_;
  ProofQueue proofs_{base::shared_pool().threads(),
                     [this](const Equality& equality) { return generalized(equality); }};
};

}  // namespace

base::Result<Generation> generate(const Space& space, const GenerationOptions& options) {
  return Generator(space, options).run();
}

}  // namespace egret::rules::generator
