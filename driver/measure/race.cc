// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/race.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/hash.h"
#include "ir/graph/graph_text.h"

namespace egret::driver {
namespace {

// Kept beside a racer's time: its gain, with the wider side of the confidence interval. An entry
// of the database has one deviation. Ratios vary by factors, so both ends are as many times away
// from the ratio, and positive.
std::string gain_key(const std::string& key) { return "gain in " + key; }
backends::Gain gain_up_to(double ratio, double high) {
  return {.ratio = ratio, .low = ratio * ratio / high, .high = high};
}
backends::Gain symmetric(const backends::Gain& gain) {
  const double factor = std::max(gain.high / gain.ratio, gain.ratio / gain.low);
  return gain_up_to(gain.ratio, gain.ratio * factor);
}

// A time is kept for this field of racers alone. Times of one race can be compared, those of two
// cannot.
std::vector<std::string> keys_of(std::span<const Racer> racers, const RaceOptions& options) {
  std::vector<std::string> names;
  std::string all = options.where;
  for (const Racer& racer : racers) {
    names.push_back(racer.identity);
    all += racer.identity;
  }
  for (const auto& [position, tensor] : options.measure.given)
    all += ", input " + std::to_string(position) + " " + tensor.content_hash().to_hex();
  const std::string field = base::content_hash(all).to_hex();
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = "race " + field + ", " + std::to_string(i) + ": graph " + names[i];
  }
  return names;
}

base::Result<std::optional<std::vector<backends::Timing>>> recall(std::span<const std::string> keys,
                                                                  const RaceOptions& options) {
  std::vector<backends::Timing> timings;
  for (const std::string& key : keys) {
    EGRET_ASSIGN_OR_RETURN(const std::optional<cost::Entry> entry,
                           options.database->find(options.machine, key));
    if (!entry) return std::optional<std::vector<backends::Timing>>{};
    EGRET_ASSIGN_OR_RETURN(const std::optional<cost::Entry> gain,
                           options.database->find(options.machine, gain_key(key)));
    if (!gain) return std::optional<std::vector<backends::Timing>>{};
    timings.push_back({.median_s = entry->median_s,
                       .p10_s = entry->median_s - entry->deviation_s,
                       .p90_s = entry->median_s + entry->deviation_s,
                       .mad_s = entry->deviation_s,
                       .runs = static_cast<int>(entry->runs),
                       .gain = gain_up_to(gain->median_s, gain->median_s + gain->deviation_s)});
  }
  return std::optional(std::move(timings));
}

// Stores the times for later runs, except those of an interrupted race.
base::Status keep(std::span<const std::string> keys, std::span<const backends::Timing> timings,
                  const RaceOptions& options) {
  const bool disturbed = options.disturbed && options.disturbed();
  if (options.database == nullptr || base::stop_requested()) return base::ok();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const cost::Entry entry{.runs = timings[i].runs,
                            .median_s = timings[i].median_s,
                            .deviation_s = timings[i].mad_s,
                            .disturbed = disturbed};
    EGRET_RETURN_IF_ERROR(options.database->store(options.machine, keys[i], entry));
    const cost::Entry gain{.runs = timings[i].runs,
                           .median_s = timings[i].gain.ratio,
                           .deviation_s = timings[i].gain.high - timings[i].gain.ratio,
                           .disturbed = disturbed};
    EGRET_RETURN_IF_ERROR(options.database->store(options.machine, gain_key(keys[i]), gain));
  }
  return base::ok();
}

std::size_t winner_among(std::span<const Racer> racers, std::span<const backends::Timing> timings) {
  std::vector<backends::Gain> gains;
  std::vector<int> operators;
  for (std::size_t i = 0; i < racers.size(); ++i) {
    gains.push_back(timings[i].gain);
    operators.push_back(racers[i].operators);
  }
  return winner_of(gains, operators);
}

