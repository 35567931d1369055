// SPDX-License-Identifier: Apache-2.0
#include "parallel/system/fabric.h"

#include <gtest/gtest.h>

#include "parallel/system/system.h"

namespace egret::parallel {
namespace {

using Algorithm = CollectiveAlgorithm;
using Kind = CollectiveKind;

Tier tier(std::int64_t devices, double rate) {
  Tier result;
  result.devices = devices;
  result.bytes_per_second = rate;
  result.efficiency = 1;
  result.start_s = 1e-5;
  result.hop_s = 2e-6;
  return result;
}
// Nodes of eight with 300 GB/s inside and 25 GB/s a device between them.
Fabric nodes() { return {{tier(8, 3e11), tier(0, 2.5e10)}}; }

constexpr double kLarge = 1e12;
constexpr Kind kKinds[] = {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter,
                           Kind::kAllToAll, Kind::kBroadcast};
constexpr Algorithm kAlgorithms[] = {
    Algorithm::kRing,      Algorithm::kTree,   Algorithm::kDoubleTree, Algorithm::kHierarchical,
    Algorithm::kInNetwork, Algorithm::kDirect, Algorithm::kStaged};

double seconds(const Fabric& fabric, Kind kind, double bytes, RankGroup group,
               Algorithm algorithm) {
  const auto time = fabric.collective(kind, bytes, group, algorithm);
  EXPECT_TRUE(time.has_value());
  return time->seconds();
}

TEST(Collectives, ReachTheirClosedFormsInTheLimitOfLargeTensors) {
  Fabric fabric = nodes();
  fabric.tiers[0].in_network = true;
  const double rate = 3e11;
  const RankGroup node{8, 1};
  const auto of = [&](Kind kind, Algorithm algorithm) {
    return seconds(fabric, kind, kLarge, node, algorithm) * rate / kLarge;
  };
  EXPECT_NEAR(of(Kind::kAllReduce, Algorithm::kRing), 2 * 7.0 / 8, 1e-3);
  EXPECT_NEAR(of(Kind::kAllGather, Algorithm::kRing), 7.0 / 8, 1e-3);
  EXPECT_NEAR(of(Kind::kReduceScatter, Algorithm::kRing), 7.0 / 8, 1e-3);
  EXPECT_NEAR(of(Kind::kBroadcast, Algorithm::kRing), 1, 1e-3);
  EXPECT_NEAR(of(Kind::kAllReduce, Algorithm::kInNetwork), 1, 1e-3);
  EXPECT_NEAR(of(Kind::kAllToAll, Algorithm::kDirect), 7.0 / 8, 1e-3);
  EXPECT_NEAR(of(Kind::kAllReduce, Algorithm::kDoubleTree), 2 / 0.85, 1e-3);
  EXPECT_NEAR(of(Kind::kAllReduce, Algorithm::kTree), 3 / 0.85, 1e-3);
}

TEST(Collectives, MembersOfANodeShareTheirAdapters) {
  const Fabric fabric = nodes();
  // A ring over two nodes of eight leaves each node once: eight adapters carry its bytes.
  const double wide = seconds(fabric, Kind::kAllReduce, kLarge, {16, 1}, Algorithm::kRing);
  EXPECT_NEAR(wide, 2 * 15.0 / 16 * kLarge / (8 * 2.5e10), wide * 1e-3);
  // One member a node has one adapter.
  const double narrow = seconds(fabric, Kind::kAllReduce, kLarge, {2, 8}, Algorithm::kRing);
  EXPECT_NEAR(narrow, kLarge / 2.5e10, narrow * 1e-3);
  // An all-to-all's members send to each peer on their own.
  const double all = seconds(fabric, Kind::kAllToAll, kLarge, {16, 1}, Algorithm::kDirect);
  EXPECT_NEAR(all, kLarge / 2 / 2.5e10, all * 1e-3);
  EXPECT_EQ(fabric.collective(Kind::kAllReduce, 1e6, {16, 1}).tier, 1U);
  EXPECT_EQ(fabric.collective(Kind::kAllReduce, 1e6, {8, 1}).tier, 0U);
}

TEST(Collectives, RanksWithAStrideAreInOneNodeWhereTheyFit) {
  const Fabric fabric = nodes();
  EXPECT_EQ(fabric.collective(Kind::kAllReduce, 1e6, {2, 6}).tier, 0U);  // ranks 0 and 6
  EXPECT_EQ(fabric.collective(Kind::kAllReduce, 1e6, {4, 2}).tier, 0U);
  EXPECT_EQ(fabric.collective(Kind::kAllReduce, 1e6, {2, 8}).tier, 1U);
}

TEST(Collectives, HierarchiesSendOneShareBetweenNodes) {
  const Fabric fabric = nodes();
  const double time = seconds(fabric, Kind::kAllReduce, kLarge, {16, 1}, Algorithm::kHierarchical);
  EXPECT_NEAR(time, 2 * 7.0 / 8 * kLarge / 3e11 + kLarge / 8 / 2.5e10, time * 1e-3);
  const auto latency = [&](Algorithm algorithm) {
    return fabric.collective(Kind::kAllReduce, 8, {128, 1}, algorithm)->latency_s;
  };
  EXPECT_LT(latency(Algorithm::kHierarchical), latency(Algorithm::kRing));
  EXPECT_LT(latency(Algorithm::kDoubleTree), latency(Algorithm::kHierarchical));
}

TEST(Collectives, StagedAllToAllHasFewerMessages) {
  const Fabric fabric = nodes();
  const auto of = [&](double bytes, Algorithm algorithm) {
    return seconds(fabric, Kind::kAllToAll, bytes, {256, 1}, algorithm);
  };
  EXPECT_LT(of(1e4, Algorithm::kStaged), of(1e4, Algorithm::kDirect));
  EXPECT_GT(of(1e10, Algorithm::kStaged), of(1e10, Algorithm::kDirect));  // bytes move twice
}

TEST(Collectives, TimeGrowsWithSizeAndShrinksWithBandwidth) {
  Fabric fast = nodes();
  fast.tiers[0].in_network = fast.tiers[1].in_network = true;
  Fabric slow = fast;
  for (Tier& each : slow.tiers) each.bytes_per_second /= 2;
  for (const Kind kind : kKinds) {
    for (const Algorithm algorithm : kAlgorithms) {
      for (const RankGroup group : {RankGroup{2, 1}, {8, 1}, {4, 8}, {64, 1}, {24, 2}}) {
        double before = 0;
        for (double bytes = 1; bytes < 1e11; bytes *= 3) {
          const auto time = fast.collective(kind, bytes, group, algorithm);
          if (!time) continue;
          EXPECT_GT(time->seconds(), before);
          before = time->seconds();
          EXPECT_LE(time->seconds(), slow.collective(kind, bytes, group, algorithm)->seconds());
          EXPECT_GE(time->seconds(), 1e-5);
        }
      }
    }
  }
}

TEST(Collectives, TheProtocolFollowsTheSize) {
  const Fabric fabric = nodes();
  const auto protocol = [&](double bytes) {
    return fabric.collective(Kind::kAllReduce, bytes, {8, 1}, Algorithm::kRing)->protocol;
  };
  EXPECT_EQ(protocol(1e3), WireProtocol::kLl);
  EXPECT_EQ(protocol(1.5e6), WireProtocol::kLl128);
  EXPECT_EQ(protocol(1e9), WireProtocol::kSimple);
}

TEST(Collectives, TheAlgorithmFollowsTheSize) {
  const Fabric fabric = nodes();
  EXPECT_EQ(fabric.collective(Kind::kAllReduce, 1e3, {64, 1}).algorithm, Algorithm::kDoubleTree);
  EXPECT_EQ(fabric.collective(Kind::kAllReduce, 1e10, {64, 1}).algorithm, Algorithm::kRing);
  EXPECT_EQ(fabric.collective(Kind::kAllToAll, 1e6, {64, 1}).algorithm, Algorithm::kDirect);
  Fabric reducing = nodes();
  for (Tier& each : reducing.tiers) each.in_network = true;
  EXPECT_EQ(reducing.collective(Kind::kAllReduce, 1e10, {64, 1}).algorithm, Algorithm::kInNetwork);
}

TEST(Collectives, SomeAlgorithmsDoNotExist) {
  const Fabric fabric = nodes();
  const auto exists = [&](Kind kind, Algorithm algorithm) {
    return fabric.collective(kind, 1e6, {8, 1}, algorithm).has_value();
  };
  EXPECT_FALSE(exists(Kind::kAllReduce, Algorithm::kInNetwork));  // plain switches
  EXPECT_FALSE(exists(Kind::kAllToAll, Algorithm::kRing));
  EXPECT_FALSE(exists(Kind::kAllGather, Algorithm::kDoubleTree));
  EXPECT_FALSE(exists(Kind::kAllReduce, Algorithm::kDirect));
  EXPECT_EQ(fabric.collective(Kind::kAllReduce, 1e9, {1, 1}).seconds(), 0);
}

TEST(Collectives, EmptyTensorsTakeTheirLatency) {
  const Fabric fabric = nodes();
  for (const Kind kind : kKinds) {
    for (const Algorithm algorithm : kAlgorithms) {
      const auto time = fabric.collective(kind, 0, {16, 1}, algorithm);
      if (!time) continue;
      EXPECT_GT(time->seconds(), 0);
      EXPECT_LT(time->seconds(), 1e-3);
      EXPECT_GT(time->bytes_per_second, 0);
    }
  }
}

TEST(Collectives, NamesAreKnown) {
  for (std::size_t i = 0; i < kCollectiveNames.size(); ++i)
    EXPECT_EQ(static_cast<std::size_t>(collective_called(kCollectiveNames[i]).value()), i);
  EXPECT_FALSE(collective_called("gossip").ok());
}

TEST(Transfers, CrossTheLowestTierThatHoldsBothEnds) {
  const Fabric fabric = nodes();
  EXPECT_EQ(fabric.transfer(1e6, 1).tier, 0U);
  EXPECT_EQ(fabric.transfer(1e6, 8).tier, 1U);
  EXPECT_NEAR(fabric.transfer(kLarge, 8).seconds(), kLarge / 2.5e10, 1e-3);
  EXPECT_GT(fabric.transfer(1, 8).seconds(), 0);
}

TEST(Topologies, OversubscribedLeavesSlowWideTraffic) {
  Topology tree{.kind = TopologyKind::kFatTree, .leaf = 4, .oversubscription = 8};
  EXPECT_EQ(tree.ring_links(4), 1);
  EXPECT_EQ(tree.ring_links(8), 0.5);  // four members of a leaf share 4/8 of a link
  EXPECT_EQ(tree.all_to_all_links(4), 1);
  EXPECT_NEAR(tree.all_to_all_links(8), 7.0 / (8 * 4), 1e-12);  // 4 of 7 peers are outside
  EXPECT_EQ(tree.hops(4), 1);
  EXPECT_EQ(tree.hops(8), 3);
  tree.oversubscription = 1;
  EXPECT_EQ(tree.ring_links(8), 1);
  EXPECT_EQ(tree.all_to_all_links(8), 1);
}

TEST(Topologies, RingsOfATorusUseAllItsDimensions) {
  const Topology torus{.kind = TopologyKind::kTorus, .dims = {4, 4, 4}};
  EXPECT_EQ(torus.ring_links(4), 2);
  EXPECT_EQ(torus.ring_links(16), 4);
  EXPECT_EQ(torus.ring_links(64), 6);
  EXPECT_EQ(torus.ring_links(2), 1);  // a line
  // Mean distance 1 over two links in each dimension.
  EXPECT_EQ(torus.all_to_all_links(64), 2);
  EXPECT_EQ(torus.hops(64), 3);
  const Topology large{.kind = TopologyKind::kTorus, .dims = {16, 16, 16}};
  EXPECT_EQ(large.all_to_all_links(4096), 0.5);  // the bisection
}

TEST(Topologies, DirectConnectionsHaveTheirDegree) {
  Topology direct{.kind = TopologyKind::kDirect, .degree = 7};
  EXPECT_EQ(direct.ring_links(8), 7);
  EXPECT_EQ(direct.all_to_all_links(8), 7);
  EXPECT_EQ(direct.ring_links(2), 1);
  direct.degree = 3;
  // 3 at distance 1 and 6 at distance 2 of a Petersen graph.
  EXPECT_NEAR(direct.all_to_all_links(10), 3 / (15.0 / 9), 1e-12);
  EXPECT_NEAR(direct.hops(10), 15.0 / 9, 1e-12);
  direct.degree = 2;
  EXPECT_NEAR(direct.hops(5), 1.5, 1e-12);  // a ring of five
  EXPECT_NEAR(direct.hops(6), (1 + 1 + 2 + 2 + 3) / 5.0, 1e-12);
  EXPECT_NEAR(direct.hops(1'000'000'001), (5e8 + 1) / 2, 1);
}

TEST(Topologies, PodsOfTheLargeClusterShareFewLinks) {
  const Fabric fabric = system_called("rail-100k")->fabric;
  const auto rate = [&](RankGroup group) {
    return fabric.collective(Kind::kAllGather, kLarge, group, Algorithm::kRing)->bytes_per_second;
  };
  EXPECT_NEAR(rate({384, 8}) / rate({384 * 32, 8}), 1, 1e-9);  // one of 384 hops leaves a pod
  EXPECT_NEAR(rate({32, 3072}), 5e10 * 0.95 / 7, 1);
}

}  // namespace
}  // namespace egret::parallel
