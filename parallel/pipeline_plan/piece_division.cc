// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline_plan/piece_division.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace egret::parallel {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-12;  // of a bottleneck: sums in another order

class Divider {
 public:
  explicit Divider(const DivisionTask& task) : task_(task), before_(1) {
    for (const PieceTerms& piece : task.pieces) {
      before_.push_back(before_.back());
      PieceTerms& sum = before_.back();
      sum.work_s += piece.work_s;
      sum.fixed_bytes += piece.fixed_bytes;
      sum.kept_bytes += piece.kept_bytes;
    }
  }

  // The works of all runs of pieces, ascending.
  std::vector<double> bottlenecks() const {
    std::vector<double> works;
    for (std::size_t i = 0; i < task_.pieces.size(); ++i) {
      for (std::size_t j = i + 1; j <= task_.pieces.size(); ++j) works.push_back(work(i, j));
    }
    std::ranges::sort(works);
    const auto equal = [](double a, double b) { return b <= a * (1 + kTolerance); };
    works.erase(std::unique(works.begin(), works.end(), equal), works.end());
    return works;
  }

  // The division with the least messages, no stage of which works longer.
  std::optional<PieceDivision> under(double bottleneck) const {
    const std::size_t count = task_.pieces.size();
    const std::size_t stages = task_.in_flight.size();
    // least[s][j]: messages of s stages of the first j pieces.
    std::vector<std::vector<double>> least(stages + 1, std::vector<double>(count + 1, kNever));
    std::vector<std::vector<std::size_t>> from(stages + 1, std::vector<std::size_t>(count + 1, 0));
    least[0][0] = 0;
    for (std::size_t s = 1; s <= stages; ++s) {
      for (std::size_t j = s; j <= count; ++j) {
        for (std::size_t i = j; i-- > s - 1;) {
          if (work(i, j) > bottleneck * (1 + kTolerance)) break;
          const double sum = least[s - 1][i] + (i > 0 ? task_.pieces[i].received_s : 0);
          if (sum >= least[s][j] || !fits(s - 1, i, j)) continue;
          least[s][j] = sum;
          from[s][j] = i;
        }
      }
    }
    if (least[stages][count] == kNever) return std::nullopt;
    PieceDivision found;
    double most = 0;
    std::size_t end = count;
    for (std::size_t s = stages; s > 0; --s) {
      found.ends.insert(found.ends.begin(), end);
      most = std::max(most, work(from[s][end], end));
      end = from[s][end];
    }
    found.seconds = before_.back().work_s + least[stages][count] +
                    static_cast<double>(task_.micro_batches - 1) * most;
    return found;
  }

 private:
  double work(std::size_t begin, std::size_t end) const {
    return before_[end].work_s - before_[begin].work_s;
  }

  bool fits(std::size_t stage, std::size_t begin, std::size_t end) const {
    if (task_.memory <= 0) return true;
    double live = 0;
    for (std::size_t i = begin; i < end; ++i) live = std::max(live, task_.pieces[i].live_bytes);
    const double kept = before_[end].kept_bytes - before_[begin].kept_bytes;
    const double fixed = before_[end].fixed_bytes - before_[begin].fixed_bytes;
    return fixed + kept * task_.in_flight[stage] + live <= task_.memory;
  }

  const DivisionTask& task_;
  std::vector<PieceTerms> before_;  // sums
};

}  // namespace

std::vector<PieceDivision> divisions(const DivisionTask& task, std::size_t most) {
  const Divider divider(task);
  std::vector<PieceDivision> found;
  for (const double bottleneck : divider.bottlenecks()) {
    std::optional<PieceDivision> one = divider.under(bottleneck);
    if (!one) continue;
    const auto same = [&](const PieceDivision& other) { return other.ends == one->ends; };
    if (!std::ranges::any_of(found, same)) found.push_back(*std::move(one));
  }
  std::ranges::stable_sort(found, {}, &PieceDivision::seconds);
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace egret::parallel
