// SPDX-License-Identifier: Apache-2.0
#include "parallel/system/system.h"

#include <algorithm>

#include "base/did_you_mean.h"
#include "base/system/file.h"

namespace egret::parallel {
namespace {

constexpr std::int64_t kMostSystemBytes = 1 << 20;

// Seconds of a large product.
double slowness(const Accelerator& device) {
  return 1 / (device.peak(Precision::kBf16) * device.matmul_efficiency);
}

}  // namespace

System System::seen_by(std::int64_t first_rank, std::int64_t count) const {
  System result = *this;
  if (pools.size() < 2) return result;
  const Accelerator* slowest = nullptr;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const bool last = i + 1 == pools.size() || pools[i].devices == 0;
    const std::int64_t end = begin + pools[i].devices;
    const bool holds = begin < first_rank + count && (last || end > first_rank);
    if (holds && (slowest == nullptr || slowness(pools[i].accelerator) > slowness(*slowest)))
      slowest = &pools[i].accelerator;
    if (last) break;
    begin = end;
  }
  if (slowest != nullptr) result.accelerator = *slowest;
  return result;
}

base::Result<System> system_called(const std::string& name) {
  std::vector<std::string> names;
  for (const SystemPreset& preset : system_presets()) {
    if (preset.name == name) return parse_system(preset.toml, preset.name);
    names.emplace_back(preset.name);
  }
  if (name.find_first_of("./") == std::string::npos) {
    return base::usage_error("unknown machine '" + name +
                             "' (the name of a machine file ends in .toml)" +
                             base::did_you_mean(name, names));
  }
  EGRET_ASSIGN_OR_RETURN(const std::string toml, base::read_file(name, kMostSystemBytes));
  return parse_system(toml, name);
}

}  // namespace egret::parallel
