// SPDX-License-Identifier: Apache-2.0
#include "cost/key.h"

#include <gtest/gtest.h>

namespace egret::cost {
namespace {

TEST(ParsedKey, ReadsBackWhatKeyOfWrites) {
  for (const std::string_view key :
       {"relu(f32[1000])", "matmul(f32[4,8], f32[8,16] const)", "transpose{perm=[1, 0]}(f32[3,5])",
        "concat{axis=1}(f32[1,2], f32[1,3], f32[1,4] const)", "softmax{axis=-1}(f32[])",
        "einsum{equation=\"ij,jk->ik\"}(f32[2,3], f32[3,4])"}) {
    const auto parsed = ParsedKey::parse(key);
    ASSERT_TRUE(parsed.ok()) << key << ": " << parsed.status().message();
    EXPECT_EQ(key_of(parsed->query()), key);
  }
}

TEST(ParsedKey, RefusesWhatIsNoOperator) {
  for (const std::string_view key :
       {"", "kernel conv 3x3", "race 12ab, 0: graph 34cd", "no_such_operator(f32[1])", "relu",
        "relu(f32[1]", "relu(f32[N])", "relu(f32[1], f32[1])", "relu{alpha=1.0}(f32[1])",
        "relu(what[1])", "concat{axis=}(f32[1])", "relu(f32[1) const)"}) {
    EXPECT_FALSE(ParsedKey::parse(key).ok()) << key;
  }
}

}  // namespace
}  // namespace egret::cost
