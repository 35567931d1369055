// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/proof_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "rules/rule_parser.h"

namespace egret::rules::generator {
namespace {

constexpr std::size_t kWidth = 3;

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
  std::array<std::atomic<int>, 2 * kWidth> in_slot{};
  std::array<std::vector<TermId>, 2 * kWidth> seen;
  ProofQueue queue(GetParam(), kWidth, [&](const Equality& equality, std::size_t slot) {
    EXPECT_EQ(++in_slot.at(slot), 1);  // one call at a time
    seen.at(slot).push_back(equality.left);
    std::optional<Generalized> made = prove_by_number(equality);
    --in_slot.at(slot);
    return made;
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
  // Whatever the number of threads.
  EXPECT_EQ(seen[0], (std::vector<TermId>{0, 5, 100}));
  EXPECT_EQ(seen[1], (std::vector<TermId>{1, 100, 4}));
  EXPECT_EQ(seen[2], (std::vector<TermId>{2}));
  EXPECT_EQ(seen[kWidth], (std::vector<TermId>{3, 100}));
}

TEST_P(ProofQueueTest, PassesOnWhatFailed) {
  ProofQueue queue(GetParam(), kWidth, [](const Equality& equality, std::size_t) {
    EGRET_CHECK(equality.left != 1, "the proof of the second candidate");
    return prove_by_number(equality);
  });
  queue.begin({{0, 100}, {1, 100}});
  EXPECT_ANY_THROW(queue.finish());
  queue.begin({{2, 100}});
  EXPECT_EQ(queue.finish().size(), 1);
}

INSTANTIATE_TEST_SUITE_P(Threads, ProofQueueTest, testing::Values(1, 2, 5));

}  // namespace
}  // namespace egret::rules::generator
