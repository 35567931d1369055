// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/fake_clock.h"

#include <algorithm>

namespace egret::backends {
namespace {

constexpr double kStart = 2.2e-6;     // of a kernel, behind another
constexpr double kGraphStart = 3e-6;  // of a graph of launches
constexpr double kHandOver = 1e-6;    // from one stream to another
constexpr double kBandwidth = 3e12;   // bytes a second
constexpr double kPlainRate = 4e13;   // operations a second
constexpr double kTensorRate = 4e14;
constexpr double kPlainTerm = 1e-8, kTensorTerm = 1.7e-9;  // one after the other
constexpr double kLongestSum = 8e-6;                       // longer ones are split

}  // namespace

double FakeClock::seconds(const FakeWork& work) {
  const double rate = work.on_tensor_cores ? kTensorRate : kPlainRate;
  const double term = work.on_tensor_cores ? kTensorTerm : kPlainTerm;
  return kStart + std::min(kLongestSum, term * static_cast<double>(work.depth)) +
         std::max(work.flops / rate, work.bytes / kBandwidth);
}

void FakeClock::wait(cuda::Stream stream, cuda::Event event) {
  times_[stream] = std::max(times_[stream], marks_[event] + kHandOver);
}

void FakeClock::begin_graph(cuda::Stream stream) {
  times_[stream] += kGraphStart;
  for (auto& [other, time] : times_) time = std::max(time, times_[stream]);
}

void FakeClock::end_graph(cuda::Stream stream) {
  for (const auto& [other, time] : times_) times_[stream] = std::max(times_[stream], time);
}

}  // namespace egret::backends
