// SPDX-License-Identifier: Apache-2.0
// Measured links between GPUs, over libraries that stand in for CUDA and NCCL: ranks are threads
// that take turns.
#include "runtime/devices/device_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/backends/fake_cuda.h"
#include "tests/runtime/fake_nccl.h"

namespace egret::runtime {
namespace {

using backends::fake_cuda;
using testing::HasSubstr;

class DeviceLinks : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_cuda() = {};
    fake_nccl() = {};
  }
  void TearDown() override {
    EXPECT_EQ(fake_cuda().allocated, 0u);
    EXPECT_EQ(fake_nccl().open, 0);
  }

  // The profile of each rank; GPU_OF says which GPU a rank takes.
  static std::vector<base::Result<LinkProfile>> profiles(int ranks, std::int64_t on_host,
                                                         const std::function<int(int)>& gpu_of,
                                                         double most_bytes = 1 << 14) {
    std::vector<base::Result<LinkProfile>> results(static_cast<std::size_t>(ranks),
                                                   base::internal_error("did not run"));
    on_rank_threads(ranks, [&](int rank) {
      auto device = backends::cuda::Device::open(backends::fake_libraries(), gpu_of(rank));
      ASSERT_TRUE(device.ok()) << device.status().message();
      const RankPlace place{rank, ranks, on_host,
                            [rank](std::span<const std::int64_t> group,
                                   std::span<const std::vector<std::byte>> outgoing) {
                              return exchange_letters(rank, group, outgoing);
                            }};
      results[static_cast<std::size_t>(rank)] = profile_device_links(
          place, {.most_bytes = most_bytes}, fake_nccl_library(), *std::move(device), 60);
    });
    return results;
  }
};

TEST_F(DeviceLinks, AllCollectivesOfAllTiersGoThroughNccl) {
  const auto results = profiles(4, 2, [](int rank) { return rank; });
  for (const auto& profile : results) {
    ASSERT_TRUE(profile.ok()) << profile.status().message();
    ASSERT_EQ(profile->tiers.size(), 2U);
    EXPECT_EQ(profile->tiers[0].tier, "hosts");
    EXPECT_EQ(profile->tiers[1].tier, "ranks");
    std::map<std::string, int> counts;
    for (const CollectiveSample& sample : profile->samples) {
      EXPECT_GT(sample.seconds, 0);
      EXPECT_GT(sample.sent_bytes, 0);
      ++counts[sample.tier + " " + sample.collective];
    }
    // 1, 4 and 16 KiB.
    for (const char* tier : {"hosts", "ranks"}) {
      for (const char* name :
           {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_receive"})
        EXPECT_EQ(counts[std::string(tier) + " " + name], 3) << tier << " " << name;
    }
    for (const LinkFit& fit : profile->tiers) {
      EXPECT_EQ(fit.ranks, 2);
      EXPECT_GT(fit.link.bytes_per_second, 0);
      EXPECT_GT(fit.link.latency_s, 0);
    }
  }
  // All ranks have the times of the slowest.
  for (std::size_t i = 0; i < results[0]->samples.size(); ++i)
    EXPECT_EQ(results[0]->samples[i].seconds, results[3]->samples[i].seconds);
  for (const char* call : {"all_reduce", "all_gather", "reduce_scatter", "transfers"})
    EXPECT_GT(fake_nccl().count(call), 4U * 3 * 5) << call;
}

TEST_F(DeviceLinks, AreUnavailableWhereRanksShareAGpu) {
  for (const auto& profile : profiles(2, 2, [](int) { return 0; })) {
    EXPECT_EQ(profile.status().code(), base::StatusCode::kUnavailable);
    EXPECT_THAT(profile.status().message(), HasSubstr("shares its GPU"));
  }
}

TEST_F(DeviceLinks, ALostRankEndsTheOthers) {
  on_rank_threads(2, [&](int rank) {
    auto device = backends::cuda::Device::open(backends::fake_libraries(), rank);
    ASSERT_TRUE(device.ok());
    const auto mesh = parallel::Mesh::parse("x=2").value();
    const auto exchange = [rank](std::span<const std::int64_t> group,
                                 std::span<const std::vector<std::byte>> outgoing) {
      return exchange_letters(rank, group, outgoing);
    };
    auto communicators = join_axes(fake_nccl_library(), mesh, rank, exchange, 0.3);
    ASSERT_TRUE(communicators.ok()) << communicators.status().message();
    auto transport = make_device_transport(*device, mesh, rank, *std::move(communicators), 0.3);
    if (rank == 1) {  // is gone without a word: nothing of it is destroyed
      static auto* const gone = new std::vector<LinkTransport*>;  // also for the sanitizer, at exit
      gone->push_back(transport.release());
      return;
    }
    const auto run = transport->message(0, 4096);
    ASSERT_TRUE(run.ok()) << run.status().message();
    fake_nccl().reports_lost_rank = true;
    EXPECT_EQ((*run)().code(), base::StatusCode::kRankFailed);
    // The group was aborted, so later calls fail at once.
    EXPECT_EQ((*run)().code(), base::StatusCode::kRankFailed);
  });
  EXPECT_EQ(fake_nccl().count("abort 0/2"), 1u);
  fake_nccl().open = 0;
}

}  // namespace
}  // namespace egret::runtime
