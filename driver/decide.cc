// SPDX-License-Identifier: Apache-2.0
#include "driver/decide.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "backends/division.h"
#include "backends/timing/measure.h"
#include "base/stop.h"
#include "driver/measure/interference.h"
#include "driver/measure/race.h"
#include "driver/measure/size_check.h"
#include "driver/select/kernel_costs.h"
#include "driver/track.h"
#include "frontends/onnx.h"

namespace egret::driver {
namespace {

using backends::ExecutablePlan;
using PlanPointer = std::unique_ptr<ExecutablePlan>;

// Slow graphs vary little from run to run: a few runs of each are enough.
constexpr int kFewestRuns = 5;
constexpr double kLongestRace = 10;  // times --measure-time

bool may_be_written(const ir::Graph& original, const ExecutablePlan& plan, const Setup& setup) {
  const std::int64_t limit = setup.plan.limit_arena;
  return (limit == 0 || plan.report().arena_bytes <= limit) && !setup.forbidden.any_in(original);
}

void keep_original(const ir::Graph& original, PlanPointer plan, Decision& decision) {
  decision.graph = ir::without_dead_nodes(original);
  decision.plan = std::move(plan);
  decision.arena_after = decision.arena_before;
}

// Whether a candidate runs as the original does, and is not written with fewer nodes.
bool is_the_original(const ir::Graph& original, const Candidate& candidate,
                     const Decision& decision) {
  return candidate.identity == identity_of(original) &&
         operator_count(candidate.operators) >= operator_count(decision.operators_before);
}

void take(Candidate& candidate, const backends::Backend& backend, Decision& decision) {
  decision.chosen = &candidate;
  if (candidate.plan != nullptr) decision.arena_after = candidate.plan->report().arena_bytes;
  decision.graph = std::move(candidate.graph);
  // Whoever reads the result compiles the kernels that were chosen.
  if (!candidate.division.empty())
    backends::store_division(decision.graph, candidate.division, backend.name(), candidate.layouts);
  decision.plan = std::move(candidate.plan);
}

// Without a plan of the original, nothing can be checked. An unchecked result is only written where
// the user asked for that.
base::Status decide_without_running(const ir::Graph& original, Candidate& cheapest,
                                    const Track& track, const Setup& setup,
                                    const OptimizeOptions& options, Decision& decision) {
  if (!options.no_check && setup.forbidden.any_in(original))
    return base::limit_hit(decision.notes.back());
  if (!options.no_check) {
    decision.notes.push_back(
        "so the original graph is kept; use --no-check to write the result unchecked");
    keep_original(original, nullptr, decision);
    return base::ok();
  }
  const base::Status compiled = track.compile(cheapest);
  if (!compiled.ok() && compiled.code() != base::StatusCode::kLimit) return compiled;
  take(cheapest, *setup.backend, decision);
  return base::ok();
}

base::Status predict_by_kernels(ExecutablePlan& original, std::vector<Candidate>& candidates,
                                const Setup& setup, Decision& decision) {
  if (!setup.predicts_by_kernels) return base::ok();
  std::vector<ExecutablePlan*> plans{&original};
  for (const Candidate& candidate : candidates) plans.push_back(candidate.plan.get());
  KernelCosts costs(
      *setup.costs.database, setup.machine,
      [execution = setup.execution] { return is_disturbed(execution); }, setup.plan.threads);
  const base::Status learned = costs.learn(plans);
  // The backend does not tell its kernels apart.
  if (learned.code() == base::StatusCode::kUnsupported) return base::ok();
  EGRET_RETURN_IF_ERROR(learned);
  decision.kernels_before = costs.predict(original);
  for (Candidate& candidate : candidates) candidate.kernels = costs.predict(*candidate.plan);
  return base::ok();
}

RaceOptions race_options(const Setup& setup, const OptimizeOptions& options) {
  RaceOptions racing;
  racing.disturbed = [execution = setup.execution] { return is_disturbed(execution); };
  racing.measure.min_seconds = options.measure_time;
  racing.measure.min_runs = kFewestRuns;
  racing.measure.max_seconds = std::max(kLongestRace * options.measure_time, 5.0);
  racing.measure.on_device = true;
  racing.measure.seed = static_cast<std::uint64_t>(options.seed);
  racing.database = setup.costs.database.get();
  if (setup.engine != nullptr) racing.where = setup.engine->version();
  racing.machine = setup.machine;
  return racing;
}

// Compiles the candidates and returns the positions of those that run. All of them do on a backend;
// an engine may refuse a candidate, crash or hang.
base::Result<std::vector<std::size_t>> compile_usable(std::vector<Candidate>& candidates,
                                                      const Track& track, const Setup& setup,
                                                      const OptimizeOptions& options,
                                                      Decision& decision) {
  const base::Random random(static_cast<std::uint64_t>(options.seed));
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate& candidate = candidates[i];
    base::Status status = track.compile(candidate);
    if (status.ok() && setup.engine != nullptr)
      status = candidate.plan->run(backends::random_inputs(*candidate.plan, random)).status();
    if (status.ok()) {
      usable.push_back(i);
    } else if (setup.engine == nullptr || base::stop_requested()) {
      return status;
    } else {
      candidate.plan = nullptr;
      decision.notes.push_back("not raced: candidate " + candidate.name + ": " + status.message());
    }
  }
  return usable;
}

// A file as it was given may run otherwise than the same graph as Egret writes it.
std::string name_of_original(const ir::Graph& original, const Track& track) {
  return identity_of(original) + (track.runs_given_file() ? " as given" : "");
}

// A plan of a large model takes seconds to compile, so a race that the database remembers is not
// run again and compiles none.
base::Result<RaceResult> race_against(const ir::Graph& original, ExecutablePlan& plan,
                                      std::vector<Candidate>& candidates, const Track& track,
                                      const Setup& setup, const OptimizeOptions& options,
                                      Decision& decision) {
  RaceOptions racing = race_options(setup, options);
  racing.measure.given = ir::given_by_position(original, options.given_inputs);
  std::vector<Racer> racers{
      {&plan, name_of_original(original, track), operator_count(decision.operators_before)}};
  for (const Candidate& candidate : candidates)
    racers.push_back({nullptr, candidate.identity, operator_count(candidate.operators)});
  if (!setup.predicts_by_kernels) {
    EGRET_ASSIGN_OR_RETURN(auto remembered, remembered_race(racers, racing));
    if (remembered) return *std::move(remembered);
  }
  EGRET_ASSIGN_OR_RETURN(const std::vector<std::size_t> usable,
                         compile_usable(candidates, track, setup, options, decision));
  EGRET_RETURN_IF_ERROR(predict_by_kernels(plan, candidates, setup, decision));
  std::vector<Racer> ready{racers.front()};
  for (const std::size_t i : usable) {
    ready.push_back(racers[i + 1]);
    ready.back().plan = candidates[i].plan.get();
  }
  for (const Racer& racer : ready) racer.plan->stop_profiling();
  EGRET_ASSIGN_OR_RETURN(RaceResult raced, race(ready, racing));
  // One timing for each candidate, without runs for those that were not raced.
  RaceResult result;
  result.timings.resize(racers.size());
  result.timings[0] = raced.timings[0];
  for (std::size_t i = 0; i < usable.size(); ++i)
    result.timings[usable[i] + 1] = raced.timings[i + 1];
  if (raced.winner > 0) result.winner = usable[raced.winner - 1] + 1;
  return result;
}

// The program and a result at one profile. Inputs are given where they fit.
base::Result<ProfileTimes> times_at(const rules::SizeProfile& profile, const ir::Graph& program,
                                    const ir::Graph& result, const Track& track, RaceOptions racing,
                                    const ir::GivenInputs& given) {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph before, rules::at_sizes(program, profile.sizes));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph after, rules::at_sizes(result, profile.sizes));
  EGRET_ASSIGN_OR_RETURN(const PlanPointer plan_before, track.original_at(profile.sizes));
  EGRET_ASSIGN_OR_RETURN(const PlanPointer plan_after, track.result_at(result, profile.sizes));
  racing.measure.given = ir::given_by_position(before, given);
  const std::array<Racer, 2> racers{
      Racer{plan_before.get(), name_of_original(before, track),
            static_cast<int>(program.operator_count())},
      Racer{plan_after.get(), identity_of(after), static_cast<int>(result.operator_count())}};
  return race_at(profile, racers, racing);
}

