// SPDX-License-Identifier: Apache-2.0
#include "extract/bounds/dual_ascent.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "base/random.h"
#include "extract/core/components.h"

namespace egret::extract {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

using Entry = std::pair<double, ClassIndex>;
using LeastFirst = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

// For each class, the length of the longest chain of needs below it, in the term that minimizes
// this length (Knuth 1977, with a maximum instead of a sum). Infinite if there is no term. Classes
// leave the queue in order of increasing length, and a candidate is complete when its last need has
// left. With costs that are not negative, each class is final when it leaves. O(size *
// log(classes)).
std::vector<double> chains_below(const FlatCore& flat, std::span<const double> costs) {
  std::vector<double> least(flat.class_count(), kInfinite);
  std::vector<double> longest(flat.size(), 0);
  std::vector<std::size_t> missing;
  LeastFirst queue;
  const auto offer = [&](CandidateIndex k) {
    const double length = costs[k] + longest[k];
    if (length >= least[flat.owner[k]]) return;
    least[flat.owner[k]] = length;
    queue.push({length, flat.owner[k]});
  };
  for (CandidateIndex k = 0; k < flat.size(); ++k) {
    missing.push_back(flat.needs_of(k).size());
    if (missing[k] == 0) offer(k);
  }
  while (!queue.empty()) {
    const auto [length, c] = queue.top();
    queue.pop();
    if (length > least[c]) continue;
    for (const CandidateIndex user : flat.users_of(c)) {
      longest[user] = std::max(longest[user], length);
      if (--missing[user] == 0) offer(user);
    }
  }
  return least;
}

// Raises the bound cut by cut. A cut is a set of classes, grown from a required class. In an
// acyclic answer, some candidate that is chosen in the cut needs no class of the cut, so the price
// of the cut is charged to all such candidates. When one of them is fully charged, the cut grows
// into one of its needs. If all its needs are free, its class becomes free instead, and the cut is
// done. The ascent ends when all required classes are free. The bound is the sum of the prices.
// Each raise charges a candidate in full or makes a class free, so the ascent ends. Charged costs
// never return, so every intermediate state is a valid bound.
class Ascent {
 public:
  // Classes with a term of no cost are free from the start: no price can be charged for them.
  Ascent(const Core& core, const FlatCore& flat, const DualAscentOptions& options)
      : core_(core),
        options_(options),
        flat_(flat),
        free_(flat.class_count(), false),
        needs_in_cut_(flat.size(), 0),
        priced_(flat.size(), false),
        charged_until_(flat.size(), 0) {
    for (CandidateIndex k = 0; k < flat.size(); ++k) {
      result_.rest.push_back(options.costs.empty() ? flat.content[k]->cost : options.costs[k]);
      not_free_.push_back(flat.needs_of(k).size());
    }
    for (CandidateIndex k = 0; k < flat.size(); ++k) {
      if (rest_of(k) <= 0 && not_free_[k] == 0) make_free(flat.owner[k]);
    }
  }

  DualAscent run() {
    measure_chains();
    for (const ClassIndex root : required_from_the_leaves()) {
      ascend(root);
      if (stopped_) break;
    }
    return std::move(result_);
  }

 private:
  // The required classes, in the order in which they are priced.
  // Leaves first: components are numbered such that a component needs only lower ones. The part
  // below a required class is then priced before the class itself.
  std::vector<ClassIndex> required_from_the_leaves() const {
    std::vector<ClassIndex> order;
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      if (core_.required[c]) order.push_back(c);
    }
    const std::vector<std::uint32_t> component = strong_components(core_);
    std::ranges::stable_sort(order, {}, [&](ClassIndex c) { return component[c]; });
    return order;
  }

  void measure_chains() {
    chain_ = chains_below(flat_, result_.rest);
    cuts_since_measured_ = 0;
    // Random factors make the cuts of each seed different.
    // The chains decide only the order of cuts. Blurred lengths therefore cannot make a bound
    // wrong.
    if (options_.seed == 0) return;
    base::Random random(options_.seed);
    for (double& length : chain_) length *= std::exp(random.uniform(-0.5, 0.5));
  }

  // Marks a class as free, and all classes that have a free term because of it.
  void make_free(ClassIndex c) {
    if (free_[c]) return;
    free_[c] = true;
    std::vector<ClassIndex> queue = {c};
    while (!queue.empty()) {
      const ClassIndex next = queue.back();
      queue.pop_back();
      for (const CandidateIndex user : flat_.users_of(next)) {
        // The counter falls at each need, whether or not the candidate is charged. A candidate that
        // is charged later thus finds its needs counted (raise_price(), clear_cut()).
        const ClassIndex owner = flat_.owner[user];
        if (--not_free_[user] > 0 || rest_of(user) > 0 || free_[owner]) continue;
        free_[owner] = true;
        queue.push_back(owner);
      }
    }
  }

