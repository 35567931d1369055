// SPDX-License-Identifier: Apache-2.0
#include "tests/egraph/gym_round_trip.h"

namespace egret::egraph {
namespace {

TEST(Gym, AllPublicEGraphsSurviveReadingAndWriting) {
  const std::vector<std::string> files = gym_files();
  if (files.empty()) GTEST_SKIP() << "no *.json.xz in " << gym_folder() << ", or no xz";
  RoundTrips count;
  for (const std::string& file : files) expect_round_trip(file, count);
  EXPECT_EQ(count.files, files.size());
  std::printf("%zu files, %zu nodes, %zu files with roots that name no class\n", count.files,
              count.nodes, count.files_with_missing_roots);
}

}  // namespace
}  // namespace egret::egraph