// With several profiles: the fastest candidate that is no slower than the program at any of them,
// or 0, the original.
base::Result<std::size_t> winner_at_profiles(const ir::Graph& program, const rules::OpenSizes& open,
                                             const std::vector<Candidate>& candidates,
                                             const Track& track, const Setup& setup,
                                             const OptimizeOptions& options, Decision& decision) {
  const std::vector<rules::SizeProfile>& profiles = open.profiles();
  std::vector<std::size_t> order;
  for (std::size_t i = 1; i < decision.timings.size(); ++i) {
    if (decision.timings[i].runs > 0) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return decision.timings[i].median_s; });
  for (const std::size_t i : order) {
    const Candidate& candidate = candidates[i - 1];
    std::vector<ProfileTimes> times{{.sizes = to_string(profiles.front().sizes),
                                     .weight = profiles.front().weight,
                                     .before_s = decision.timings.front().median_s,
                                     .after_s = decision.timings[i].median_s}};
    for (std::size_t k = 1; k < profiles.size() && is_no_slower(times); ++k) {
      EGRET_ASSIGN_OR_RETURN(ProfileTimes one,
                             times_at(profiles[k], program, candidate.written, track,
                                      race_options(setup, options), options.given_inputs));
      times.push_back(std::move(one));
    }
    if (!is_no_slower(times)) continue;
    decision.profiles = std::move(times);
    return i;
  }
  return 0;
}

