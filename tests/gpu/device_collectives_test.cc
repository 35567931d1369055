// SPDX-License-Identifier: Apache-2.0
// NCCL with one rank on a GPU: what a machine with one GPU can show of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/nccl/moves.h"

namespace egret::runtime::nccl {
namespace {

class OneRank : public ::testing::Test {
 protected:
  void SetUp() override {
    const base::Status usable = backends::cuda::usable(backends::cuda::system_libraries());
    if (!usable.ok()) GTEST_SKIP() << usable.message();
    if (!system_library().has_nccl.ok()) GTEST_SKIP() << system_library().has_nccl.message();
    auto device = backends::cuda::Device::open(backends::cuda::system_libraries(), 0);
    ASSERT_TRUE(device.ok()) << device.status().message();
    device_ = *std::move(device);
    const auto id = Communicator::make_id(system_library());
    ASSERT_TRUE(id.ok()) << id.status().message();
    auto joined = Communicator::join(system_library(), *id, {0, 1, "rank 0", 60});
    ASSERT_TRUE(joined.ok()) << joined.status().message();
    communicator_ = *std::move(joined);
  }

  // What the moves make of 64 rows of 16 floats.
  std::vector<float> run(const Moves& moves) {
    std::vector<float> from(1024), to(1024, -1);
    std::iota(from.begin(), from.end(), 0.0F);
    constexpr std::size_t kBytes = 1024 * sizeof(float);
    auto memory = device_->allocate(4 * kBytes);
    EXPECT_TRUE(memory.ok());
    if (!memory.ok()) return to;
    const backends::cuda::DevicePointer at = memory->get();
    EXPECT_TRUE(device_->copy_in(at, from.data(), kBytes).ok());
    const base::Status status = enqueue(moves, {at, at + kBytes, at + 2 * kBytes, at + 3 * kBytes},
                                        *device_, communicator_.get(), device_->stream());
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(device_->copy_out(to.data(), at + kBytes, kBytes).ok());
    EXPECT_TRUE(device_->wait().ok());
    EXPECT_TRUE(communicator_->check().ok());
    return to;
  }

  std::shared_ptr<backends::cuda::Device> device_;
  std::unique_ptr<Communicator> communicator_;
};

TEST_F(OneRank, KeepsWhatItHasInEachCollective) {
  std::vector<float> expected(1024);
  std::iota(expected.begin(), expected.end(), 0.0F);
  for (const Moves::Call call :
       {Moves::Call::kAllReduce, Moves::Call::kReduceScatter, Moves::Call::kAllGather}) {
    Moves moves;
    moves.call = call;
    moves.from = {Buffer::kFrom, 0};
    moves.to = {Buffer::kTo, 0};
    moves.count = call == Moves::Call::kAllGather ? 4096 : 1024;
    EXPECT_EQ(run(moves), expected) << static_cast<int>(call);
  }
}

TEST_F(OneRank, SendsToItselfWhatWasCopiedTogether) {
  // The first 4 of each 16 go out together, come back, and are put at the end of each row.
  Moves moves;
  moves.before = {{{Buffer::kFrom, 0}, {Buffer::kOutgoing, 0}, 16, 64, 64, 16},
                  {{Buffer::kFrom, 0}, {Buffer::kTo, 0}, 4096, 1, 4096, 4096}};
  moves.call = Moves::Call::kTransfers;
  moves.transfers = {{{Buffer::kOutgoing, 0}, 1024, 0, true},
                     {{Buffer::kIncoming, 0}, 1024, 0, false}};
  moves.after = {{{Buffer::kIncoming, 0}, {Buffer::kTo, 48}, 16, 64, 16, 64}};
  const std::vector<float> to = run(moves);
  for (std::size_t row = 0; row < 64; ++row) {
    for (std::size_t i = 0; i < 16; ++i)
      EXPECT_EQ(to[row * 16 + i], static_cast<float>(row * 16 + (i < 12 ? i : i - 12)));
  }
}

}  // namespace
}  // namespace egret::runtime::nccl
