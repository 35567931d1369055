// SPDX-License-Identifier: Apache-2.0
#include "parallel/machine/named_cluster.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "base/did_you_mean.h"
#include "base/system/file.h"

namespace egret::parallel {
namespace {

constexpr std::int64_t kMostMachineBytes = 1 << 20;

}  // namespace

base::Result<Cluster> cluster_called(const std::string& name, const std::string& mesh) {
  std::optional<Cluster> machine;
  std::vector<std::string> names;
  for (const ClusterPreset& preset : cluster_presets()) {
    names.emplace_back(preset.name);
    if (preset.name != name) continue;
    EGRET_ASSIGN_OR_RETURN(machine, parse_cluster(preset.toml, preset.name));
  }
  if (!machine) {
    const bool is_name = name.find_first_of("./") == std::string::npos;
    if (is_name) {
      return base::usage_error("unknown machine '" + name +
                               "' (the name of a machine file ends in .toml)" +
                               base::known_names(name, names));
    }
    EGRET_ASSIGN_OR_RETURN(const std::string text, base::read_file(name, kMostMachineBytes));
    EGRET_ASSIGN_OR_RETURN(machine, parse_cluster(text, name));
  }
  if (mesh.empty()) return *machine;
  EGRET_ASSIGN_OR_RETURN(const Mesh devices, Mesh::parse(mesh));
  return machine->with_mesh(devices);
}

}  // namespace egret::parallel
