// SPDX-License-Identifier: Apache-2.0
#include "parallel/machine/named_cluster.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/did_you_mean.h"
#include "base/formats/toml.h"
#include "base/formats/units.h"
#include "base/system/file.h"

namespace egret::parallel {
namespace {

constexpr std::int64_t kMostMachineBytes = 1 << 20;

Link link_of(const Fabric& fabric, const std::string& name) {
  const auto named = std::ranges::find(fabric.tiers, name, &Tier::name);
  const Tier& tier = named == fabric.tiers.end() ? fabric.tiers.front() : *named;
  const std::int64_t joined = std::max<std::int64_t>(tier.devices, 2);
  return {tier.hop_s, tier.bytes_per_second * tier.efficiency * tier.topology.ring_links(joined)};
}

bool is_system(const std::vector<base::TomlEntry>& entries) {
  return std::ranges::any_of(entries, [](const base::TomlEntry& entry) {
    return entry.key == "tier" || entry.key.starts_with("accelerator");
  });
}

}  // namespace

base::Result<Cluster> cluster_of(const System& system, const std::string& mesh) {
  const Accelerator& device = system.accelerator;
  if (device.peak(Precision::kTf32) <= 0) {
    return base::bad_input(device.name + " of " + system.name +
                           " has no peak for f32 or tf32, in which plans of models compute");
  }
  Cluster cluster;
  cluster.name = system.name;
  cluster.rates.flops_per_second = device.peak(Precision::kTf32) * device.matmul_efficiency;
  cluster.rates.bytes_per_second = device.bytes_per_second * device.memory_efficiency;
  cluster.rates.seconds_per_kernel = device.seconds_per_kernel;
  cluster.memory_bytes = device.memory_bytes;
  cluster.fuses = true;
  const std::int64_t domain = std::max<std::int64_t>(system.fabric.tiers.front().devices, 2);
  EGRET_ASSIGN_OR_RETURN(cluster.mesh,
                         Mesh::parse(mesh.empty() ? "gpus=" + std::to_string(domain) : mesh));
  if (system.devices() > 0 && cluster.mesh.ranks() > system.devices()) {
    return base::usage_error("the mesh has " + base::counted(cluster.mesh.ranks(), "device") +
                             ", and " + system.name + " has " + std::to_string(system.devices()));
  }
  for (int axis = 0; axis < cluster.mesh.axis_count(); ++axis)
    cluster.links.push_back(link_of(system.fabric, cluster.mesh.axis(axis).name));
  return cluster;
}

base::Result<Cluster> cluster_called(const std::string& name, const std::string& mesh) {
  std::optional<Cluster> machine;
  std::vector<std::string> names;
  for (const ClusterPreset& preset : cluster_presets()) {
    names.emplace_back(preset.name);
    if (preset.name != name) continue;
    EGRET_ASSIGN_OR_RETURN(machine, parse_cluster(preset.toml, preset.name));
  }
  for (const SystemPreset& preset : system_presets()) {
    if (machine) break;
    if (std::ranges::find(names, preset.name) == names.end()) names.emplace_back(preset.name);
    if (preset.name != name) continue;
    EGRET_ASSIGN_OR_RETURN(const System system, parse_system(preset.toml, preset.name));
    return cluster_of(system, mesh);
  }
  if (!machine) {
    const bool is_name = name.find_first_of("./") == std::string::npos;
    if (is_name) {
      return base::usage_error("unknown machine '" + name +
                               "' (the name of a machine file ends in .toml)" +
                               base::known_names(name, names));
    }
    EGRET_ASSIGN_OR_RETURN(const std::string text, base::read_file(name, kMostMachineBytes));
    EGRET_ASSIGN_OR_RETURN(const auto entries, base::parse_toml(text, name));
    if (is_system(entries)) {
      EGRET_ASSIGN_OR_RETURN(const System system, parse_system(text, name));
      return cluster_of(system, mesh);
    }
    EGRET_ASSIGN_OR_RETURN(machine, parse_cluster(text, name));
  }
  if (mesh.empty()) return *machine;
  EGRET_ASSIGN_OR_RETURN(const Mesh devices, Mesh::parse(mesh));
  return machine->with_mesh(devices);
}

}  // namespace egret::parallel
