// SPDX-License-Identifier: Apache-2.0
#include "backends/timing/cache_state.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "backends/backend.h"
#include "backends/thread_team.h"

namespace egret::backends {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kSweptBytes = std::size_t{64} << 20;

void read_lines(const unsigned char* data, std::size_t bytes) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < bytes; i += kLine) sum += data[i];
  volatile unsigned seen = sum;  // keeps the compiler from dropping the loop
  static_cast<void>(seen);
}

}  // namespace

// Reading more bytes than the caches hold evicts what lies there.
void sweep_caches() { sweep_caches(kSweptBytes); }

void sweep_caches(std::size_t bytes, int threads) {
  // Written once: untouched pages would all map to one page of zeros.
  static const std::vector<unsigned char> data(kSweptBytes, 1);
  const auto parts = static_cast<std::size_t>(threads > 0 ? threads : available_threads());
  const std::size_t lines = std::min(bytes, data.size()) / kLine;
  const auto read_part = [&](std::size_t part) {
    const std::size_t first = lines * part / parts, end = lines * (part + 1) / parts;
    read_lines(data.data() + first * kLine, (end - first) * kLine);
  };
  if (parts == 1) return read_part(0);
  ensure_team(static_cast<int>(parts));
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static)
  for (std::size_t part = 0; part < parts; ++part) read_part(part);
}

void wake_threads(int threads) {
  if (threads <= 0) threads = available_threads();
  if (threads == 1) return;
  ensure_team(threads);
  std::atomic<int> awake = 0;
#pragma omp parallel num_threads(threads)
  awake.fetch_add(1, std::memory_order_relaxed);  // the barrier behind it waits for all of them
}

void touch(std::span<const ir::Tensor> tensors) {
  for (const ir::Tensor& tensor : tensors) {
    const std::span<const std::byte> bytes = tensor.data();
    read_lines(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
}

}  // namespace egret::backends
