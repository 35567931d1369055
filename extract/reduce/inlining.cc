// SPDX-License-Identifier: Apache-2.0
#include "extract/reduce/inlining.h"

#include <algorithm>
#include <iterator>

#include "extract/reduce/settled.h"

namespace egret::extract {
namespace {

// The classes to replace by the needs of their only candidate; each is decided. No chosen class
// needs another chosen one, so one pass over all needs replaces them. `waits` marks the needs of
// classes chosen so far. They are left for the next call.
std::vector<bool> choose_single_candidates(Core& core, const Problem& problem) {
  std::vector<bool> inlined(core.classes.size(), false);
  std::vector<bool> waits(core.classes.size(), false);
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    const auto& candidates = core.classes[c];
    if (core.required[c] || waits[c] || candidates.size() != 1) continue;
    const Candidate& only = candidates.front();
    const auto blocks = [&](ClassIndex need) { return inlined[need] || need == c; };
    if (only.cost != 0 || std::ranges::any_of(only.needs, blocks) || core.is_marked(only)) continue;
    for (const ClassIndex need : only.needs) waits[need] = true;
    decide(core, problem, only);
    inlined[c] = true;
  }
  return inlined;
}

// A need of an inlined class becomes the needs of its only candidate.
std::vector<ClassIndex> replaced_needs(const Core& core, const std::vector<ClassIndex>& needs,
                                       const std::vector<bool>& inlined) {
  std::vector<ClassIndex> replaced;
  for (const ClassIndex need : needs) {
    if (!inlined[need]) {
      replaced.push_back(need);
      continue;
    }
    const auto& inner = core.classes[need].front().needs;
    replaced.insert(replaced.end(), inner.begin(), inner.end());
  }
  std::sort(replaced.begin(), replaced.end());
  replaced.erase(std::unique(replaced.begin(), replaced.end()), replaced.end());
  return replaced;
}

struct User {
  std::uint32_t count = 0;  // candidates that need the class
  ClassIndex c = kNoNode;   // class of the last one
  std::uint32_t candidate = 0;
};

std::vector<User> users_of_classes(const Core& core) {
  std::vector<User> users(core.classes.size());
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    for (std::uint32_t i = 0; i < core.classes[c].size(); ++i) {
      for (const ClassIndex need : core.classes[c][i].needs)
        users[need] = {users[need].count + 1, c, i};
    }
  }
  return users;
}

// The user with `candidate` of class `c` in the place of its need `c`.
Candidate joined(const Candidate& user, ClassIndex c, const Candidate& candidate) {
  Candidate made{user.cost + candidate.cost, {}, user.picks};
  std::ranges::set_union(user.needs, candidate.needs, std::back_inserter(made.needs));
  std::erase(made.needs, c);
  made.picks.insert(made.picks.end(), candidate.picks.begin(), candidate.picks.end());
  return made;
}

}  // namespace

// A class with one candidate of no cost adds only its needs. Its users take these in its place, and
// the class disappears.
bool inline_single_candidates(Core& core, const Problem& problem) {
  const std::vector<bool> inlined = choose_single_candidates(core, problem);
  const auto is_inlined = [&](ClassIndex c) { return inlined[c]; };
  if (std::ranges::find(inlined, true) == inlined.end()) return false;
  for (auto& candidates : core.classes) {
    for (Candidate& candidate : candidates) {
      if (std::ranges::any_of(candidate.needs, is_inlined))
        candidate.needs = replaced_needs(core, candidate.needs, inlined);
    }
  }
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    if (inlined[c]) core.classes[c].clear();
  }
  return true;
}

// A class with one user is chosen only together with it. The user becomes one candidate for each
// candidate of the class. Their number is bounded: a product over a chain of such classes could be
// exponential.
bool inline_single_users(Core& core) {
  constexpr std::size_t kMostCandidates = 64;  // of a class that is multiplied into another
  bool changed = false;
  const std::vector<User> users = users_of_classes(core);
  // Classes whose candidates moved: `users` does not hold for them any more.
  std::vector<bool> touched(core.classes.size(), false);
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    const User& user = users[c];
    auto& candidates = core.classes[c];
    if (user.count != 1 || core.required[c] || user.c == c || touched[user.c] || touched[c] ||
        candidates.empty() || candidates.size() > kMostCandidates) {
      continue;
    }
    auto& into = core.classes[user.c];
    const Candidate old = into[user.candidate];
    if (!std::ranges::binary_search(old.needs, c)) continue;
    into.erase(into.begin() + user.candidate);
    for (const Candidate& candidate : candidates) {
      if (std::ranges::binary_search(candidate.needs, c)) continue;
      into.push_back(joined(old, c, candidate));
    }
    candidates.clear();
    touched[user.c] = touched[c] = true;
    changed = true;
  }
  return changed;
}

// Inlining may give a candidate a need of its own class. It would be part of its own definition.
bool drop_self_needs(Core& core) {
  bool changed = false;
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    const auto dropped = std::erase_if(core.classes[c], [&](const Candidate& candidate) {
      return std::ranges::binary_search(candidate.needs, c);
    });
    changed = changed || dropped > 0;
  }
  return changed;
}

}  // namespace egret::extract
