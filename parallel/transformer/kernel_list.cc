// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/kernel_list.h"

#include <algorithm>

namespace egret::parallel {

KernelTime KernelTime::then(const KernelTime& next) const {
  KernelTime both;
  both.device_s = device_s + next.device_s;
  both.host_s = host_s + next.host_s;
  both.tail_s = std::max(tail_s + next.device_s, host_s + next.tail_s);
  for (std::size_t i = 0; i < by_kind_s.size(); ++i)
    both.by_kind_s[i] = by_kind_s[i] + next.by_kind_s[i];
  return both;
}

KernelTime KernelTime::times(std::int64_t count) const {
  KernelTime result;
  KernelTime power = *this;
  for (std::int64_t left = count; left > 0; left /= 2) {
    if (left % 2 == 1) result = result.then(power);
    power = power.then(power);
  }
  return result;
}

KernelTime KernelTime::scaled(double factor) const {
  KernelTime result = *this;
  for (double* seconds : {&result.device_s, &result.tail_s, &result.host_s}) *seconds *= factor;
  for (double& seconds : result.by_kind_s) seconds *= factor;
  return result;
}

void KernelList::matmul(std::string_view name, double batch, double m, double n, double k) {
  const Accelerator& device = system_->accelerator;
  add({name, KernelKind::kMatmul, device.matmul_seconds(batch, m, n, k, precision_),
       device.host_seconds_per_kernel, 2 * batch * m * n * k});
}

void KernelList::attention_matmul(std::string_view name, double batch, double m, double n, double k,
                                  double part) {
  const Accelerator& device = system_->accelerator;
  const Precision precision = std::min(precision_, Precision::kBf16);
  add({name, KernelKind::kMatmul, part * device.matmul_seconds(batch, m, n, k, precision),
       device.host_seconds_per_kernel, part * 2 * batch * m * n * k});
}

void KernelList::memory(std::string_view name, double bytes) {
  const Accelerator& device = system_->accelerator;
  add({name, KernelKind::kMemory, device.memory_seconds(bytes), device.host_seconds_per_kernel});
}

void KernelList::collective(std::string_view name, CollectiveKind kind, double bytes,
                            RankGroup group) {
  if (group.size <= 1) return;
  add({name, KernelKind::kCollective, system_->fabric.collective(kind, bytes, group).seconds(),
       system_->accelerator.host_seconds_per_collective});
}

void KernelList::append(const KernelList& other) {
  kernels_.insert(kernels_.end(), other.kernels_.begin(), other.kernels_.end());
}

KernelTime KernelList::time() const {
  KernelTime total;
  for (const Kernel& kernel : kernels_) {
    KernelTime one{.device_s = kernel.seconds,
                   .tail_s = kernel.host_seconds + kernel.seconds,
                   .host_s = kernel.host_seconds};
    one.by_kind_s[static_cast<std::size_t>(kernel.kind)] = kernel.seconds;
    total = total.then(one);
  }
  return total;
}

}  // namespace egret::parallel
