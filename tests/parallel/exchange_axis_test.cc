// SPDX-License-Identifier: Apache-2.0
#include "parallel/ranks/exchange_axis.h"

#include <gtest/gtest.h>

#include <string>

namespace egret::parallel {
namespace {

// The axis, "alone", or the code of the error.
std::string axis_of(const std::vector<RankCollective>& steps, const char* mesh_text) {
  const Mesh mesh = Mesh::parse(mesh_text).value();
  std::vector<const RankCollective*> all;
  for (const RankCollective& step : steps) all.push_back(&step);
  const auto axis = exchange_axis(all, mesh);
  if (!axis.ok()) return std::string(to_string(axis.status().code()));
  return *axis ? mesh.axis(**axis).name : "alone";
}

using Groups = std::vector<std::vector<std::int64_t>>;

std::vector<RankCollective> listing(const Groups& groups, const std::string& axis = "") {
  std::vector<RankCollective> steps;
  for (const auto& group : groups) steps.push_back({.axis = axis, .group = group});
  return steps;
}

TEST(ExchangeAxis, IsThatOfAllGroups) {
  EXPECT_EQ(axis_of(listing({{0, 1}, {0, 1}, {2, 3}, {2, 3}}), "x=2,y=2"), "y");
  EXPECT_EQ(axis_of(listing({{0, 2}, {1, 3}, {0, 2}, {1, 3}}), "x=2,y=2"), "x");
  EXPECT_EQ(axis_of(listing({{0, 2}, {1, 3}, {0, 2}, {1, 3}}, "x"), "x=2,y=2"), "x");
  EXPECT_EQ(axis_of({RankCollective{.axis = "y", .size = 2}}, "x=2,y=2"), "y");
  EXPECT_EQ(axis_of({RankCollective{}}, "x=4"), "x");
  // Rank 0 alone says nothing of its group: it is all ranks.
  EXPECT_EQ(axis_of(listing({{}, {0, 1}}), "x=2"), "x");
  EXPECT_EQ(axis_of(listing({{}, {1, 0}}), "x=2"), "unsupported");
}

TEST(ExchangeAxis, IsNotThatOfContradictoryAttributes) {
  EXPECT_EQ(axis_of(listing({{0, 1}, {0, 1}, {2, 3}, {2, 3}}, "x"), "x=2,y=2"), "bad input");
  // Only the last rank's list contradicts the name.
  EXPECT_EQ(axis_of(listing({{0, 2}, {1, 3}, {0, 2}, {2, 3}}, "x"), "x=2,y=2"), "bad input");
  EXPECT_EQ(axis_of({RankCollective{.axis = "x", .size = 4}}, "x=2,y=2"), "bad input");
  EXPECT_EQ(axis_of({RankCollective{.group = {0, 1}, .size = 4}}, "x=2"), "bad input");
  EXPECT_EQ(axis_of({RankCollective{.axis = "z"}}, "x=2"), "bad input");
  // One file for all ranks cannot list the ranks of one row.
  EXPECT_EQ(axis_of({RankCollective{.group = {0, 1}}}, "x=2,y=2"), "bad input");
  EXPECT_EQ(axis_of({RankCollective{.axis = "y", .group = {0, 1}}}, "x=2,y=2"), "bad input");
  EXPECT_EQ(axis_of(listing({{0, 0}, {0, 1}}), "x=2"), "bad input");
  EXPECT_EQ(axis_of(listing({{0, 7}, {0, 1}}), "x=2"), "bad input");
  EXPECT_EQ(axis_of(listing({{0, 1}, {0, 1}, {0, 1}, {2, 3}}), "x=2,y=2"), "bad input");
}

TEST(ExchangeAxis, MayBeOfOneDevice) {
  EXPECT_EQ(axis_of({RankCollective{.axis = "tp"}}, "tp=1,dp=2"), "alone");
  EXPECT_EQ(axis_of({RankCollective{.axis = "tp", .size = 1}}, "tp=1,dp=2"), "alone");
  EXPECT_EQ(axis_of({RankCollective{}}, "tp=1,dp=2"), "dp");
  EXPECT_EQ(axis_of({RankCollective{}}, "tp=1"), "alone");
  EXPECT_EQ(axis_of(listing({{0}, {1}}), "dp=2"), "alone");
  EXPECT_EQ(axis_of({RankCollective{}}, "x=2,y=2"), "unsupported");
}

TEST(ExchangeAxis, OfOneFileForAMillionRanks) {
  EXPECT_EQ(axis_of({RankCollective{.axis = "x"}}, "x=1048576"), "x");
}

}  // namespace
}  // namespace egret::parallel