  // While a candidate is being priced, its `rest` holds the price at which it is fully charged. The
  // price of the cut thus rises for all its candidates in O(1). The queue next_ orders these
  // prices, and its least one is the next event.
  double rest_of(CandidateIndex k) const {
    return priced_[k] ? result_.rest[k] - price_ : result_.rest[k];
  }
  void begin_pricing(CandidateIndex k) {
    priced_[k] = true;
    charged_until_[k] = price_;
    result_.rest[k] += price_;
    next_.push({result_.rest[k], k});
  }
  void end_pricing(CandidateIndex k) {
    if (!priced_[k]) return;
    charge(k);
    result_.rest[k] = std::max(0.0, rest_of(k));
    priced_[k] = false;
  }

  bool wants_rows() const { return std::isfinite(options_.row_price); }
  void charge(CandidateIndex k) {
    if (wants_rows() && price_ > charged_until_[k])
      row_.charges.emplace_back(k, price_ - charged_until_[k]);
    charged_until_[k] = price_;
  }
  // Ends a row: every answer chooses candidates whose charges in the row sum up to at least its
  // price. A row may span several cuts of one growth. Each of them is a valid inequality, and so is
  // their sum.
  void end_row() {
    if (!wants_rows() || price_ <= row_begin_) return;
    for (const ClassIndex c : cut_) {
      for (CandidateIndex k = flat_.begin[c]; k < flat_.begin[c + 1]; ++k) {
        if (priced_[k]) charge(k);
      }
    }
    row_.price = price_ - row_begin_;
    row_begin_ = price_;
    result_.rows.push_back(std::move(row_));
    row_ = {};
  }

  // Prices cuts around `root` until it is free. When a class inside becomes free, the cut is
  // discarded: a candidate that leads out of it is charged in full and has nothing to grow into, so
  // the price cannot rise.
  void ascend(ClassIndex root) {
    while (!free_[root] && !stopped_) {
      stopped_ = options_.should_stop && options_.should_stop();
      if (options_.refresh > 0 && ++cuts_since_measured_ > options_.refresh) measure_chains();
      enter(root);
      Raised raised;
      do {
        grow();
        raised = raise_price();
      } while (raised == Raised::kCut);
      clear_cut();
      if (raised == Raised::kNothing) return;  // the core has no answer
    }
  }

  enum class Raised : std::uint8_t {
    kCut,      // which is larger now
    kFree,     // a class has a free term now: the cut has to be found anew
    kNothing,  // no candidate leads out of the cut
  };
  // Raises the price until one more candidate is fully charged. Stale queue entries are skipped. An
  // entry is stale if the candidate's pricing has ended or began anew since.
  Raised raise_price() {
    while (!next_.empty()) {
      const auto [at, k] = next_.top();
      if (priced_[k] && result_.rest[k] == at) break;
      next_.pop();
    }
    if (next_.empty()) return Raised::kNothing;
    const auto [at, k] = next_.top();
    next_.pop();
    // The bound rises by the increment of the price, whatever the cut's size: each answer pays at
    // least once.
    result_.bound += at - price_;
    price_ = at;
    end_pricing(k);
    result_.rest[k] = 0;
    // Rows of small price are joined. Too many weak rows would slow the relaxation down.
    if (price_ - row_begin_ > options_.row_price) end_row();
    if (not_free_[k] == 0) {
      make_free(flat_.owner[k]);
      return Raised::kFree;
    }
    follow(k);
    return Raised::kCut;
  }

  // Ends the row and forgets the cut. Each priced candidate keeps what the prices left of its cost.
  // A candidate without a rest is paid for, and frees its class once its needs are free.
  void clear_cut() {
    end_row();
    row_ = {};
    row_begin_ = 0;
    std::vector<CandidateIndex> charged;  // fully charged at the same price as the last one
    for (const ClassIndex c : cut_) {
      for (CandidateIndex k = flat_.begin[c]; k < flat_.begin[c + 1]; ++k) {
        if (!priced_[k]) continue;
        result_.rest[k] = std::max(0.0, rest_of(k));
        priced_[k] = false;
        if (result_.rest[k] == 0) charged.push_back(k);
      }
      for (const CandidateIndex user : flat_.users_of(c)) needs_in_cut_[user] = 0;
    }
    cut_.clear();
    grown_ = 0;
    next_ = {};
    price_ = 0;
    for (const CandidateIndex k : charged) {
      if (not_free_[k] == 0) make_free(flat_.owner[k]);
    }
  }