// Whether a candidate that won in an engine wins again. A process has one layout of its memory,
// which may be worth some percent, so the models run in processes of their own once more, and
// again.
base::Result<bool> wins_again(Candidate& winner, const ir::Graph& original, Track& track,
                              const Setup& setup, const OptimizeOptions& options) {
  constexpr int kTimes = 2;
  cost::Database* const database = setup.costs.database.get();
  const std::string key = "wins again in " + setup.engine->version() + " on " + setup.machine +
                          ": " + winner.identity + " against " + name_of_original(original, track);
  if (database != nullptr) {
    EGRET_ASSIGN_OR_RETURN(const auto known, database->find_note(key));
    if (known) return *known == "yes";
  }
  RaceOptions racing = race_options(setup, options);
  racing.measure.given = ir::given_by_position(original, options.given_inputs);
  bool wins = true;
  for (int i = 0; i < kTimes && wins; ++i) {
    EGRET_ASSIGN_OR_RETURN(const PlanPointer before, track.original());
    winner.plan.reset();
    EGRET_RETURN_IF_ERROR(track.compile(winner));
    ExecutablePlan* const plans[] = {before.get(), winner.plan.get()};
    EGRET_ASSIGN_OR_RETURN(const std::vector<backends::Timing> timings,
                           backends::measure_interleaved(plans, racing.measure));
    wins = is_faster(timings[1].gain);
  }
  if (database != nullptr && !base::stop_requested())
    EGRET_RETURN_IF_ERROR(database->store_note(key, wins ? "yes" : "no"));
  return wins;
}

