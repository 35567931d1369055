// SPDX-License-Identifier: Apache-2.0
#include "backends/timing/cache_state.h"

#include <algorithm>
#include <cstddef>
#include <vector>

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

void sweep_caches(std::size_t bytes) {
  // Written once: untouched pages would all map to one page of zeros.
  static const std::vector<unsigned char> data(kSweptBytes, 1);
  read_lines(data.data(), std::min(bytes, data.size()));
}

void touch(std::span<const ir::Tensor> tensors) {
  for (const ir::Tensor& tensor : tensors) {
    const std::span<const std::byte> bytes = tensor.data();
    read_lines(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
}

}  // namespace egret::backends
