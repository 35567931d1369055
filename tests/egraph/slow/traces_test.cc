// SPDX-License-Identifier: Apache-2.0
// A million random calls on small e-graphs, invariants checked after every rebuild.
#include <gtest/gtest.h>

#include "tests/egraph/random_machine.h"
#include "tests/egraph/state_text.h"

namespace egret::egraph {
namespace {

TEST(EGraphTraces, AMillionCallsKeepTheInvariants) {
  constexpr std::uint64_t kCalls = 1'000'000;
  std::uint64_t calls = 0;
  for (std::uint64_t seed = 0; calls < kCalls; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    RandomMachine machine(seed % 2 == 0);
    std::vector<std::pair<std::string, std::size_t>> pushed;  // the state, and how many handles
    for (std::uint64_t i = 0, length = 20 + random.below(200); i < length; ++i, ++calls) {
      machine.step(random);
      EGraph& egraph = machine.egraph();
      if (egraph.clean()) {
        const base::Status status = egraph.check_invariants();
        ASSERT_TRUE(status.ok()) << status.message();
        if (pushed.size() < 3 && random.chance(0.1)) {
          pushed.emplace_back(state_text(egraph), machine.handles().size());
          egraph.push();
        }
      }
      if (pushed.empty() || !random.chance(0.03)) continue;
      egraph.pop();
      machine.handles().resize(pushed.back().second);
      ASSERT_EQ(state_text(egraph), pushed.back().first);
      const base::Status status = egraph.check_invariants();
      ASSERT_TRUE(status.ok()) << status.message();
      pushed.pop_back();
    }
  }
}

}  // namespace
}  // namespace egret::egraph