base::Status decide_by_race(const ir::Graph& program, const ir::Graph& original, PlanPointer plan,
                            std::vector<Candidate>& candidates, Track& track, const Setup& setup,
                            const OptimizeOptions& options, const rules::OpenSizes* open,
                            Decision& decision) {
  auto raced = race_against(original, *plan, candidates, track, setup, options, decision);
  if (is_interrupted(raced.status())) {
    EGRET_RETURN_IF_ERROR(keep_what_is_known(original, setup, raced.status(), decision));
    decision.plan = std::move(plan);
    return base::ok();
  }
  if (setup.engine != nullptr && !raced.ok()) {
    decision.notes.push_back("the original is kept, as the race failed: " +
                             raced.status().message());
    keep_original(original, nullptr, decision);
    return base::ok();
  }
  EGRET_ASSIGN_OR_RETURN(RaceResult result, std::move(raced));
  decision.measured = true;
  decision.timings = std::move(result.timings);
  const bool first = options.allow_slower && decision.timings[1].runs > 0;
  decision.winner = first ? 1 : result.winner;
  if (decision.winner != 0 && !options.allow_slower && open != nullptr &&
      open->profiles().size() > 1) {
    EGRET_ASSIGN_OR_RETURN(decision.winner, winner_at_profiles(program, *open, candidates, track,
                                                               setup, options, decision));
  }
  // The same graph may be faster as Egret writes it than as it was given. In an engine, the result
  // is faster than the given file, or it is this file.
  bool gains = is_faster(decision.timings[decision.winner].gain);
  if (track.runs_given_file() && decision.winner != 0 && gains && !options.allow_slower) {
    Candidate& winner = candidates[decision.winner - 1];
    const auto again = wins_again(winner, original, track, setup, options);
    gains = again.ok() && *again;
    if (!gains) {
      decision.notes.push_back("candidate " + winner.name + " won a race and not the next one" +
                               (again.ok() ? "" : ", which failed: " + again.status().message()));
    }
  }
  const bool same =
      decision.winner != 0 && is_the_original(original, candidates[decision.winner - 1], decision);
  const bool kept = track.runs_given_file() ? !gains && !options.allow_slower : same;
  if (decision.winner != 0 && kept) decision.winner = 0;
  // The original won, but it exceeds the memory limit or contains a forbidden operator.
  if (decision.winner == 0 && !may_be_written(original, *plan, setup)) {
    const auto times = std::span(decision.timings).subspan(1);
    const auto fastest = std::ranges::min_element(times, {}, [](const backends::Timing& timing) {
      return timing.runs > 0 ? timing.median_s : std::numeric_limits<double>::infinity();
    });
    if (fastest->runs == 0) return base::unsupported("no candidate runs in the engine");
    decision.winner = 1 + static_cast<std::size_t>(fastest - times.begin());
  }
  if (decision.winner == 0) {
    keep_original(original, std::move(plan), decision);
    return base::ok();
  }
  // The winner's plan may need its memory. After an interruption there is only time for the quick
  // check against it; an engine's own errors are those of the original in it.
  if (base::stop_requested() || setup.engine != nullptr) {
    decision.plan_before = std::move(plan);
  } else {
    plan.reset();
  }
  Candidate& winner = candidates[decision.winner - 1];
  EGRET_RETURN_IF_ERROR(track.compile(winner));
  take(winner, *setup.backend, decision);
  return base::ok();
}

}  // namespace

bool is_interrupted(const base::Status& failure) {
  return failure.code() == base::StatusCode::kLimit && base::stop_requested();
}

base::Status keep_what_is_known(const ir::Graph& original, const Setup& setup,
                                const base::Status& failure, Decision& decision) {
  if (setup.plan.limit_arena > 0 || setup.forbidden.any_in(original)) return failure;
  decision.chosen = nullptr;
  decision.winner = 0;
  decision.profiles.clear();
  keep_original(original, nullptr, decision);
  decision.notes.push_back("interrupted, so the original graph is kept");
  return base::ok();
}

// Decides what is written. Prices propose candidates, and only a race of compiled plans against the
// original decides between them: a result that is not measurably faster leaves the program as it
// is.
base::Result<Decision> decide(const ir::Graph& program, const ir::Graph& original,
                              std::vector<Candidate>& candidates, const Setup& setup,
                              const OptimizeOptions& options, base::ProgressSink* progress,
                              const rules::OpenSizes* open) {
  Decision decision;
  EGRET_ASSIGN_OR_RETURN(decision.operators_before, frontends::count_onnx_operators(program));
  Track track(program, original, setup, options, open);
  decision.is_uncheckable = track.is_uncheckable();
  // To compile large plans takes seconds, and a race that was interrupted decides nothing.
  if (base::stop_requested() && !options.no_measure) {
    EGRET_RETURN_IF_ERROR(
        keep_what_is_known(original, setup, base::limit_hit("interrupted"), decision));
    return decision;
  }
  auto compiled = track.original();
  if (compiled.status().code() == base::StatusCode::kLimit) {
    decision.out_of_memory = true;
    decision.notes.push_back("not measured and not checked: " + compiled.status().message());
    EGRET_RETURN_IF_ERROR(
        decide_without_running(original, candidates.front(), track, setup, options, decision));
    return decision;
  }
  EGRET_ASSIGN_OR_RETURN(PlanPointer plan, std::move(compiled));
  decision.arena_before = plan->report().arena_bytes;
  if (options.no_measure) {
    if (is_the_original(original, candidates.front(), decision)) {
      keep_original(original, std::move(plan), decision);
      return decision;
    }
    EGRET_RETURN_IF_ERROR(track.compile(candidates.front()));
    take(candidates.front(), *setup.backend, decision);
    if (options.quick) decision.plan_before = std::move(plan);
    return decision;
  }
  const base::Progress measuring(progress, "measure");
  EGRET_RETURN_IF_ERROR(decide_by_race(program, original, std::move(plan), candidates, track, setup,
                                       options, open, decision));
  return decision;
}

}  // namespace egret::driver
