// SPDX-License-Identifier: Apache-2.0
// A small map that keeps the entries used last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <utility>

namespace egret::base {

// Lookups are linear in the number of entries, which is small where each is a compiled model. An
// entry keeps its address until it is displaced.
template <typename Key, typename Value>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(std::size_t most) : most_(std::max<std::size_t>(1, most)) {}

  // Null where there is no such entry; else it is the last used one.
  Value* find(const Key& key) {
    const auto known = std::ranges::find(entries_, key, &Entry::first);
    if (known == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, known);
    return &known->second;
  }
  // Displaces the entry used the longest time ago if there is no room for another: before that one
  // is made, where entries are large.
  void make_room() {
    if (entries_.size() >= most_) entries_.pop_back();
  }
  // The key is new.
  Value& add(Key key, Value value) {
    make_room();
    return entries_.emplace_front(std::move(key), std::move(value)).second;
  }
  std::size_t size() const { return entries_.size(); }

 private:
  using Entry = std::pair<Key, Value>;

  std::size_t most_;
  std::list<Entry> entries_;  // the last used one first
};

}  // namespace egret::base
