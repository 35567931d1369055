// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/member_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ir/core/symbolic_scope.h"

namespace egret::rules {
namespace {

using Integers = MemberSearch::Integers;

class Members : public ::testing::Test {
 protected:
  // Windows of two elements with two strides, as many of one as of the other.
  Members() {
    const ir::Index size = ir::symbolic_dim("?x.0");
    const ir::Index first = ir::symbolic_dim("0.strides.0");
    const ir::Index second = ir::symbolic_dim("0.strides.1");
    family_.conditions = {size >= ir::Index(2), first >= ir::Index(1), second >= ir::Index(1),
                          ir::div(size - 2, first) == ir::div(size - 2, second)};
    family_.example = {{"?x.0", 2}, {"0.strides.0", 1}, {"0.strides.1", 1}};
  }

  std::set<Integers> tried_out(std::int64_t bound) const {
    std::set<Integers> found;
    Integers at = family_.example;
    for (at["?x.0"] = 0; at["?x.0"] <= bound; ++at["?x.0"])
      for (at["0.strides.0"] = 0; at["0.strides.0"] <= bound; ++at["0.strides.0"])
        for (at["0.strides.1"] = 0; at["0.strides.1"] <= bound; ++at["0.strides.1"])
          if (holds(at)) found.insert(at);
    return found;
  }
  bool holds(const Integers& at) const {
    return std::ranges::all_of(family_.conditions, [&](const ir::Guard& condition) {
      return ir::evaluate(condition, at) == std::optional(true);
    });
  }

  Family family_;
};

TEST_F(Members, UpToABoundAreAllThereAre) {
  const auto found = MemberSearch(family_).up_to(5, 1000);
  ASSERT_TRUE(found);
  const std::set<Integers> expected = tried_out(5);
  EXPECT_EQ(std::set<Integers>(found->begin(), found->end()), expected);
  EXPECT_EQ(found->size(), expected.size());
}

TEST_F(Members, AreNotListedWhereThereAreMoreThanWanted) {
  EXPECT_FALSE(MemberSearch(family_).up_to(5, 10));
}

TEST_F(Members, DrawnAreMembersOfAllKinds) {
  const MemberSearch search(family_);
  const base::Random random(1);
  int telling = 0;  // several windows, and strides that differ
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto drawn = search.draw_up_to(7, random.split(i));
    ASSERT_TRUE(drawn);
    EXPECT_TRUE(holds(*drawn));
    const std::int64_t stride = drawn->at("0.strides.0");
    telling += stride != drawn->at("0.strides.1") && drawn->at("?x.0") - 2 >= stride ? 1 : 0;
  }
  EXPECT_GE(telling, 3);
}

TEST_F(Members, AreNotDrawnWhereThereAreNone) {
  family_.conditions.push_back(ir::symbolic_dim("?x.0") == ir::Index(1));
  EXPECT_FALSE(MemberSearch(family_).draw_up_to(7, base::Random(1)));
}

}  // namespace
}  // namespace egret::rules
