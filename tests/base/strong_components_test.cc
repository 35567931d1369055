// SPDX-License-Identifier: Apache-2.0
#include "base/strong_components.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace egret::base {
namespace {

// A random graph, edges as strong_components() takes them.
struct Graph {
  std::vector<std::uint32_t> begin{0};
  std::vector<std::uint32_t> targets;
};
Graph random_graph(Random& random, std::uint32_t vertices) {
  Graph graph;
  for (std::uint32_t v = 0; v < vertices; ++v) {
    for (std::uint64_t i = random.below(3); i > 0; --i)
      graph.targets.push_back(static_cast<std::uint32_t>(random.below(vertices)));
    graph.begin.push_back(static_cast<std::uint32_t>(graph.targets.size()));
  }
  return graph;
}

TEST(StrongComponents, AreWhatReachesOneAnother) {
  Random random(5);
  for (int trial = 0; trial < 500; ++trial) {
    const auto vertices = static_cast<std::uint32_t>(random.below(12));
    const Graph graph = random_graph(random, vertices);
    std::vector<std::vector<bool>> reaches(vertices, std::vector<bool>(vertices, false));
    for (std::uint32_t v = 0; v < vertices; ++v) {
      reaches[v][v] = true;
      for (std::uint32_t e = graph.begin[v]; e < graph.begin[v + 1]; ++e)
        reaches[v][graph.targets[e]] = true;
    }
    for (std::uint32_t k = 0; k < vertices; ++k) {
      for (std::uint32_t a = 0; a < vertices; ++a) {
        for (std::uint32_t b = 0; reaches[a][k] && b < vertices; ++b)
          reaches[a][b] = reaches[a][b] || reaches[k][b];
      }
    }
    const auto component = strong_components(graph.begin, graph.targets);
    ASSERT_EQ(component.size(), vertices);
    for (std::uint32_t a = 0; a < vertices; ++a) {
      for (std::uint32_t b = 0; b < vertices; ++b) {
        ASSERT_EQ(component[a] == component[b], reaches[a][b] && reaches[b][a]);
        ASSERT_TRUE(!reaches[a][b] || component[a] >= component[b]);
      }
    }
  }
}

TEST(StrongComponents, NeedNoDeepStack) {
  constexpr std::uint32_t kLength = 1'000'000;
  std::vector<std::uint32_t> begin, targets;
  for (std::uint32_t v = 0; v <= kLength; ++v) begin.push_back(v);
  for (std::uint32_t v = 0; v < kLength; ++v) targets.push_back((v + 1) % kLength);
  const auto component = strong_components(begin, targets);
  EXPECT_EQ(component.front(), component[kLength / 2]);
}

}  // namespace
}  // namespace egret::base