// Whether chance cannot have made a racer that is slower than the original a winner.
bool is_decided(const backends::Gain& gain) { return gain.low * (1 + kRaceNoise) >= 1; }

// The best of several noisy ratios is mostly one that noise favoured. A winner that may be slower
// than the original therefore runs against it alone, and this ratio counts, until the winner is
// decided or ran twice. Of the original, the times beside the winner's are kept.
base::Status run_undecided_again(std::span<const Racer> racers, const RaceOptions& options,
                                 std::vector<backends::Timing>& timings) {
  std::vector<bool> ran(racers.size(), false);
  for (std::size_t winner = winner_among(racers, timings);
       winner != 0 && !ran[winner] && !is_decided(timings[winner].gain);
       winner = winner_among(racers, timings)) {
    if (options.measure.should_stop && options.measure.should_stop()) return base::ok();
    ran[winner] = true;
    backends::ExecutablePlan* const plans[] = {racers[0].plan, racers[winner].plan};
    const auto again = backends::measure_interleaved(plans, options.measure);
    if (again.status().code() == base::StatusCode::kLimit) return base::ok();  // interrupted
    EGRET_RETURN_IF_ERROR(again.status());
    timings[0] = again->at(0);
    timings[winner] = again->at(1);
    timings[winner].gain = symmetric(timings[winner].gain);
  }
  return base::ok();
}

}  // namespace

std::string identity_of(const ir::Graph& graph) {
  return base::content_hash(ir::to_text(graph)).to_hex();
}

std::size_t winner_of(std::span<const backends::Gain> gains, std::span<const int> operators) {
  EGRET_CHECK(!gains.empty() && gains.size() == operators.size(), "a race of nobody");
  const auto may_win = [&](std::size_t i) { return i == 0 || gains[i].high >= 1; };
  double best = 1;  // of the original
  for (std::size_t i = 1; i < gains.size(); ++i) {
    if (may_win(i)) best = std::max(best, gains[i].ratio);
  }
  std::optional<std::size_t> winner;
  // The original comes last: a candidate of as many operators has won by then.
  for (std::size_t turn = 1; turn <= gains.size(); ++turn) {
    const std::size_t i = turn % gains.size();
    // All racers within the noise count as equally fast. Among them the fewest operators win.
    const double ratio = i == 0 ? 1 : gains[i].ratio;
    if (!may_win(i) || best > ratio * (1 + kRaceNoise)) continue;
    if (!winner || operators[i] < operators[*winner]) winner = i;
  }
  return *winner;
}

base::Result<std::optional<RaceResult>> remembered_race(std::span<const Racer> racers,
                                                        const RaceOptions& options) {
  if (options.database == nullptr) return std::optional<RaceResult>{};
  EGRET_ASSIGN_OR_RETURN(auto timings, recall(keys_of(racers, options), options));
  if (!timings) return std::optional<RaceResult>{};
  const std::size_t winner = winner_among(racers, *timings);
  return std::optional(RaceResult{.timings = *std::move(timings), .winner = winner});
}

base::Result<RaceResult> race(std::span<const Racer> racers, const RaceOptions& options) {
  EGRET_ASSIGN_OR_RETURN(auto kept, remembered_race(racers, options));
  if (kept) return *std::move(kept);
  std::vector<backends::ExecutablePlan*> plans;
  for (const Racer& racer : racers) plans.push_back(racer.plan);
  if (options.disturbed) (void)options.disturbed();
  RaceResult result;
  EGRET_ASSIGN_OR_RETURN(result.timings, backends::measure_interleaved(plans, options.measure));
  // The same verdict now as when it is remembered.
  for (backends::Timing& timing : result.timings) timing.gain = symmetric(timing.gain);
  EGRET_RETURN_IF_ERROR(run_undecided_again(racers, options, result.timings));
  EGRET_RETURN_IF_ERROR(keep(keys_of(racers, options), result.timings, options));
  result.winner = winner_among(racers, result.timings);
  return result;
}

}  // namespace egret::driver
