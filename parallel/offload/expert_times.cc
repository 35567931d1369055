// SPDX-License-Identifier: Apache-2.0
#include "parallel/offload/expert_times.h"

#include <algorithm>
#include <functional>

#include "parallel/offload/generation_kernels.h"

namespace egret::parallel {

ExpertTimes::ExpertTimes(const HostedSystem& system, const GenerationSetup& setup)
    : system_(system),
      setup_(setup),
      bytes_(setup.expert_elements() * kFullBytes),
      copy_s_(bytes_ / system.host->to_device_bytes_per_second) {}

double ExpertTimes::device_s(double tokens) const {
  const auto [found, is_new] = device_s_.try_emplace(tokens, 0);
  if (is_new) found->second = expert_s(system_, setup_, tokens);
  return found->second;
}

double ExpertTimes::cores_s(double tokens) const {
  const auto [found, is_new] = cores_s_.try_emplace(tokens, 0);
  if (is_new) found->second = cores_and_way_s(tokens);
  return found->second;
}

double ExpertTimes::cores_and_way_s(double tokens) const {
  const double bytes = tokens * static_cast<double>(setup_.hidden) * kFullBytes;
  return host_expert_s(system_, setup_, tokens) +
         bytes / system_.host->from_device_bytes_per_second +
         bytes / system_.host->to_device_bytes_per_second;
}

std::int64_t ExpertTimes::crossover(std::int64_t most) const {
  std::int64_t low = 1, high = most;
  const auto copies = [&](std::int64_t tokens) {
    const auto rows = static_cast<double>(tokens);
    return copy_s_ + device_s(rows) < cores_s(rows);
  };
  if (!copies(most)) return 0;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (copies(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

namespace {

// A missing expert on either side.
struct Missing {
  double tokens, device_s, cores_s;
};

// RESIDENT_S: of the accelerator for the experts that it has. Copies follow from the most tokens
// on, so the last expert to arrive is short.
ExpertLayerTime divided(double resident_s, double copy_s, const std::vector<Missing>& missing,
                        const std::vector<bool>& copied) {
  ExpertLayerTime time;
  double device = resident_s, link = 0, cores = 0;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (copied[i]) {
      link += copy_s;
      device = std::max(device, link) + missing[i].device_s;
      ++time.copied;
    } else {
      cores += missing[i].cores_s;
      ++time.on_cores;
    }
  }
  time.seconds = std::max(device, cores);
  return time;
}

}  // namespace

ExpertLayerTime ExpertTimes::layer(const std::vector<ActiveExpert>& active, ExpertRule rule) const {
  double resident_s = 0;
  std::vector<Missing> missing;
  for (const ActiveExpert& one : active) {
    if (one.tokens <= 0) continue;
    const double device = device_s(one.tokens);
    if (one.resident) {
      resident_s += device;
    } else {
      missing.push_back({one.tokens, device, cores_s(one.tokens)});
    }
  }
  std::ranges::stable_sort(missing, std::greater<>(), &Missing::tokens);
  std::vector<bool> copied(missing.size(), rule == ExpertRule::kCopy);
  if (rule == ExpertRule::kEach) {
    for (std::size_t i = 0; i < missing.size(); ++i)
      copied[i] = copy_s_ + missing[i].device_s < missing[i].cores_s;
  }
  ExpertLayerTime best = divided(resident_s, copy_s_, missing, copied);
  if (rule != ExpertRule::kTogether) return best;
  const auto offer = [&] {
    const ExpertLayerTime time = divided(resident_s, copy_s_, missing, copied);
    if (time.seconds < best.seconds) best = time;
  };
  if (missing.size() > kMostExact) {
    // One more is copied each time; the rest is on the cores.
    double device = resident_s, link = 0, cores = 0;
    for (const Missing& one : missing) cores += one.cores_s;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      link += copy_s_;
      device = std::max(device, link) + missing[i].device_s;
      cores -= missing[i].cores_s;
      const double seconds = std::max(device, i + 1 < missing.size() ? cores : 0);
      if (seconds >= best.seconds) continue;
      best = {seconds, static_cast<double>(i + 1), static_cast<double>(missing.size() - i - 1)};
    }
    return best;
  }
  for (std::uint32_t subset = 1; subset < (1U << missing.size()); ++subset) {
    for (std::size_t i = 0; i < missing.size(); ++i) copied[i] = ((subset >> i) & 1U) != 0;
    offer();
  }
  return best;
}

}  // namespace egret::parallel
