// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline_plan/piece_division.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace egret::parallel {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-12;  // of a bottleneck: sums in another order
constexpr double kCoarse = 0.01;

class Divider {
 public:
  explicit Divider(const DivisionTask& task)
      : task_(task),
        count_(task.choices.front().pieces.size()),
        stages_(task.in_flight.size()),
        ranks_(static_cast<std::size_t>(task.ranks)) {
    for (const StageRanks& choice : task.choices) {
      std::vector<PieceTerms>& sums = before_.emplace_back(1);
      for (const PieceTerms& piece : choice.pieces) {
        PieceTerms sum = sums.back();
        sum.work_s += piece.work_s;
        sum.fixed_bytes += piece.fixed_bytes;
        sum.kept_bytes += piece.kept_bytes;
        sums.push_back(sum);
      }
    }
  }

  // The works of all runs of pieces, ascending.
  std::vector<double> bottlenecks() const {
    std::vector<double> works;
    for (std::size_t c = 0; c < task_.choices.size(); ++c) {
      for (std::size_t i = 0; i < count_; ++i) {
        for (std::size_t j = i + 1; j <= count_; ++j) works.push_back(work(c, i, j));
      }
    }
    std::ranges::sort(works);
    // The largest of those that count once.
    const auto thinned = [&](double tolerance) {
      std::vector<double> kept;
      for (std::size_t i = works.size(); i-- > 0;) {
        if (kept.empty() || works[i] * (1 + tolerance) < kept.back()) kept.push_back(works[i]);
      }
      std::ranges::reverse(kept);
      return kept;
    };
    std::vector<double> kept = thinned(kTolerance);
    return kept.size() > kMostBottlenecks ? thinned(kCoarse) : kept;
  }

  // The division of the least sum, no stage of which works longer.
  std::optional<PieceDivision> under(double bottleneck) const {
    // Of s stages, of the first j pieces, on the first r ranks.
    std::vector<State> states((stages_ + 1) * (count_ + 1) * (ranks_ + 1));
    states[at(0, 0, 0)].seconds = 0;
    for (std::size_t s = 1; s <= stages_; ++s) {
      for (std::size_t j = s; j <= count_; ++j) {
        for (std::size_t c = 0; c < task_.choices.size(); ++c) {
          for (std::size_t i = j; i-- > s - 1;) {
            if (work(c, i, j) > bottleneck * (1 + kTolerance)) break;
            if (fits(c, s - 1, i, j)) add_stage(s, {c, i, j}, states);
          }
        }
      }
    }
    if (states[at(stages_, count_, ranks_)].seconds == kNever) return std::nullopt;
    PieceDivision found;
    double most = 0;
    std::size_t end = count_, used = ranks_;
    for (std::size_t s = stages_; s > 0; --s) {
      const State& state = states[at(s, end, used)];
      found.ends.insert(found.ends.begin(), end);
      found.choices.insert(found.choices.begin(), state.choice);
      most = std::max(most, work(state.choice, state.from, end));
      end = state.from;
      used -= ranks_of(state.choice);
    }
    found.seconds = states[at(stages_, count_, ranks_)].seconds +
                    static_cast<double>(task_.micro_batches - 1) * most;
    return found;
  }

 private:
  struct State {
    double seconds = kNever;
    std::size_t choice = 0, from = 0;  // of the last stage
  };
  struct Run {
    std::size_t choice, begin, end;
  };

  std::size_t at(std::size_t stage, std::size_t piece, std::size_t rank) const {
    return (stage * (count_ + 1) + piece) * (ranks_ + 1) + rank;
  }
  std::size_t ranks_of(std::size_t choice) const {
    return static_cast<std::size_t>(task_.choices[choice].ranks);
  }

  void add_stage(std::size_t s, const Run& run, std::vector<State>& states) const {
    const std::size_t own = ranks_of(run.choice);
    double seconds = work(run.choice, run.begin, run.end);
    if (run.begin > 0) seconds += task_.choices[run.choice].pieces[run.begin].received_s;
    for (std::size_t used = 0; used + own <= ranks_; ++used) {
      const double sum = states[at(s - 1, run.begin, used)].seconds + seconds;
      State& state = states[at(s, run.end, used + own)];
      if (sum < state.seconds && in_one_node(used, own)) state = {sum, run.choice, run.begin};
    }
  }

  bool in_one_node(std::size_t first, std::size_t own) const {
    const auto node = static_cast<std::size_t>(task_.ranks_of_node);
    return node == 0 || first / node == (first + own - 1) / node;
  }

  double work(std::size_t choice, std::size_t begin, std::size_t end) const {
    return before_[choice][end].work_s - before_[choice][begin].work_s;
  }

  bool fits(std::size_t choice, std::size_t stage, std::size_t begin, std::size_t end) const {
    if (task_.memory <= 0) return true;
    const std::vector<PieceTerms>& sums = before_[choice];
    double live = 0;
    for (std::size_t i = begin; i < end; ++i)
      live = std::max(live, task_.choices[choice].pieces[i].live_bytes);
    const double kept = sums[end].kept_bytes - sums[begin].kept_bytes;
    const double fixed = sums[end].fixed_bytes - sums[begin].fixed_bytes;
    return fixed + kept * task_.in_flight[stage] + live <= task_.memory;
  }

  const DivisionTask& task_;
  const std::size_t count_, stages_, ranks_;
  std::vector<std::vector<PieceTerms>> before_;  // sums, by choice
};

}  // namespace

std::vector<PieceDivision> divisions(const DivisionTask& task, std::size_t most) {
  const Divider divider(task);
  std::vector<PieceDivision> found;
  for (const double bottleneck : divider.bottlenecks()) {
    std::optional<PieceDivision> one = divider.under(bottleneck);
    if (!one) continue;
    const auto same = [&](const PieceDivision& other) {
      return other.ends == one->ends && other.choices == one->choices;
    };
    if (!std::ranges::any_of(found, same)) found.push_back(*std::move(one));
  }
  std::ranges::stable_sort(found, {}, &PieceDivision::seconds);
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace egret::parallel
