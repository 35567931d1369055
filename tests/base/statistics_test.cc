// SPDX-License-Identifier: Apache-2.0
#include "base/statistics.h"

#include <gtest/gtest.h>

namespace egret::base {
namespace {

struct Counters {
  std::uint64_t searches = 4;
  std::uint64_t matches = 12345;
  std::uint64_t kept = 0;
  double seconds = 0.25;

  static const StatisticsTable<Counters>& table() {
    using C = Counters;
    static const StatisticsTable<C> rows{
        "search",
        {{"searches", &C::searches, "rules matched"},
         {"matches", &C::matches, "left sides found", &C::searches, "per search"},
         {"kept", &C::kept, "matches applied", &C::matches, "%"},
         {"seconds", &C::seconds, "time in search"}}};
    return rows;
  }
};

TEST(Statistics, OneRowMakesTheLineAndTheField) {
  EXPECT_EQ(render_statistics(Counters{}),
            "--- search ---\n"
            "searches       4                       rules matched\n"
            "matches   12,345  3.09e+03 per search  left sides found\n"
            "kept           0                 0.0%  matches applied\n"
            "seconds   250 ms                       time in search\n");
  EXPECT_EQ(statistics_json(Counters{}).dump(),
            R"({"searches": 4, "matches": 12345, "kept": 0, "seconds": 0.25})");
}

TEST(Statistics, ARatioOverNothingIsLeftOut) {
  Counters none;
  none.searches = 0;
  EXPECT_EQ(render_statistics(none).find("per search"), std::string::npos);
}

}  // namespace
}  // namespace egret::base
