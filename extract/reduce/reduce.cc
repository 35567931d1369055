// SPDX-License-Identifier: Apache-2.0
#include "extract/reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "extract/core/cheapest_terms.h"
#include "extract/core/components.h"
#include "extract/core/implied.h"

namespace egret::extract {
namespace {

bool contains(std::span<const ClassIndex> all, std::span<const ClassIndex> some) {
  return std::ranges::includes(all, some);
}

class Reducer {
 public:
  Reducer(Core& core, const Problem& problem, const ReduceOptions& options)
      : core_(core), problem_(problem), options_(options), positive_(!core.has_negative_costs()) {}

  void run() {
    std::size_t before;
    do {
      changed_ = false;
      before = size();
      drop_unreachable();
      components_ = strong_components(core_);
      settle_required();
      if (positive_) settle_free();
      inline_classes();
      drop_self_needs();
      if (stopped()) break;
      use_implied();
    } while (changed_ && !stopped() && is_worth_more(before));
    drop_unreachable();
  }

 private:
  // Of classes, candidates and needs.
  std::size_t size() const {
    std::size_t size = 0;
    for (const auto& candidates : core_.classes) {
      if (!candidates.empty()) ++size;
      for (const Candidate& candidate : candidates) size += 1 + candidate.needs.size();
    }
    return size;
  }
  // In large cores chains of hundreds of classes go one a round, each of which looks at everything.
  bool is_worth_more(std::size_t before) const {
    constexpr std::size_t kLarge = 20'000;
    constexpr std::size_t kLeastShare = 300;  // one in so many
    const std::size_t after = size();
    return after < kLarge || (before > after && (before - after) * kLeastShare > after);
  }

  bool stopped() const { return options_.should_stop && options_.should_stop(); }

  // Whether a candidate of `c` may forget that it needs `need`, which is chosen in any case.
  bool cannot_contain(ClassIndex need, ClassIndex c) const {
    return components_[need] != components_[c];
  }

  bool has_marked(ClassIndex c) const {
    return std::ranges::any_of(
        core_.classes[c], [&](const Candidate& candidate) { return core_.is_marked(candidate); });
  }

  void decide(const Candidate& candidate) {
    for (const NodeIndex node : candidate.picks)
      core_.decided[problem_.graph.node_class[node]] = node;
  }

  template <typename Predicate>
  void drop_needs(Predicate predicate) {
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      for (Candidate& candidate : core_.classes[c]) {
        const auto dropped =
            std::erase_if(candidate.needs, [&](ClassIndex need) { return predicate(c, need); });
        changed_ = changed_ || dropped > 0;
      }
    }
  }

  void settle_required() {
    drop_needs([&](ClassIndex c, ClassIndex need) {
      return core_.required[need] && cannot_contain(need, c);
    });
    std::vector<bool> needed(core_.classes.size(), false);
    for (const auto& candidates : core_.classes) {
      for (const Candidate& candidate : candidates) {
        for (const ClassIndex need : candidate.needs) needed[need] = true;
      }
    }
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      if (!core_.required[c] || core_.classes[c].size() != 1) continue;
      const Candidate& only = core_.classes[c].front();
      for (const ClassIndex need : only.needs) {
        changed_ = changed_ || !core_.required[need];
        core_.required[need] = true;
      }
      if (needed[c]) continue;  // within its component: the order still matters
      if (core_.is_marked(only)) continue;
      // What it needs lies in other components, or it is needed by those.
      core_.paid += only.cost;
      decide(only);
      core_.required[c] = false;
      core_.classes[c].clear();
      changed_ = true;
    }
  }