  // A candidate that needs the new class no longer leads out of the cut, so its pricing ends.
  void enter(ClassIndex c) {
    cut_.push_back(c);
    for (const CandidateIndex user : flat_.users_of(c)) {
      if (++needs_in_cut_[user] == 1) end_pricing(user);
    }
  }

  // Processes the candidates of classes that entered the cut: those that lead out of it are priced,
  // or followed if already fully charged.
  void grow() {
    for (; grown_ < cut_.size(); ++grown_) {
      const ClassIndex c = cut_[grown_];
      for (CandidateIndex k = flat_.begin[c]; k < flat_.begin[c + 1]; ++k) {
        if (needs_in_cut_[k] > 0) continue;
        if (result_.rest[k] > 0) {
          begin_pricing(k);
        } else {
          follow(k);
        }
      }
    }
  }

  // Follows a fully charged candidate into its need with the longest chain. A need that is not free
  // exists; otherwise the candidate's class would be free. None of the needs is in the cut.
  void follow(CandidateIndex k) {
    ClassIndex longest = kNoNode;
    for (const ClassIndex need : flat_.needs_of(k)) {
      if (free_[need]) continue;
      if (longest == kNoNode || chain_[need] > chain_[longest]) longest = need;
    }
    // Following the longest chain keeps the cut close to the part that is expensive, so later
    // raises are large.
    enter(longest);
  }

  struct Next {
    double at;
    CandidateIndex k;
    bool operator<(const Next& other) const {  // the least on top
      return at != other.at ? at > other.at : k > other.k;
    }
  };

  const Core& core_;
  const DualAscentOptions& options_;
  const FlatCore& flat_;
  DualAscent result_;
  std::vector<bool> free_;             // has a term of candidates that are charged in full
  std::vector<std::size_t> not_free_;  // per candidate: needs that are not
  std::vector<double> chain_;
  int cuts_since_measured_ = 0;
  bool stopped_ = false;

  // The cut being priced.
  std::vector<ClassIndex> cut_;
  std::size_t grown_ = 0;
  std::vector<std::uint32_t> needs_in_cut_;  // per candidate
  std::vector<bool> priced_;
  std::priority_queue<Next> next_;
  double price_ = 0;  // since the cut began

  DualAscent::Row row_;
  double row_begin_ = 0;
  std::vector<double> charged_until_;  // per candidate: the price that is in a row
};

// For each class, the least sum of remaining costs on a path to it from a required class
// (Dijkstra's algorithm). The candidates on the path lead down to the class but do not include one
// of its own.
std::vector<double> ways_from_above(const Core& core, const FlatCore& flat,
                                    std::span<const double> rest) {
  std::vector<double> least(flat.class_count(), kInfinite);
  LeastFirst queue;
  for (ClassIndex c = 0; c < flat.class_count(); ++c) {
    if (!core.required[c]) continue;
    least[c] = 0;
    queue.push({0, c});
  }
  while (!queue.empty()) {
    const auto [length, c] = queue.top();
    queue.pop();
    if (length > least[c]) continue;
    for (CandidateIndex k = flat.begin[c]; k < flat.begin[c + 1]; ++k) {
      const double through = length + rest[k];
      for (const ClassIndex need : flat.needs_of(k)) {
        if (through >= least[need]) continue;
        least[need] = through;
        queue.push({through, need});
      }
    }
  }
  return least;
}

}  // namespace

DualAscent dual_ascent(const Core& core, const FlatCore& flat, const DualAscentOptions& options) {
  return Ascent(core, flat, options).run();
}

// The candidates on a path from a required class down to k, k itself, and those on a chain below k
// are distinct in an acyclic answer. Their remaining costs therefore add up.
std::vector<double> least_costs(const Core& core, const FlatCore& flat, const DualAscent& dual) {
  const std::vector<double> below = chains_below(flat, dual.rest);
  const std::vector<double> above = ways_from_above(core, flat, dual.rest);
  std::vector<double> least = dual.rest;
  for (CandidateIndex k = 0; k < flat.size(); ++k) {
    // The needs lie below k side by side and may share classes, so only the longest of their chains
    // may be counted, not their sum.
    double chain = 0;
    for (const ClassIndex need : flat.needs_of(k)) chain = std::max(chain, below[need]);
    least[k] += dual.bound + above[flat.owner[k]] + chain;
  }
  return least;
}

}  // namespace egret::extract
