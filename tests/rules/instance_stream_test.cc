// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/instance_stream.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

// Of random instances hardly one is such a half of a grouped convolution.
constexpr const char* kRare =
    "slice{axis=1, size=?n, start=0, step=1}(conv{dilations=?d, group=?g, pads=?p, strides=?s}("
    "concat{axis=1}(?x, ?y), concat{axis=1}(?k, ?l))) where ?n * 2 == dim(?x, 1) "
    "and dim(?k, 0) == dim(?x, 1) => "
    "slice{axis=1, size=?n, start=0, step=1}(conv{dilations=?d, group=?g, pads=?p, strides=?s}("
    "concat{axis=1}(?x, ?y), concat{axis=1}(?k, ?l)))";

struct Drawn {
  std::vector<std::string> texts;
  std::uint64_t attempts = 0;
  std::uint64_t walked = 0;
};

Drawn draw(const std::string& text, std::size_t wanted) {
  const Rule rule = parsed(text);
  KnownOperators known;
  Instantiator instantiator(rule, known);
  InstanceStream stream(instantiator, base::Random(3));
  Drawn drawn;
  while (drawn.texts.size() < wanted) {
    const auto instance = stream.next(1'000'000);
    if (!instance) break;
    drawn.texts.push_back(instance->text);
  }
  drawn.attempts = stream.attempts();
  drawn.walked = stream.walked();
  return drawn;
}

TEST(InstanceStream, WalksWhereRandomInstancesAreRare) {
  const Drawn drawn = draw(kRare, 200);
  ASSERT_EQ(drawn.texts.size(), 200U);
  EXPECT_GT(drawn.walked, 100U);
  EXPECT_LT(drawn.walked, 190U);  // of sixteen one is random
  EXPECT_GT(drawn.attempts, 10 * (200 - drawn.walked));
  EXPECT_GT(std::set(drawn.texts.begin(), drawn.texts.end()).size(), 100U);
}

TEST(InstanceStream, DrawsEachByItselfWhereTheyAreCommon) {
  const Drawn drawn = draw("add(?x, ?y) => add(?y, ?x)", 200);
  EXPECT_EQ(drawn.texts.size(), 200U);
  EXPECT_EQ(drawn.walked, 0U);
}

TEST(InstanceStream, IsTheSameEachTime) { EXPECT_EQ(draw(kRare, 40).texts, draw(kRare, 40).texts); }

TEST(InstanceStream, EndsWithItsAttempts) {
  const Rule rule = parsed("add(?x, ?y) where rank(?x) == 1 and rank(?x) == 2 => add(?y, ?x)");
  KnownOperators known;
  Instantiator instantiator(rule, known);
  InstanceStream stream(instantiator, base::Random(3));
  EXPECT_FALSE(stream.next(50));
  EXPECT_EQ(stream.attempts(), 50U);
  EXPECT_FALSE(stream.next(50));
  EXPECT_EQ(stream.attempts(), 50U);
}

}  // namespace
}  // namespace egret::rules