  void settle_free() {
    std::vector<bool> free(core_.classes.size(), false);
    bool any = false;
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      const auto& candidates = core_.classes[c];
      const auto found = std::ranges::find_if(candidates, [](const Candidate& candidate) {
        return candidate.cost == 0 && candidate.needs.empty();
      });
      if (found == candidates.end() || has_marked(c)) continue;
      decide(*found);
      free[c] = any = true;
    }
    if (!any) return;
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      if (!free[c]) continue;
      core_.classes[c].clear();
      core_.required[c] = false;
    }
    drop_needs([&](ClassIndex, ClassIndex need) { return free[need]; });
    changed_ = true;
  }

  // Made by inlining: the candidate would contain its own class.
  void drop_self_needs() {
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      const auto dropped = std::erase_if(core_.classes[c], [&](const Candidate& candidate) {
        return std::ranges::binary_search(candidate.needs, c);
      });
      changed_ = changed_ || dropped > 0;
    }
  }

  struct User {
    std::uint32_t count = 0;  // candidates that need the class
    ClassIndex c = kNoNode;   // the last one's
    std::uint32_t candidate = 0;
  };
  std::vector<User> users() const {
    std::vector<User> users(core_.classes.size());
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      for (std::uint32_t i = 0; i < core_.classes[c].size(); ++i) {
        for (const ClassIndex need : core_.classes[c][i].needs) {
          users[need] = {users[need].count + 1, c, i};
        }
      }
    }
    return users;
  }

  static Candidate joined(const Candidate& user, ClassIndex c, const Candidate& candidate) {
    Candidate made{user.cost + candidate.cost, {}, user.picks};
    std::ranges::set_union(user.needs, candidate.needs, std::back_inserter(made.needs));
    std::erase(made.needs, c);
    made.picks.insert(made.picks.end(), candidate.picks.begin(), candidate.picks.end());
    return made;
  }

  void inline_classes() {
    inline_single_candidates();
    inline_single_users();
  }

  // Classes whose only candidate costs nothing: what they need takes their place. Of two in a row
  // (which might be a circle) one waits for the next round.
  void inline_single_candidates() {
    std::vector<bool> inlined(core_.classes.size(), false);
    std::vector<bool> waits(core_.classes.size(), false);
    bool any = false;
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      const auto& candidates = core_.classes[c];
      if (core_.required[c] || waits[c] || candidates.size() != 1) continue;
      const Candidate& only = candidates.front();
      const auto blocks = [&](ClassIndex need) { return inlined[need] || need == c; };
      if (only.cost != 0 || std::ranges::any_of(only.needs, blocks) || core_.is_marked(only))
        continue;
      for (const ClassIndex need : only.needs) waits[need] = true;
      decide(only);
      inlined[c] = any = true;
    }
    if (!any) return;
    changed_ = true;
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      for (Candidate& candidate : core_.classes[c]) replace_needs(candidate.needs, inlined);
    }
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      if (inlined[c]) core_.classes[c].clear();
    }
  }
  void replace_needs(std::vector<ClassIndex>& needs, const std::vector<bool>& inlined) const {
    if (std::ranges::none_of(needs, [&](ClassIndex need) { return inlined[need]; })) return;
    std::vector<ClassIndex> replaced;
    for (const ClassIndex need : needs) {
      if (!inlined[need]) {
        replaced.push_back(need);
        continue;
      }
      const auto& inner = core_.classes[need].front().needs;
      replaced.insert(replaced.end(), inner.begin(), inner.end());
    }
    std::sort(replaced.begin(), replaced.end());
    replaced.erase(std::unique(replaced.begin(), replaced.end()), replaced.end());
    needs = std::move(replaced);
  }

  // Classes that one candidate alone needs.
  void inline_single_users() {
    constexpr std::size_t kMostCandidates = 64;  // of a class that is multiplied into another
    const std::vector<User> users = this->users();
    std::vector<bool> touched(core_.classes.size(), false);  // its candidates have other places now
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      const User& user = users[c];
      auto& candidates = core_.classes[c];
      if (user.count != 1 || core_.required[c] || user.c == c || touched[user.c] || touched[c] ||
          candidates.empty() || candidates.size() > kMostCandidates) {
        continue;
      }
      auto& into = core_.classes[user.c];
      const Candidate old = into[user.candidate];
      if (!std::ranges::binary_search(old.needs, c)) continue;
      into.erase(into.begin() + user.candidate);
      for (const Candidate& candidate : candidates) {
        if (std::ranges::binary_search(candidate.needs, c)) continue;
        into.push_back(joined(old, c, candidate));
      }
      candidates.clear();
      touched[user.c] = touched[c] = true;
      changed_ = true;
    }
  }

  void use_implied() {
    const Implied implied(core_);
    require_implied(implied);
    drop_implied_needs(implied);
    if (!positive_) return;
    drop_dominated(implied);
    drop_expensive(implied);
  }

  void require_implied(const Implied& implied) {
    const std::vector<bool> before = core_.required;
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      if (!before[c]) continue;
      for (const ClassIndex other : implied.by(c)) {
        changed_ = changed_ || !core_.required[other];
        core_.required[other] = true;
      }
    }
  }

  void drop_implied_needs(const Implied& implied) {
    for (auto& candidates : core_.classes) {
      for (Candidate& candidate : candidates) {
        const std::vector<ClassIndex> needs = candidate.needs;
        const auto dropped = std::erase_if(candidate.needs, [&](ClassIndex need) {
          return std::ranges::any_of(needs, [&](ClassIndex other) {
            // Of two that imply each other, one has to stay; none can be in an answer.
            return other != need && implied.implies(other, need) &&
                   !(implied.implies(need, other) && other > need);
          });
        });
        changed_ = changed_ || dropped > 0;
      }
    }
  }

  void drop_dominated(const Implied& implied) {
    constexpr std::size_t kMostPairs =
        4096;  // of candidates in a class: above, the same needs only
    for (auto& candidates : core_.classes) {
      if (candidates.size() < 2) continue;
      std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
        return a.cost != b.cost ? a.cost < b.cost : a.needs.size() < b.needs.size();
      });
      std::vector<Candidate> kept;
      std::vector<Candidate> marked;
      std::map<std::vector<ClassIndex>, std::size_t> same;
      for (Candidate& candidate : candidates) {
        if (core_.is_marked(candidate)) {
          marked.push_back(std::move(candidate));
          continue;
        }
        if (!same.try_emplace(candidate.needs, 0).second) continue;
        const std::vector<ClassIndex> all = implied.by(candidate);
        const bool few = kept.size() <= kMostPairs;
        const bool dominated = few && std::ranges::any_of(kept, [&](const Candidate& cheaper) {
                                 return contains(all, cheaper.needs);
                               });
        if (!dominated) kept.push_back(std::move(candidate));
      }
      std::ranges::move(marked, std::back_inserter(kept));
      changed_ = changed_ || kept.size() < candidates.size();
      candidates = std::move(kept);
    }
  }

  // At least: all that is required, and what the candidate implies.
  void drop_expensive(const Implied& implied) {
    if (!std::isfinite(options_.known_cost)) return;
    const double margin = 1e-9 * std::max(1.0, std::abs(options_.known_cost));
    std::vector<double> least(core_.classes.size(), 0);
    double certain = core_.paid;
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      const auto& candidates = core_.classes[c];
      if (candidates.empty()) continue;
      least[c] = std::ranges::min_element(candidates, {}, &Candidate::cost)->cost;
      if (core_.required[c]) certain += least[c];
    }
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      const double own = core_.required[c] ? certain - least[c] : certain;
      const auto dropped = std::erase_if(core_.classes[c], [&](const Candidate& candidate) {
        double cost = own + candidate.cost;
        for (const ClassIndex other : implied.by(candidate)) {
          if (!core_.required[other]) cost += least[other];
        }
        return cost > options_.known_cost + margin;
      });
      changed_ = changed_ || dropped > 0;
    }
    drop_underivable();
  }

  // Candidates with a need that has no candidate left, or none that comes to an end.
  void drop_underivable() {
    const CoreProblem core(core_);
    const TreeChoice terms = cheapest_terms(core.problem());
    for (auto& candidates : core_.classes) {
      const auto dropped = std::erase_if(candidates, [&](const Candidate& candidate) {
        return std::ranges::any_of(candidate.needs,
                                   [&](ClassIndex need) { return terms.choice[need] == kNoNode; });
      });
      changed_ = changed_ || dropped > 0;
    }
  }

  // And numbers what is left anew.
  void drop_unreachable() {
    std::vector<bool> reached = core_.required;
    std::vector<ClassIndex> queue;
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      if (reached[c]) queue.push_back(c);
    }
    while (!queue.empty()) {
      const ClassIndex c = queue.back();
      queue.pop_back();
      for (const Candidate& candidate : core_.classes[c]) {
        for (const ClassIndex need : candidate.needs) {
          if (!reached[need]) reached[need] = true, queue.push_back(need);
        }
      }
    }
    std::vector<ClassIndex> index(core_.classes.size(), kNoNode);
    ClassIndex count = 0;
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      if (!reached[c]) continue;
      index[c] = count;
      if (count != c) core_.classes[count] = std::move(core_.classes[c]);
      core_.required[count++] = core_.required[c];
    }
    if (count == core_.classes.size()) return;
    core_.classes.resize(count);
    core_.required.resize(count);
    for (auto& candidates : core_.classes) {
      for (Candidate& candidate : candidates) {
        for (ClassIndex& need : candidate.needs) need = index[need];
      }
    }
    changed_ = true;
  }

  Core& core_;
  const Problem& problem_;
  const ReduceOptions& options_;
  const bool positive_;
  bool changed_ = false;
  std::vector<std::uint32_t> components_;
};

}  // namespace

void reduce(Core& core, const Problem& problem, const ReduceOptions& options) {
  Reducer(core, problem, options).run();
}

}  // namespace egret::extract
