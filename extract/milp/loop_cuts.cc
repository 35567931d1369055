// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/loop_cuts.h"

#include <algorithm>
#include <set>

namespace egret::extract {
namespace {

constexpr double kLeastViolation = 0.02;
constexpr double kZero = 1e-9;
constexpr std::size_t kLargestLoop = 64;  // classes

// Separates loop cuts. Take a set of classes and a class c in it. If c is chosen, some chosen
// candidate of the set has no need in the set. The relaxation violates this if the candidates that
// lead out of the set have a smaller total value than those of c.
class LoopSearch {
 public:
  LoopSearch(const FlatCore& flat, std::span<const double> values)
      : flat_(flat),
        values_(values),
        inside_(flat.class_count(), false),
        needs_inside_(flat.size(), 0) {}

  // The classes of a violated cut, ascending; empty if none was found. First the set grows until
  // its cut is violated, then only while that increases the violation.
  std::vector<ClassIndex> around(ClassIndex c) {
    const double chosen = value_of(c);
    std::vector<ClassIndex> loop;
    if (chosen > kLeastViolation && leaving_for_good(c) < chosen - kLeastViolation) {
      enter(c);
      while (out_ >= chosen - kLeastViolation && loop_.size() < kLargestLoop && grow()) {
      }
      while (loop_.size() < kLargestLoop && grow_for_less()) {
      }
      if (out_ < chosen - kLeastViolation) loop = loop_;
      clear();
    }
    std::ranges::sort(loop);
    return loop;
  }

 private:
  double value_of(ClassIndex c) const {
    double sum = 0;
    for (CandidateIndex k = flat_.begin[c]; k < flat_.begin[c + 1]; ++k) sum += values_[k];
    return sum;
  }
  // The value of candidates that lead out of every set, because they need nothing.
  double leaving_for_good(ClassIndex c) const {
    double sum = 0;
    for (CandidateIndex k = flat_.begin[c]; k < flat_.begin[c + 1]; ++k) {
      if (flat_.needs_of(k).empty()) sum += values_[k];
    }
    return sum;
  }

  // The change of the outgoing value if the class enters the set.
  // Two effects: candidates of the class that lead out of the larger set are added, and candidates
  // of the set whose only exit was this class no longer lead out.
  double growth(ClassIndex c) const {
    double sum = 0;
    for (CandidateIndex k = flat_.begin[c]; k < flat_.begin[c + 1]; ++k) {
      const bool leads_out = needs_inside_[k] == 0 &&
                             std::ranges::find(flat_.needs_of(k), c) == flat_.needs_of(k).end();
      if (leads_out) sum += values_[k];
    }
    for (const CandidateIndex user : flat_.users_of(c)) {
      if (inside_[flat_.owner[user]] && needs_inside_[user] == 0) sum -= values_[user];
    }
    return sum;
  }
  void enter(ClassIndex c) {
    out_ += growth(c);
    inside_[c] = true;
    loop_.push_back(c);
    for (const CandidateIndex user : flat_.users_of(c)) ++needs_inside_[user];
  }
  void clear() {
    for (const ClassIndex c : loop_) {
      inside_[c] = false;
      for (const CandidateIndex user : flat_.users_of(c)) needs_inside_[user] = 0;
    }
    loop_.clear();
    out_ = 0;
  }

  // The need whose entry gives the least outgoing value; kNoNode if none can enter.
  std::pair<double, ClassIndex> best_entry() const {
    std::pair<double, ClassIndex> best{Milp::kInfinite, kNoNode};
    std::set<ClassIndex> seen;
    for (const ClassIndex c : loop_) {
      for (CandidateIndex k = flat_.begin[c]; k < flat_.begin[c + 1]; ++k) {
        if (needs_inside_[k] > 0 || values_[k] <= kZero) continue;
        for (const ClassIndex need : flat_.needs_of(k)) {
          if (seen.insert(need).second) best = std::min(best, {growth(need), need});
        }
      }
    }
    return best;
  }
  bool grow() {
    const ClassIndex next = best_entry().second;
    if (next == kNoNode) return false;
    enter(next);
    return true;
  }
  bool grow_for_less() {
    const auto [growth, next] = best_entry();
    if (next == kNoNode || growth >= -kZero) return false;
    enter(next);
    return true;
  }

  const FlatCore& flat_;
  std::span<const double> values_;
  std::vector<bool> inside_;
  std::vector<std::uint32_t> needs_inside_;  // per candidate
  std::vector<ClassIndex> loop_;
  double out_ = 0;  // of candidates that lead out
};

}  // namespace

// The row: value of c - value of the candidates that lead out <= 0.
Milp::Row loop_cut(const FlatCore& flat, const std::vector<ClassIndex>& loop, ClassIndex chosen) {
  Milp::Row row{-Milp::kInfinite, 0, {}, {}};
  for (const ClassIndex c : loop) {
    for (CandidateIndex k = flat.begin[c]; k < flat.begin[c + 1]; ++k) {
      const bool outside = std::ranges::none_of(flat.needs_of(k), [&](ClassIndex need) {
        return std::ranges::binary_search(loop, need);
      });
      const int value = (c == chosen ? 1 : 0) - (outside ? 1 : 0);
      if (value != 0) row.add(static_cast<int>(k), value);
    }
  }
  return row;
}

// One attempt per class. The separation is a greedy heuristic: a violated cut may be missed, which
// costs strength and not correctness.
std::vector<Milp::Row> violated_loop_cuts(const FlatCore& flat, std::span<const double> values) {
  LoopSearch search(flat, values);
  std::vector<Milp::Row> rows;
  std::set<std::vector<ClassIndex>> seen;
  for (ClassIndex c = 0; c < flat.class_count(); ++c) {
    const std::vector<ClassIndex> loop = search.around(c);
    if (!loop.empty() && seen.insert(loop).second) rows.push_back(loop_cut(flat, loop, c));
  }
  return rows;
}

}  // namespace egret::extract
