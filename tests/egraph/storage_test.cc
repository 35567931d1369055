// SPDX-License-Identifier: Apache-2.0
// The tables under the e-graph, each against its plain counterpart.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/random.h"
#include "egraph/core/flat_array.h"
#include "egraph/core/hash_cons.h"
#include "egraph/core/node_lists.h"
#include "egraph/core/union_find.h"

namespace egret::egraph {
namespace {

TEST(FlatArray, KeepsItsContentThroughEverySizeOfBlock) {
  FlatArray<std::uint32_t> array;
  constexpr std::uint32_t kCount = 3'000'000;  // 12 MB: heap, pages, huge pages
  for (std::uint32_t i = 0; i < kCount; ++i) array.push_back(i * 7);
  ASSERT_EQ(array.size(), kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(array[i], i * 7);
  EXPECT_LT(array.bytes(), std::size_t{kCount} * 4 * 5 / 4);
  for (const std::size_t size : {2'000'000, 300'000, 1000, 1, 0}) {
    array.truncate(size);
    array.shrink_to_fit();
    EXPECT_GE(array.bytes(), size * 4);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(array[i], i * 7);
  }
  EXPECT_EQ(array.bytes(), 0U);
  array.resize(5, 9);
  FlatArray<std::uint32_t> moved = std::move(array);
  EXPECT_EQ(moved.size(), 5U);
  EXPECT_EQ(moved[4], 9U);
}

TEST(HashCons, FindsWhatIsInItAndNothingElse) {
  base::Random random(1);
  for (const std::uint64_t hashes : {5, 1000, 1'000'000'000}) {
    HashCons table;
    std::map<std::uint32_t, std::uint32_t> hash_of;  // by node
    for (std::uint32_t step = 0; step < 20'000; ++step) {
      // Many equal hashes; and the largest, which has its home at the very end.
      const auto hash = static_cast<std::uint32_t>(
          random.chance(0.1) ? 0xffffffffU - random.below(3) : random.below(hashes) * 4);
      if (hashes == 5 && table.size() > 300) break;
      hash_of[step] = hash;
      if (table.is_full()) {
        table.reset(table.next_size());
        for (const auto& [node, known] : hash_of) table.insert(known, NodeId(node));
      } else {
        table.insert(hash, NodeId(step));
      }
      if (random.chance(0.4)) {
        const auto victim =
            std::next(hash_of.begin(), static_cast<std::ptrdiff_t>(random.below(hash_of.size())));
        table.erase(victim->second, NodeId(victim->first));
        hash_of.erase(victim);
      }
      if (step > 500 && step % 64 != 0) continue;
      ASSERT_EQ(table.size(), hash_of.size());
      const std::uint32_t probe = static_cast<std::uint32_t>(random.below(step + 1));
      const auto known = hash_of.find(probe);
      const std::uint32_t at = known == hash_of.end() ? hash : known->second;
      const NodeId found = table.find(at, [&](NodeId n) { return n.index() == probe; });
      ASSERT_EQ(found.valid(), known != hash_of.end());
    }
    for (const auto& [node, hash] : hash_of) {
      ASSERT_EQ(table.find(hash, [n = node](NodeId id) { return id.index() == n; }).index(), node);
    }
  }
}

TEST(NodeLists, AreVectorsInLessSpace) {
  base::Random random(2);
  NodeLists lists;
  std::vector<NodeLists::List> list(50);
  std::vector<std::vector<NodeId>> plain(50);
  for (std::uint32_t step = 0; step < 50'000; ++step) {
    const std::size_t i = random.below(50), j = random.below(50);
    if (random.chance(0.9)) {
      lists.append(list[i], NodeId(step));
      plain[i].push_back(NodeId(step));
    } else if (i != j && random.chance(0.3)) {
      lists.append_all(list[i], list[j]);
      plain[i].insert(plain[i].end(), plain[j].begin(), plain[j].end());
      plain[j].clear();
    } else {
      const auto size = static_cast<std::uint32_t>(random.below(plain[i].size() + 1));
      lists.shrink(list[i], size);
      plain[i].resize(size);
    }
    if (step % 16 != 0) continue;
    std::size_t words = lists.free_words();
    for (std::size_t k = 0; k < 50; ++k) {
      const auto items = lists.items(list[k]);
      ASSERT_EQ(std::vector<NodeId>(items.begin(), items.end()), plain[k]);
      words += NodeLists::capacity(list[k].size);
    }
    ASSERT_EQ(words, lists.words());
  }
  for (std::uint32_t size = 1; size < 5000; ++size) {
    ASSERT_GE(NodeLists::capacity(size), size == 1 ? 0 : size);
    ASSERT_LE(NodeLists::capacity(size) * 2, size * 3);
  }
}

TEST(UnionFind, TakesBackWhatWasLogged) {
  base::Random random(3);
  UnionFind sets;
  for (std::uint32_t i = 0; i < 100; ++i) sets.make(i);
  const auto roots = [&] {
    std::vector<ClassId> result;
    for (std::size_t i = 0; i < 100; ++i) result.push_back(sets.find(ClassId(i)));
    return result;
  };
  const auto merge = [&] {
    const ClassId a = sets.find_compress(ClassId(random.below(100)));
    const ClassId b = sets.find_compress(ClassId(random.below(100)));
    if (a != b) sets.link(a, b);
  };
  for (int i = 0; i < 40; ++i) merge();
  const auto before = roots();
  UnionFind::Log log;
  sets.set_log(&log);
  for (int i = 0; i < 40; ++i) merge();
  sets.make(100);
  sets.set_log(nullptr);
  sets.undo(log, 100);
  EXPECT_EQ(sets.size(), 100U);
  EXPECT_EQ(roots(), before);
}

}  // namespace
}  // namespace egret::egraph
