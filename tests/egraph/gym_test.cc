// SPDX-License-Identifier: Apache-2.0
#include "tests/egraph/gym_round_trip.h"

namespace egret::egraph {
namespace {

TEST(Gym, ASampleOfPublicEGraphsSurvivesReadingAndWriting) {
  const std::vector<std::string> files = gym_files();
  if (files.empty()) GTEST_SKIP() << "no *.json.xz in " << gym_folder() << ", or no xz";
  RoundTrips count;
  constexpr std::size_t kEvery = 29;
  for (std::size_t i = 0; i < files.size(); i += kEvery) expect_round_trip(files[i], count);
  EXPECT_GT(count.nodes, 1000U);
}

}  // namespace
}  // namespace egret::egraph
