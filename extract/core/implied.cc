// SPDX-License-Identifier: Apache-2.0
#include "extract/core/implied.h"

#include <algorithm>
#include <deque>
#include <iterator>

namespace egret::extract {

// Computes for each class the classes that every answer with it contains: the dominators of an
// and-or graph. It is the greatest fixpoint, reached from above. The lists may be quadratic in the
// number of classes. Beyond the limit they are given up, and each class implies only itself, which
// is sound.
Implied::Implied(const Core& core, std::size_t limit)
    : lists_(core.classes.size()), known_(core.classes.size(), false) {
  std::vector<std::vector<ClassIndex>> users(core.classes.size());
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    for (const Candidate& candidate : core.classes[c]) {
      for (const ClassIndex need : candidate.needs) {
        if (users[need].empty() || users[need].back() != c) users[need].push_back(c);
      }
    }
  }
  std::deque<ClassIndex> queue;
  std::vector<bool> queued(core.classes.size(), true);
  for (ClassIndex c = 0; c < core.classes.size(); ++c) queue.push_back(c);
  // A worklist algorithm. A class enters with the first candidate whose needs are known, and its
  // list is the intersection over all such candidates.
  while (!queue.empty() && items_ <= limit) {
    const ClassIndex c = queue.front();
    queue.pop_front();
    queued[c] = false;
    if (!update(core, c)) continue;
    for (const ClassIndex user : users[c]) {
      if (queued[user]) continue;
      queued[user] = true;
      queue.push_back(user);
    }
  }
  if (items_ <= limit) return;
  for (ClassIndex c = 0; c < core.classes.size(); ++c) lists_[c] = {c};
}

// Once known, a list only shrinks, so the worklist terminates. The list of a class is itself and
// the intersection, over its candidates, of the union of the lists of their needs.
bool Implied::update(const Core& core, ClassIndex c) {
  std::vector<ClassIndex> common;
  bool first = true;
  for (const Candidate& candidate : core.classes[c]) {
    const bool all = std::ranges::all_of(candidate.needs, [&](ClassIndex n) { return known_[n]; });
    if (!all) continue;
    std::vector<ClassIndex> own = by(candidate);
    if (first) {
      common = std::move(own);
    } else {
      auto next = own.begin();
      std::erase_if(common, [&](ClassIndex other) {
        next = std::find_if(next, own.end(), [&](ClassIndex mine) { return mine >= other; });
        return next == own.end() || *next != other;
      });
    }
    first = false;
  }
  if (first) return false;
  const auto at = std::ranges::lower_bound(common, c);
  if (at == common.end() || *at != c) common.insert(at, c);
  // A list never gains an item once it is known, so equal sizes mean equal lists.
  if (known_[c] && common.size() == lists_[c].size()) return false;
  items_ += common.size();
  items_ -= lists_[c].size();
  lists_[c] = std::move(common);
  known_[c] = true;
  return true;
}

bool Implied::implies(ClassIndex c, ClassIndex other) const {
  return std::ranges::binary_search(lists_[c], other);
}

std::vector<ClassIndex> Implied::by(const Candidate& candidate) const {
  std::vector<ClassIndex> all, united;
  for (const ClassIndex need : candidate.needs) {
    united.clear();
    united.reserve(all.size() + lists_[need].size());
    std::ranges::set_union(all, lists_[need], std::back_inserter(united));
    all.swap(united);
  }
  return all;
}

}  // namespace egret::extract
