// SPDX-License-Identifier: Apache-2.0
#include "parallel/system/system.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/did_you_mean.h"
#include "base/formats/units.h"
#include "base/system/file.h"
#include "parallel/system/host.h"

namespace egret::parallel {
namespace {

constexpr std::int64_t kMostSystemBytes = 1 << 20;

// Seconds of a large product.
double slowness(const Accelerator& device) {
  return 1 / (device.peak(Precision::kBf16) * device.matmul_efficiency);
}

double usable_bytes_of(const Accelerator& device) {
  return device.memory_bytes > 0 ? device.memory_bytes - device.reserved_bytes
                                 : std::numeric_limits<double>::infinity();
}

// Calls VISIT with the number of each pool that holds some of these ranks.
template <typename Visit>
void visit_pools(const std::vector<AcceleratorPool>& pools, std::int64_t first, std::int64_t count,
                 const Visit& visit) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const bool last = i + 1 == pools.size() || pools[i].devices == 0;
    const std::int64_t end = begin + pools[i].devices;
    if (begin < first + count && (last || end > first)) visit(i);
    if (last) break;
    begin = end;
  }
}

}  // namespace

std::size_t System::slowest_pool(std::int64_t first_rank, std::int64_t count) const {
  std::optional<std::size_t> slowest;
  visit_pools(pools, first_rank, count, [&](std::size_t i) {
    if (!slowest || slowness(pools[i].accelerator) > slowness(pools[*slowest].accelerator))
      slowest = i;
  });
  return slowest.value_or(0);
}

System System::seen_by(std::int64_t first_rank, std::int64_t count) const {
  System result = *this;
  if (pools.size() > 1) result.accelerator = pools[slowest_pool(first_rank, count)].accelerator;
  return result;
}

double System::usable_bytes(std::int64_t first_rank, std::int64_t count) const {
  if (pools.size() < 2) return usable_bytes_of(accelerator);
  double least = std::numeric_limits<double>::infinity();
  visit_pools(pools, first_rank, count, [&](std::size_t i) {
    least = std::min(least, usable_bytes_of(pools[i].accelerator));
  });
  return least;
}

std::int64_t System::devices() const {
  std::int64_t linked = fabric.tiers.empty() ? 0 : fabric.tiers.back().devices;
  if (linked == 0 && !fabric.tiers.empty() &&
      fabric.tiers.back().topology.kind == TopologyKind::kTorus) {
    linked = 1;
    for (const std::int64_t side : fabric.tiers.back().topology.dims) linked *= side;
  }
  std::int64_t pooled = 0;
  for (const AcceleratorPool& pool : pools) {
    if (pool.devices == 0) return linked;
    pooled += pool.devices;
  }
  return linked == 0 || pooled == 0 ? std::max(linked, pooled) : std::min(linked, pooled);
}

base::Status System::check(std::int64_t count, Precision precision) const {
  if (devices() > 0 && count > devices()) {
    return base::usage_error("the step needs " + base::counted(count, "device") + ", and " + name +
                             " has " + std::to_string(devices()));
  }
  base::Status status;
  const auto check_peak = [&](const Accelerator& device) {
    if (device.peak(precision) > 0) return;
    status = base::usage_error(device.name + " of " + name + " has no peak for --train-precision " +
                               std::string(kPrecisionNames[static_cast<std::size_t>(precision)]) +
                               " or a wider one");
  };
  check_peak(accelerator);
  visit_pools(pools, 0, count, [&](std::size_t i) { check_peak(pools[i].accelerator); });
  return status;
}

base::Result<HostedSystem> hosted_system_called(const std::string& name) {
  std::vector<std::string> names;
  for (const SystemPreset& preset : system_presets()) {
    if (preset.name == name) return parse_hosted_system(preset.toml, preset.name);
    names.emplace_back(preset.name);
  }
  if (name.find_first_of("./") == std::string::npos) {
    return base::usage_error("unknown machine '" + name +
                             "' (the name of a machine file ends in .toml)" +
                             base::known_names(name, names));
  }
  EGRET_ASSIGN_OR_RETURN(const std::string toml, base::read_file(name, kMostSystemBytes));
  return parse_hosted_system(toml, name);
}

base::Result<System> system_called(const std::string& name) {
  EGRET_ASSIGN_OR_RETURN(const HostedSystem system, hosted_system_called(name));
  return System(system);
}

}  // namespace egret::parallel
