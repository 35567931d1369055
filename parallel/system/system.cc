// SPDX-License-Identifier: Apache-2.0
#include "parallel/system/system.h"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "base/did_you_mean.h"
#include "base/formats/toml.h"
#include "base/formats/units.h"
#include "base/system/file.h"

namespace egret::parallel {
namespace {

constexpr std::int64_t kMostSystemBytes = 1 << 20;
constexpr double kMostRate = 1e24;
constexpr double kMostSeconds = 1e6;

using Reader = std::function<base::Status(const base::Json&)>;
using Readers = std::map<std::string, Reader, std::less<>>;

Reader real(double& target, double least, double most) {
  return [&target, least, most](const base::Json& value) {
    EGRET_ASSIGN_OR_RETURN(target, value.as_real());
    return target >= least && target <= most
               ? base::ok()
               : base::bad_input("must be at least " + base::format_short(least) + " and at most " +
                                 base::format_short(most));
  };
}

Reader integer(std::int64_t& target, std::int64_t least) {
  return [&target, least](const base::Json& value) {
    EGRET_ASSIGN_OR_RETURN(target, value.as_integer());
    return target >= least ? base::ok()
                           : base::bad_input("must be at least " + std::to_string(least));
  };
}

Reader text(std::string& target) {
  return [&target](const base::Json& value) {
    EGRET_ASSIGN_OR_RETURN(target, value.as_string());
    return base::ok();
  };
}

base::Status read_key(const Readers& readers, std::string_view key, const base::Json& value) {
  const auto reader = readers.find(key);
  if (reader != readers.end()) return reader->second(value);
  std::string known;
  for (const auto& [name, unused] : readers) known += (known.empty() ? "" : ", ") + name;
  return base::bad_input("unknown key; the keys are " + known);
}

// [[2, 0.2], [4, 0.6]]: by ascending sizes of groups.
base::Status read_shares(const base::Json& value, Tier& tier) {
  constexpr const char* kForm = "must be pairs [size of a group, part of the links]";
  if (!value.is_array()) return base::bad_input(kForm);
  for (const base::Json& pair : value.items()) {
    if (!pair.is_array() || pair.items().size() != 2) return base::bad_input(kForm);
    EGRET_ASSIGN_OR_RETURN(const std::int64_t size, pair.items()[0].as_integer());
    EGRET_ASSIGN_OR_RETURN(const double part, pair.items()[1].as_real());
    if (size < 2 || part <= 0 || part > 1) return base::bad_input(kForm);
    tier.shares.emplace_back(size, part);
  }
  std::sort(tier.shares.begin(), tier.shares.end());
  return base::ok();
}

base::Result<Tier> read_tier(const base::Json& table) {
  Tier tier;
  const Readers readers{
      {"name", text(tier.name)},
      {"devices", integer(tier.devices, 0)},
      {"bytes_per_second", real(tier.bytes_per_second, 1, kMostRate)},
      {"efficiency", real(tier.efficiency, 1e-3, 1)},
      {"start_s", real(tier.start_s, 0, kMostSeconds)},
      {"hop_s", real(tier.hop_s, 0, kMostSeconds)},
      {"ramp", real(tier.ramp, 0, kMostSeconds)},
      {"oversubscription", real(tier.oversubscription, 1, 1e6)},
      {"shares", [&tier](const base::Json& value) { return read_shares(value, tier); }}};
  if (!table.is_object()) return base::bad_input("must be an array of tables: [[tier]]");
  for (const auto& [key, value] : table.members()) {
    if (const base::Status status = read_key(readers, key, value); !status.ok())
      return status.at(key);
  }
  return tier;
}

// Each tier's domains contain those of the tier below.
base::Status check_tiers(const std::vector<Tier>& tiers) {
  if (tiers.empty()) return base::bad_input("no [[tier]]: links are missing");
  for (std::size_t i = 1; i < tiers.size(); ++i) {
    const std::int64_t below = tiers[i - 1].devices;
    const std::int64_t own = tiers[i].devices;
    if (below == 0 || (own != 0 && (own <= below || own % below != 0))) {
      return base::bad_input("tier " + tiers[i].name + ": devices must be a multiple of those of " +
                             tiers[i - 1].name);
    }
  }
  return base::ok();
}

}  // namespace

base::Result<System> parse_system(std::string_view toml, std::string_view origin) {
  EGRET_ASSIGN_OR_RETURN(const auto entries, base::parse_toml(toml, origin));
  System system;
  Accelerator& device = system.accelerator;
  Readers readers{
      {"name", text(system.name)},
      {"accelerator.name", text(device.name)},
      {"accelerator.multiprocessors", integer(device.multiprocessors, 1)},
      {"accelerator.memory_bytes", real(device.memory_bytes, 0, kMostRate)},
      {"accelerator.bytes_per_second", real(device.bytes_per_second, 1, kMostRate)},
      {"accelerator.matmul_efficiency", real(device.matmul_efficiency, 1e-3, 1)},
      {"accelerator.matmul_ramp", real(device.matmul_ramp, 0, 1e6)},
      {"accelerator.memory_efficiency", real(device.memory_efficiency, 1e-3, 1)},
      {"accelerator.seconds_per_kernel", real(device.seconds_per_kernel, 0, kMostSeconds)},
      {"accelerator.host_seconds_per_kernel",
       real(device.host_seconds_per_kernel, 0, kMostSeconds)},
      {"accelerator.host_seconds_per_collective",
       real(device.host_seconds_per_collective, 0, kMostSeconds)},
      {"accelerator.host_seconds_per_step", real(device.host_seconds_per_step, 0, kMostSeconds)},
      {"accelerator.overlap_slowdown", real(device.overlap_slowdown, 0, 100)},
      {"tier", [&system](const base::Json& value) {
         if (!value.is_array()) return base::bad_input("must be an array of tables: [[tier]]");
         for (const base::Json& table : value.items()) {
           EGRET_ASSIGN_OR_RETURN(Tier tier, read_tier(table));
           system.fabric.tiers.push_back(std::move(tier));
         }
         return check_tiers(system.fabric.tiers);
       }}};
  for (std::size_t i = 0; i < kPrecisionNames.size(); ++i) {
    readers.emplace("accelerator.peak." + std::string(kPrecisionNames[i]),
                    real(device.peak_flops_per_second[i], 1, kMostRate));
  }
  for (const base::TomlEntry& entry : entries) {
    const base::Status status = read_key(readers, entry.key, entry.value);
    if (status.ok()) continue;
    return base::bad_input(entry.key + ": " + status.message())
        .at(std::string(origin) + ":" + std::to_string(entry.line));
  }
  if (device.peak_flops_per_second[0] <= 0)
    return base::bad_input("accelerator.peak.f32 is missing").at(origin);
  EGRET_RETURN_IF_ERROR(check_tiers(system.fabric.tiers).at(origin));
  return system;
}

base::Result<System> system_called(const std::string& name) {
  std::vector<std::string> names;
  for (const SystemPreset& preset : system_presets()) {
    if (preset.name == name) return parse_system(preset.toml, preset.name);
    names.emplace_back(preset.name);
  }
  if (name.find_first_of("./") == std::string::npos) {
    return base::usage_error("unknown system '" + name +
                             "' (the name of a system file ends in .toml)" +
                             base::did_you_mean(name, names));
  }
  EGRET_ASSIGN_OR_RETURN(const std::string toml, base::read_file(name, kMostSystemBytes));
  return parse_system(toml, name);
}

}  // namespace egret::parallel
