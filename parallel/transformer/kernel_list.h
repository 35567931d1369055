// SPDX-License-Identifier: Apache-2.0
// Kernels that a device runs one after another, and the three numbers that their time depends on.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "parallel/system/system.h"

namespace egret::parallel {

enum class KernelKind : unsigned char { kMatmul, kMemory, kCollective, kExpertExchange };
inline constexpr std::array<std::string_view, 4> kKernelKindNames = {
    "products", "memory-bound", "tensor-parallel exchange", "expert exchange"};
using SecondsByKind = std::array<double, kKernelKindNames.size()>;

struct Kernel {
  std::string_view name;  // a literal
  KernelKind kind = KernelKind::kMemory;
  double seconds = 0;       // on the device
  double host_seconds = 0;  // to issue it
  double flops = 0;         // of a product
};

// A list of kernels as one piece of work. The device runs a kernel when the one before has ended
// and the host has issued it. If the host begins to issue at time H, and the device is free at time
// G, then the list ends at max(G + device_s, H + tail_s), and the host is free at H + host_s. This
// is exact (a product of max-plus matrices).
struct KernelTime {
  double device_s = 0;
  double tail_s = 0;
  double host_s = 0;
  SecondsByKind by_kind_s = {};

  // The work of both, one after the other.
  KernelTime then(const KernelTime& next) const;
  KernelTime times(std::int64_t count) const;  // O(log count)
  KernelTime scaled(double factor) const;      // each kernel and each launch
};

class KernelList {
 public:
  explicit KernelList(const System& system, Precision precision)
      : system_(&system), precision_(precision) {}

  void matmul(std::string_view name, double batch, double m, double n, double k);
  // Of 16-bit operands whatever the precision of the products is.
  void attention_matmul(std::string_view name, double batch, double m, double n, double k,
                        double part = 1);
  void memory(std::string_view name, double bytes);
  void collective(std::string_view name, CollectiveKind kind, double bytes, RankGroup group);
  void add(const Kernel& kernel) { kernels_.push_back(kernel); }
  void append(const KernelList& other);

  const std::vector<Kernel>& kernels() const { return kernels_; }
  KernelTime time() const;

 private:
  const System* system_;
  Precision precision_;
  std::vector<Kernel> kernels_;
};

}  // namespace egret::parallel
