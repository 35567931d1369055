// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/api/device_turns.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "tests/backends/fake_cuda_test.h"

namespace egret::backends::cuda {
namespace {

// A file whose lock stands for the GPU, seen by another process: flock goes by who opened it.
class DeviceTurnsTest : public FakeCudaTest {
 protected:
  DeviceTurnsTest() : other_(::open(path_.c_str(), O_RDWR | O_CREAT, 0600)) {
    ::setenv("EGRET_CUDA_TURNS", path_.c_str(), 1);
  }
  ~DeviceTurnsTest() override {
    ::unsetenv("EGRET_CUDA_TURNS");
    ::close(other_);
    ::unlink(path_.c_str());
  }
  bool other_takes_it() const { return ::flock(other_, LOCK_EX | LOCK_NB) == 0; }
  void other_gives_it_back() const { ::flock(other_, LOCK_UN); }

 private:
  std::string path_ = ::testing::TempDir() + "egret_turns." + std::to_string(::getpid());
  int other_;
};

TEST_F(DeviceTurnsTest, IsHeldUntilTheOuterTurnEnds) {
  auto turns = DeviceTurns::open();
  ASSERT_TRUE(turns.ok()) << turns.status().message();
  std::optional<DeviceTurns::Turn> outer(std::in_place, *turns), inner(std::in_place, *turns);
  EXPECT_FALSE(other_takes_it());
  inner.reset();
  EXPECT_FALSE(other_takes_it());
  outer.reset();
  EXPECT_TRUE(other_takes_it());
}

TEST_F(DeviceTurnsTest, ARunWaitsForItsTurn) {
  ir::GraphBuilder b;
  b.output("y", b.add("relu", {b.input("x", {ir::DType::kF32, {16}})}));
  const auto plan = backend_->compile(graph(b), {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  std::vector<ir::Tensor> inputs((*plan)->input_types().begin(), (*plan)->input_types().end());
  ASSERT_TRUE(other_takes_it());
  auto run = std::async(std::launch::async, [&] { return (*plan)->run(inputs).status(); });
  EXPECT_EQ(run.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  other_gives_it_back();
  EXPECT_TRUE(run.get().ok());
  EXPECT_TRUE(other_takes_it());  // given back again
}

TEST_F(DeviceTurnsTest, AFileThatCannotBeOpenedIsSaid) {
  ::setenv("EGRET_CUDA_TURNS", "/nowhere/turns", 1);
  const auto turns = DeviceTurns::open();
  ASSERT_FALSE(turns.ok());
  EXPECT_EQ(turns.status().message(),
            "EGRET_CUDA_TURNS: cannot open '/nowhere/turns': No such file or directory");
}

}  // namespace
}  // namespace egret::backends::cuda
