// SPDX-License-Identifier: Apache-2.0
// Verdicts about sizes that no random instance has.
#include <gtest/gtest.h>

#include <string>

#include "rules/proving/verification.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

// Wrong beyond a size that no random instance has. The witness is small in all other sizes.
TEST(Verification, RefutesWhatIsWrongBeyondASize) {
  KnownOperators known;
  const auto truncated = [](const std::string& decision) {
    return parsed(
        "matmul(?x, ?w) where rank(?x) == 2 and rank(?w) == 2 => matmul("
        "slice{axis=1, start=0, step=1, size=if(" +
        decision +
        ", dim(?w, 0) - 1, dim(?w, 0))}(?x), "
        "slice{axis=0, start=0, step=1, size=if(" +
        decision + ", dim(?w, 0) - 1, dim(?w, 0))}(?w))");
  };
  for (const char* decision :
       {"dim(?w, 0) > 8", "dim(?w, 0) > 70000", "dim(?w, 0) == dim(?x, 0) + 500",
        "dim(?w, 0) % 128 == 127", "dim(?w, 0) / 3 > 1000",
        "dim(?w, 0) == dim(?x, 0) * 12 + dim(?w, 1)"}) {
    const Verdict verdict = verify(truncated(decision), {}, known);
    EXPECT_EQ(to_string(verdict.status), "refuted") << decision;
  }
}

// A kind is covered when the solver finds no numbers outside of its families.
TEST(Verification, CoversAllSizesOfAKind) {
  KnownOperators known;
  const Rule rule = parsed("add(?x, ?y) where rank(?x) <= 2 and rank(?y) <= 2 => add(?y, ?x)");
  const Verdict all = verify(rule, {}, known);
  EXPECT_EQ(to_string(all.status), "proven");
  EXPECT_GE(all.cover.kinds, 9);
  EXPECT_EQ(all.cover.complete, all.cover.kinds);
  EXPECT_EQ(all.cover.open, "");
  VerifyOptions few;
  few.cover_paths = 3;
  const Verdict part = verify(rule, few, known);
  EXPECT_LT(part.cover.complete, part.cover.kinds);
  EXPECT_EQ(part.cover.open, "more paths than tried");
}

}  // namespace
}  // namespace egret::rules
