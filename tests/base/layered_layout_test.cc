// SPDX-License-Identifier: Apache-2.0
#include "base/formats/layered_layout.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace egret::base {
namespace {

// No two boxes of a layer overlap, edges lead down, and everything lies within the drawing.
void check(const LayeredLayout& layout) {
  constexpr double kError = 1e-6;
  for (std::size_t i = 0; i < layout.boxes.size(); ++i) {
    const auto& a = layout.boxes[i];
    EXPECT_GE(a.x, -kError);
    EXPECT_LE(a.x + a.width, layout.width + kError);
    EXPECT_LE(a.y + a.height, layout.height + kError);
    for (std::size_t k = i + 1; k < layout.boxes.size(); ++k) {
      const auto& b = layout.boxes[k];
      const bool apart = a.x + a.width <= b.x + kError || b.x + b.width <= a.x + kError ||
                         a.y + a.height <= b.y + kError || b.y + b.height <= a.y + kError;
      EXPECT_TRUE(apart) << i << " and " << k;
    }
  }
  for (const auto& edge : layout.edges) {
    ASSERT_GE(edge.path.size(), 2U);
    const auto& from = layout.boxes[edge.from];
    const auto& to = layout.boxes[edge.to];
    EXPECT_NEAR(edge.path.front().y, from.y + from.height, kError);
    EXPECT_NEAR(edge.path.back().y, to.y, kError);
    EXPECT_GE(edge.path.back().x, to.x - kError);
    EXPECT_LE(edge.path.back().x, to.x + to.width + kError);
  }
}

TEST(LayeredLayout, AChainIsAColumn) {
  LayeredLayout layout;
  layout.boxes = {
      {.width = 80, .height = 20}, {.width = 40, .height = 20}, {.width = 60, .height = 20}};
  layout.edges = {{.from = 0, .to = 1}, {.from = 1, .to = 2}};
  layout.place();
  check(layout);
  EXPECT_EQ(layout.boxes[2].layer, 2U);
  for (const auto& box : layout.boxes) EXPECT_NEAR(box.x + box.width / 2, 40, 1e-6);
  EXPECT_EQ(layout.width, 80);
}

TEST(LayeredLayout, AnInputStandsAboveItsReader) {
  LayeredLayout layout;
  layout.boxes.resize(4, {.width = 50, .height = 20});
  layout.edges = {{.from = 0, .to = 1}, {.from = 1, .to = 2}, {.from = 3, .to = 2}};
  layout.place();
  check(layout);
  EXPECT_EQ(layout.boxes[3].layer, 1U);
}

TEST(LayeredLayout, ALongEdgePassesBesideTheBoxesBetween) {
  LayeredLayout layout;
  layout.boxes.resize(4, {.width = 50, .height = 20});
  layout.edges = {
      {.from = 0, .to = 1}, {.from = 1, .to = 2}, {.from = 2, .to = 3}, {.from = 0, .to = 3}};
  layout.place();
  check(layout);
  const auto& path = layout.edges[3].path;
  ASSERT_EQ(path.size(), 6U);
  for (std::size_t i = 1; i + 1 < path.size(); ++i) {
    for (const std::size_t box : {1, 2}) {
      const auto& b = layout.boxes[box];
      EXPECT_FALSE(path[i].x > b.x && path[i].x < b.x + b.width) << "through box " << box;
    }
  }
}

TEST(LayeredLayout, CyclesAndLoopsEnd) {
  LayeredLayout layout;
  layout.boxes.resize(3, {.width = 50, .height = 20});
  layout.edges = {
      {.from = 0, .to = 1}, {.from = 1, .to = 0}, {.from = 2, .to = 2}, {.from = 1, .to = 2}};
  layout.place();
  check(layout);
  LayeredLayout nothing;
  nothing.place();
  EXPECT_EQ(nothing.width, 0);
}

TEST(LayeredLayout, RandomGraphsOverlapNowhere) {
  Random random(7);
  for (int round = 0; round < 40; ++round) {
    LayeredLayout layout;
    const auto count = static_cast<std::size_t>(random.uniform(1, 40));
    for (std::size_t i = 0; i < count; ++i)
      layout.boxes.push_back({.width = random.uniform(10, 120), .height = random.uniform(10, 60)});
    for (std::size_t i = 1; i < count; ++i) {
      for (int k = 0; k < 2; ++k)
        layout.edges.push_back(
            {.from = static_cast<std::size_t>(random.uniform(0, static_cast<double>(i))), .to = i});
    }
    layout.place();
    check(layout);
    for (const auto& edge : layout.edges)
      EXPECT_LT(layout.boxes[edge.from].layer, layout.boxes[edge.to].layer);
  }
}

}  // namespace
}  // namespace egret::base
