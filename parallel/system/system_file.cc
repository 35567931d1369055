// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/formats/toml.h"
#include "base/formats/units.h"
#include "parallel/system/host.h"
#include "parallel/system/system.h"

namespace egret::parallel {
namespace {

// Bounds that all machines keep, and a number in another unit (GB/s, microseconds) does not.
constexpr double kLeastRate = 1e6, kMostRate = 1e24;  // per second
constexpr double kMostSeconds = 10;
constexpr double kLeastMemory = 1e6, kMostMemory = 1e18;
constexpr std::int64_t kMostCount = 1'000'000'000;  // products of two fit into 64 bits

using Reader = std::function<base::Status(const base::Json&)>;
using Readers = std::map<std::string, Reader, std::less<>>;

Reader real(double& target, double least, double most, const char* unit = "") {
  return [&target, least, most, unit](const base::Json& value) {
    EGRET_ASSIGN_OR_RETURN(target, value.as_real());
    return target >= least && target <= most
               ? base::ok()
               : base::bad_input("must be at least " + base::format_short(least) + " and at most " +
                                 base::format_short(most) + unit);
  };
}
Reader rate(double& target) { return real(target, kLeastRate, kMostRate, " bytes per second"); }
Reader seconds(double& target) { return real(target, 0, kMostSeconds, " seconds"); }

Reader integer(std::int64_t& target, std::int64_t least) {
  return [&target, least](const base::Json& value) {
    EGRET_ASSIGN_OR_RETURN(target, value.as_integer());
    return target >= least && target <= kMostCount
               ? base::ok()
               : base::bad_input("must be at least " + std::to_string(least) + " and at most " +
                                 std::to_string(kMostCount));
  };
}

Reader flag(bool& target) {
  return [&target](const base::Json& value) -> base::Status {
    EGRET_ASSIGN_OR_RETURN(target, value.as_bool());
    return base::ok();
  };
}

Reader text(std::string& target) {
  return [&target](const base::Json& value) {
    EGRET_ASSIGN_OR_RETURN(target, value.as_string());
    return target.empty() ? base::bad_input("must not be empty") : base::ok();
  };
}

base::Status read_key(const Readers& readers, std::string_view key, const base::Json& value) {
  const auto reader = readers.find(key);
  if (reader != readers.end()) return reader->second(value);
  std::string known;
  for (const auto& [name, unused] : readers) known += (known.empty() ? "" : ", ") + name;
  return base::bad_input("unknown key; the keys are " + known);
}

// A table inside an array, whose own tables are joined by dots.
base::Status read_table(const Readers& readers, const base::Json& table, const std::string& prefix,
                        std::set<std::string>& seen) {
  if (!table.is_object()) return base::bad_input("must be a table");
  for (const auto& [name, value] : table.members()) {
    const std::string key = prefix + name;
    const bool inner = value.is_object() && !readers.contains(key);
    const base::Status status =
        inner ? read_table(readers, value, key + ".", seen) : read_key(readers, key, value).at(key);
    EGRET_RETURN_IF_ERROR(status);
    seen.insert(key);
  }
  return base::ok();
}

base::Status check_required(const std::set<std::string>& seen,
                            std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (!seen.contains(key)) return base::bad_input(std::string(key) + " is missing");
  }
  return base::ok();
}

Readers accelerator_readers(Accelerator& device) {
  Readers readers{{"name", text(device.name)},
                  {"multiprocessors", integer(device.multiprocessors, 1)},
                  {"memory_bytes", real(device.memory_bytes, kLeastMemory, kMostMemory, " bytes")},
                  {"reserved_bytes", real(device.reserved_bytes, 0, kMostMemory, " bytes")},
                  {"bytes_per_second", rate(device.bytes_per_second)},
                  {"matmul_efficiency", real(device.matmul_efficiency, 1e-3, 1)},
                  {"narrow_efficiency", real(device.narrow_efficiency, 1e-3, 1)},
                  {"unaligned_efficiency", real(device.unaligned_efficiency, 1e-3, 1)},
                  {"matmul_ramp", real(device.matmul_ramp, 0, 1e6)},
                  {"memory_efficiency", real(device.memory_efficiency, 1e-3, 1)},
                  {"seconds_per_kernel", seconds(device.seconds_per_kernel)},
                  {"host_seconds_per_kernel", seconds(device.host_seconds_per_kernel)},
                  {"host_seconds_per_collective", seconds(device.host_seconds_per_collective)},
                  {"host_seconds_per_step", seconds(device.host_seconds_per_step)},
                  {"overlap_slowdown", real(device.overlap_slowdown, 0, 100)}};
  for (std::size_t i = 0; i < kPrecisionNames.size(); ++i) {
    readers.emplace(
        "peak." + std::string(kPrecisionNames[i]),
        real(device.peak_flops_per_second[i], kLeastRate, kMostRate, " operations per second"));
  }
  return readers;
}

base::Status check_accelerator(const Accelerator& device, const std::set<std::string>& seen) {
  EGRET_RETURN_IF_ERROR(check_required(seen, {"name", "memory_bytes", "bytes_per_second"}));
  if (device.peak(Precision::kBf16) <= 0)
    return base::bad_input("peak is missing: one of f32, tf32, f16, bf16");
  if (device.reserved_bytes >= device.memory_bytes)
    return base::bad_input("reserved_bytes must be less than memory_bytes");
  return base::ok();
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
  std::ranges::sort(tier.shares);
  return base::ok();
}

base::Status read_topology(const base::Json& value, TopologyKind& kind) {
  EGRET_ASSIGN_OR_RETURN(const std::string name, value.as_string());
  const auto* found = std::ranges::find(kTopologyNames, name);
  if (found == kTopologyNames.end()) {
    std::string known;
    for (const std::string_view each : kTopologyNames)
      known += (known.empty() ? "" : ", ") + std::string(each);
    return base::bad_input("unknown topology '" + name + "'; the topologies are " + known);
  }
  kind = static_cast<TopologyKind>(found - kTopologyNames.begin());
  return base::ok();
}

base::Status read_dims(const base::Json& value, std::vector<std::int64_t>& dims) {
  if (!value.is_array()) return base::bad_input("must be an array of sizes");
  for (const base::Json& each : value.items()) {
    EGRET_ASSIGN_OR_RETURN(const std::int64_t size, each.as_integer());
    if (size < 1 || size > kMostCount) {
      return base::bad_input("sizes must be at least 1 and at most " + std::to_string(kMostCount));
    }
    dims.push_back(size);
  }
  return base::ok();
}

base::Status check_topology(const Tier& tier) {
  const Topology& net = tier.topology;
  if (net.kind == TopologyKind::kTorus && net.dims.empty())
    return base::bad_input("topology.dims is missing: the sides of the torus");
  std::int64_t devices = 1;
  for (const std::int64_t dim : net.dims) {
    devices *= dim;
    if (devices > kMostCount) {
      return base::bad_input("the product of topology.dims must be at most " +
                             std::to_string(kMostCount));
    }
  }
  if (net.kind == TopologyKind::kTorus && tier.devices != 0 && devices != tier.devices)
    return base::bad_input("devices must be the product of topology.dims");
  return base::ok();
}

base::Result<Tier> read_tier(const base::Json& table) {
  Tier tier;
  const Readers readers{
      {"name", text(tier.name)},
      {"devices", integer(tier.devices, 0)},
      {"bytes_per_second", rate(tier.bytes_per_second)},
      {"efficiency", real(tier.efficiency, 1e-3, 1)},
      {"start_s", seconds(tier.start_s)},
      {"hop_s", seconds(tier.hop_s)},
      {"ramp", real(tier.ramp, 0, kMostSeconds)},
      {"in_network", flag(tier.in_network)},
      {"topology.kind",
       [&tier](const base::Json& value) { return read_topology(value, tier.topology.kind); }},
      {"topology.leaf", integer(tier.topology.leaf, 1)},
      {"topology.oversubscription", real(tier.topology.oversubscription, 1, 1e6)},
      {"topology.degree", integer(tier.topology.degree, 1)},
      {"topology.dims",
       [&tier](const base::Json& value) { return read_dims(value, tier.topology.dims); }},
      {"shares", [&tier](const base::Json& value) { return read_shares(value, tier); }}};
  std::set<std::string> seen;
  EGRET_RETURN_IF_ERROR(read_table(readers, table, "", seen));
  EGRET_RETURN_IF_ERROR(check_required(seen, {"name", "devices", "bytes_per_second"}));
  EGRET_RETURN_IF_ERROR(check_topology(tier));
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

base::Status read_tiers(const base::Json& value, std::vector<Tier>& tiers) {
  if (!value.is_array()) return base::bad_input("must be an array of tables: [[tier]]");
  for (const base::Json& table : value.items()) {
    base::Result<Tier> tier = read_tier(table);
    if (!tier.ok()) return tier.status().at("[" + std::to_string(tiers.size()) + "]");
    tiers.push_back(*std::move(tier));
  }
  return base::ok();
}

base::Result<MeasuredLayer> read_measured_layer(const base::Json& table) {
  MeasuredLayer layer;
  const auto recompute = [&layer](const base::Json& value) -> base::Status {
    EGRET_ASSIGN_OR_RETURN(layer.recompute, value.as_string());
    for (const char* known : {"none", "selective", "full"}) {
      if (layer.recompute == known) return base::ok();
    }
    return base::bad_input("must be none, selective or full");
  };
  const Readers readers{{"hidden", integer(layer.hidden, 1)},
                        {"heads", integer(layer.heads, 1)},
                        {"kv-heads", integer(layer.kv_heads, 0)},
                        {"ffn", integer(layer.ffn, 0)},
                        {"sequence-length", integer(layer.sequence, 1)},
                        {"tp", integer(layer.tensor, 1)},
                        {"micro-batch", integer(layer.micro_batch, 1)},
                        {"gated", flag(layer.gated)},
                        {"no-dropout", flag(layer.no_dropout)},
                        {"flash-attention", flag(layer.flash_attention)},
                        {"sequence-parallel", flag(layer.sequence_parallel)},
                        {"recompute", recompute},
                        {"seconds", real(layer.seconds, 1e-9, kMostSeconds, " seconds")}};
  std::set<std::string> seen;
  EGRET_RETURN_IF_ERROR(read_table(readers, table, "", seen));
  EGRET_RETURN_IF_ERROR(
      check_required(seen, {"hidden", "heads", "sequence-length", "tp", "micro-batch", "seconds"}));
  return layer;
}

base::Status read_measured_layers(const base::Json& value, std::vector<MeasuredLayer>& layers) {
  if (!value.is_array()) return base::bad_input("must be an array of tables: [[measured_layer]]");
  for (const base::Json& table : value.items()) {
    base::Result<MeasuredLayer> layer = read_measured_layer(table);
    if (!layer.ok()) return layer.status().at("[" + std::to_string(layers.size()) + "]");
    layers.push_back(*std::move(layer));
  }
  return base::ok();
}

base::Status read_pools(const base::Json& value, std::vector<AcceleratorPool>& pools) {
  if (!value.is_array()) return base::bad_input("must be a table or an array of tables");
  for (const base::Json& table : value.items()) {
    AcceleratorPool& pool = pools.emplace_back();
    Readers readers = accelerator_readers(pool.accelerator);
    readers.emplace("devices", integer(pool.devices, 1));
    std::set<std::string> seen;
    base::Status status = read_table(readers, table, "", seen);
    if (status.ok()) status = check_accelerator(pool.accelerator, seen);
    if (status.ok() && pools.size() < value.items().size())
      status = check_required(seen, {"devices"});
    if (!status.ok()) return status.at("[" + std::to_string(pools.size() - 1) + "]");
  }
  return base::ok();
}

Readers host_readers(Host& host) {
  return {{"name", text(host.name)},
          {"memory_bytes", real(host.memory_bytes, kLeastMemory, kMostMemory, " bytes")},
          {"reserved_bytes", real(host.reserved_bytes, 0, kMostMemory, " bytes")},
          {"bytes_per_second", rate(host.bytes_per_second)},
          {"memory_efficiency", real(host.memory_efficiency, 1e-3, 1)},
          {"flops_per_second",
           real(host.flops_per_second, kLeastRate, kMostRate, " operations per second")},
          {"matmul_efficiency", real(host.matmul_efficiency, 1e-3, 1)},
          {"seconds_per_kernel", seconds(host.seconds_per_kernel)},
          {"to_device_bytes_per_second", rate(host.to_device_bytes_per_second)},
          {"from_device_bytes_per_second", rate(host.from_device_bytes_per_second)},
          {"disk_bytes", real(host.disk_bytes, kLeastMemory, kMostMemory, " bytes")},
          {"disk_read_bytes_per_second", rate(host.disk_read_bytes_per_second)},
          {"disk_write_bytes_per_second", rate(host.disk_write_bytes_per_second)}};
}

base::Status check_host(const Host& host, const std::set<std::string>& seen) {
  EGRET_RETURN_IF_ERROR(check_required(
      seen, {"memory_bytes", "to_device_bytes_per_second", "from_device_bytes_per_second"}));
  if (host.reserved_bytes >= host.memory_bytes)
    return base::bad_input("reserved_bytes must be less than memory_bytes");
  const bool has_rates =
      seen.contains("disk_read_bytes_per_second") && seen.contains("disk_write_bytes_per_second");
  if (seen.contains("disk_bytes") && !has_rates) {
    return base::bad_input(
        "disk_bytes needs disk_read_bytes_per_second and disk_write_bytes_per_second");
  }
  return base::ok();
}

}  // namespace

base::Result<HostedSystem> parse_hosted_system(std::string_view toml, std::string_view origin) {
  constexpr std::string_view kPrefix = "accelerator.";
  EGRET_ASSIGN_OR_RETURN(const auto entries, base::parse_toml(toml, origin));
  HostedSystem system;
  AcceleratorPool single;
  const Readers device = accelerator_readers(single.accelerator);
  Readers readers{{"name", text(system.name)},
                  {"accelerator",
                   [&system](const base::Json& value) { return read_pools(value, system.pools); }},
                  {"measured_layer",
                   [&system](const base::Json& value) {
                     return read_measured_layers(value, system.measured_layers);
                   }},
                  {"tier", [&system](const base::Json& value) {
                     return read_tiers(value, system.fabric.tiers);
                   }}};
  for (const auto& [key, reader] : device) readers.emplace(std::string(kPrefix) + key, reader);
  constexpr std::string_view kHost = "host.";
  Host host;
  for (const auto& [key, reader] : host_readers(host))
    readers.emplace(std::string(kHost) + key, reader);
  std::set<std::string> seen, seen_of_host;
  for (const base::TomlEntry& entry : entries) {
    const base::Status status = read_key(readers, entry.key, entry.value);
    if (!status.ok()) {
      return base::bad_input(entry.key + ": " + status.message())
          .at(std::string(origin) + ":" + std::to_string(entry.line));
    }
    if (entry.key.starts_with(kPrefix)) seen.insert(entry.key.substr(kPrefix.size()));
    if (entry.key.starts_with(kHost)) seen_of_host.insert(entry.key.substr(kHost.size()));
  }
  if (system.pools.empty()) {
    EGRET_RETURN_IF_ERROR(check_accelerator(single.accelerator, seen).at("accelerator").at(origin));
    system.pools.push_back(single);
  }
  if (system.pools.size() > 1 && !system.measured_layers.empty())
    return base::bad_input("[[measured_layer]] needs one kind of accelerator").at(origin);
  if (!seen_of_host.empty()) {
    EGRET_RETURN_IF_ERROR(check_host(host, seen_of_host).at("host").at(origin));
    system.host = host;
  }
  if (system.name.empty()) return base::bad_input("name is missing").at(origin);
  system.accelerator = system.pools.front().accelerator;
  EGRET_RETURN_IF_ERROR(check_tiers(system.fabric.tiers).at(origin));
  return system;
}

base::Result<System> parse_system(std::string_view toml, std::string_view origin) {
  EGRET_ASSIGN_OR_RETURN(const HostedSystem system, parse_hosted_system(toml, origin));
  return System(system);
}

}  // namespace egret::parallel
