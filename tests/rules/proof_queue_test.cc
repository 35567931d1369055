// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/proof_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/check.h"
#include "rules/language/rule_parser.h"

namespace egret::rules::generator {
namespace {

Generalized made_of(std::string_view text, Verdict::Status status) {
  auto rules = parse_rules("test", std::string(text));
  EGRET_CHECK(rules.ok() && rules->size() == 1, "a rule");
  Generalized made;
  made.rule = rules->front();
  made.verdict.status = status;
  made.verdict.families = 1;
  return made;
}

// The left term says what becomes of a candidate; a turned one, whose left term is the larger, is
// proven.
std::optional<Generalized> prove_by_number(const Equality& equality) {
  using enum Verdict::Status;
  constexpr std::string_view kGrowsTurned = "rule r\n  out = relu(relu(?x))\n  => out = relu(?x)\n";
  constexpr std::string_view kDiffersTurned =
      "rule r\n  out = relu(neg(?x))\n  => out = max(neg(?x), relu(neg(?x)))\n";
  if (equality.left > equality.right) return made_of(kGrowsTurned, kProven);
  switch (equality.left % 4) {
    case 0: return made_of(kGrowsTurned, kProven);
    case 1: return made_of(kDiffersTurned, kProven);
    case 2: return made_of(kGrowsTurned, kRefuted);
    default: return std::nullopt;
  }
}

class ProofQueueTest : public testing::TestWithParam<std::size_t> {};

TEST_P(ProofQueueTest, ProvesEachCandidateAndItsOtherDirectionWhereThatIsOpen) {
  std::atomic<int> proofs = 0;
  ProofQueue queue(GetParam(), [&](const Equality& equality) {
    ++proofs;
    return prove_by_number(equality);
  });
  queue.begin({{0, 100}, {1, 100}, {2, 100}});
  queue.begin({{3, 100}});
  const std::vector<BothWays> first = queue.finish();
  ASSERT_EQ(first.size(), 3);
  EXPECT_TRUE(is_proven(first[0].made));
  EXPECT_FALSE(first[0].back);
  EXPECT_TRUE(is_proven(first[1].made));
  EXPECT_TRUE(is_proven(first[1].back));
  EXPECT_TRUE(first[2].made);
  EXPECT_FALSE(is_proven(first[2].proven()));
  queue.begin({{5, 100}, {4, 100}});
  const std::vector<BothWays> second = queue.finish();
  ASSERT_EQ(second.size(), 1);
  EXPECT_FALSE(second[0].made);
  EXPECT_TRUE(is_proven(second[0].proven()));
  EXPECT_EQ(queue.finish().size(), 2);
  EXPECT_EQ(proofs, 9);  // of six candidates, three of them in both directions
}

TEST_P(ProofQueueTest, PassesOnWhatFailed) {
  ProofQueue queue(GetParam(), [](const Equality& equality) {
    EGRET_CHECK(equality.left != 1, "the proof of the second candidate");
    return prove_by_number(equality);
  });
  queue.begin({{0, 100}, {1, 100}});
  EXPECT_ANY_THROW(queue.finish());
  queue.begin({{2, 100}});
  EXPECT_EQ(queue.finish().size(), 1);
}

// What was foreseen is not proven again when a wave has it, and threads that have nothing else to
// do ask for it.
TEST_P(ProofQueueTest, ProvesWhatIsForeseenOnce) {
  std::mutex mutex;
  std::map<TermId, int> proofs;
  std::condition_variable foreseen;
  const bool alone = GetParam() == 1;
  ProofQueue queue(GetParam(), [&](const Equality& equality) {
    std::unique_lock lock(mutex);
    ++proofs[equality.left];
    foreseen.notify_all();
    // The wave takes until a foreseen candidate is proven.
    if (equality.left == 0 && !alone) foreseen.wait(lock, [&] { return proofs[4] > 0; });
    return prove_by_number(equality);
  });
  queue.begin({{0, 100}});
  int asked = 0;
  const std::vector<BothWays> first = queue.finish([&]() -> std::vector<Equality> {
    ++asked;
    return {{4, 100}, {8, 100}};
  });
  EXPECT_EQ(first.size(), 1);
  EXPECT_EQ(asked > 0, !alone);
  using enum ProofQueue::Foreseen;
  EXPECT_EQ(queue.foreseen({12, 100}), kNo);
  EXPECT_EQ(queue.foreseen({4, 100}), alone ? kNo : kBegun);
  queue.begin({{4, 100}, {8, 100}});
  const std::vector<BothWays> second = queue.finish();
  ASSERT_EQ(second.size(), 2);
  for (const BothWays& proof : second) EXPECT_TRUE(is_proven(proof.made));
  EXPECT_EQ(proofs[4], 1);
  EXPECT_EQ(proofs[8], 1);
}

INSTANTIATE_TEST_SUITE_P(Threads, ProofQueueTest, testing::Values(1, 2, 5));

// Both threads are kept, one by the wave and one by 4, until 12 is foreseen and no longer 8.
TEST(ProofQueue, GivesUpWhatIsNoLongerForeseen) {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<TermId> begun;
  bool open = false;
  ProofQueue queue(2, [&](const Equality& equality) {
    std::unique_lock lock(mutex);
    begun.insert(equality.left);
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
    return prove_by_number(equality);
  });
  std::jthread opener([&] {
    while (queue.foreseen({12, 100}) == ProofQueue::Foreseen::kNo) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  });
  queue.begin({{0, 100}});
  bool first = true;
  queue.finish([&]() -> std::vector<Equality> {
    if (std::exchange(first, false)) return {{4, 100}, {8, 100}};
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return begun.contains(4); });
    return {{12, 100}};
  });
  EXPECT_EQ(queue.foreseen({8, 100}), ProofQueue::Foreseen::kNo);
  const std::lock_guard lock(mutex);
  EXPECT_FALSE(begun.contains(8));
}

}  // namespace
}  // namespace egret::rules::generator
