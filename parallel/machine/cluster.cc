// SPDX-License-Identifier: Apache-2.0
#include "parallel/machine/cluster.h"

#include <array>
#include <functional>
#include <map>

#include "base/formats/toml.h"
#include "base/formats/units.h"

namespace egret::parallel {
namespace {

// Rates of processes on one host: a core's arithmetic and memory, messages through shared memory.
// `egret run` executes exchanges between them one after another.
constexpr std::string_view kLocal = R"(name = "local"
[device]
flops_per_second = 5e10
bytes_per_second = 1e10
seconds_per_kernel = 2e-6
overlaps = false
[[axis]]
name = "x"
size = 2
latency_s = 2e-6
bytes_per_second = 4e9
)";

constexpr std::array<ClusterPreset, 1> kPresets = {{{"local", kLocal}}};

using Reader = std::function<base::Status(const base::Json&)>;

// What no machine exceeds. Larger numbers, and infinite ones, leave a plan's times without meaning,
// and a solver refuses them.
constexpr double kMostRate = 1e24;
constexpr double kMostSeconds = 1e6;

Reader real_into(double& target, double least, double most) {
  return [&target, least, most](const base::Json& value) {
    EGRET_ASSIGN_OR_RETURN(target, value.as_real());
    return target >= least && target <= most
               ? base::ok()
               : base::bad_input("must be at least " + base::format_short(least) + " and at most " +
                                 base::format_short(most));
  };
}

Reader memory_into(double& target) {
  return [&target](const base::Json& value) {
    EGRET_ASSIGN_OR_RETURN(target, value.as_real());
    return target == 0 || (target >= 1 && target <= kMostRate)
               ? base::ok()
               : base::bad_input("must be a number of bytes, or 0 for no limit");
  };
}

base::Status read_axis(const base::Json& table, std::vector<MeshAxis>& axes,
                       std::vector<Link>& links) {
  if (!table.is_object()) return base::bad_input("'axis' must be an array of tables: [[axis]]");
  MeshAxis axis;
  Link link;
  for (const auto& [key, value] : table.members()) {
    base::Status status;
    if (key == "name") {
      EGRET_ASSIGN_OR_RETURN(axis.name, value.as_string());
    } else if (key == "size") {
      EGRET_ASSIGN_OR_RETURN(axis.size, value.as_integer());
    } else if (key == "latency_s") {
      status = real_into(link.latency_s, 0, kMostSeconds)(value);
    } else if (key == "bytes_per_second") {
      status = real_into(link.bytes_per_second, 1, kMostRate)(value);
    } else if (key == "steps") {
      EGRET_ASSIGN_OR_RETURN(const std::string steps, value.as_string());
      link.direct = steps == "direct";
      if (!link.direct && steps != "ring") status = base::bad_input("must be ring or direct");
    } else {
      status = base::bad_input(
          "unknown key; the keys are name, size, latency_s, bytes_per_second, steps");
    }
    if (!status.ok()) return status.at(key);
  }
  axes.push_back(std::move(axis));
  links.push_back(link);
  return base::ok();
}

}  // namespace

std::span<const ClusterPreset> cluster_presets() { return kPresets; }

Cluster Cluster::with_mesh(const Mesh& other) const {
  Cluster result = *this;
  result.mesh = other;
  result.links.clear();
  for (int axis = 0; axis < other.axis_count(); ++axis) {
    const int own = mesh.find(other.axis(axis).name);
    result.links.push_back(links[static_cast<std::size_t>(own < 0 ? 0 : own)]);
  }
  return result;
}

// The alpha-beta model of a ring: p - 1 steps of a latency each, and the bytes that a device sends
// over its link. An all-reduce is a reduce-scatter and an all-gather, so it takes twice the steps.
// A fully connected axis needs one step for each.
double Cluster::seconds(const Collective& collective, double from, double to) const {
  const std::int64_t devices = mesh.size(collective.axis);
  if (collective.from.is_copy()) {
    return rates.seconds_per_kernel + 2 * to / rates.bytes_per_second;  // read and written
  }
  const Link& link = links[static_cast<std::size_t>(collective.axis)];
  const bool twice = collective.from.is_partial() && collective.to.is_copy();
  const Halo& halo = collective.to.halo;
  const auto neighbours = static_cast<std::int64_t>(halo.before > 0) + (halo.after > 0);
  const std::int64_t once = link.direct ? 1 : collective.to.has_halo() ? neighbours : devices - 1;
  const auto steps = static_cast<double>(twice ? 2 * once : once);
  return rates.seconds_per_kernel + steps * link.latency_s +
         bytes_sent(collective, devices, from, to) / link.bytes_per_second;
}

// One hop less than there are devices: after the last step no block moves.
double Cluster::seconds_to_pass(int axis, double bytes) const {
  const Link& link = links[static_cast<std::size_t>(axis)];
  const auto steps = static_cast<double>(mesh.size(axis) - 1);
  return rates.seconds_per_kernel + steps * (link.latency_s + bytes / link.bytes_per_second);
}

base::Result<Cluster> parse_cluster(std::string_view toml, std::string_view origin) {
  EGRET_ASSIGN_OR_RETURN(const auto entries, base::parse_toml(toml, origin));
  Cluster machine;
  std::vector<MeshAxis> axes;
  const std::map<std::string, Reader, std::less<>> readers{
      {"name",
       [&](const base::Json& value) {
         EGRET_ASSIGN_OR_RETURN(machine.name, value.as_string());
         return base::ok();
       }},
      {"device.flops_per_second", real_into(machine.rates.flops_per_second, 1, kMostRate)},
      {"device.bytes_per_second", real_into(machine.rates.bytes_per_second, 1, kMostRate)},
      {"device.seconds_per_kernel", real_into(machine.rates.seconds_per_kernel, 0, kMostSeconds)},
      {"device.memory_bytes", memory_into(machine.memory_bytes)},
      {"device.fuses",
       [&](const base::Json& value) {
         EGRET_ASSIGN_OR_RETURN(machine.fuses, value.as_bool());
         return base::ok();
       }},
      {"device.overlaps",
       [&](const base::Json& value) {
         EGRET_ASSIGN_OR_RETURN(machine.overlaps, value.as_bool());
         return base::ok();
       }},
      {"axis", [&](const base::Json& value) {
         if (!value.is_array())
           return base::bad_input("'axis' must be an array of tables: [[axis]]");
         for (const base::Json& table : value.items())
           EGRET_RETURN_IF_ERROR(read_axis(table, axes, machine.links));
         return base::ok();
       }}};
  for (const base::TomlEntry& entry : entries) {
    const std::string place = std::string(origin) + ":" + std::to_string(entry.line);
    const auto reader = readers.find(entry.key);
    if (reader == readers.end()) {
      std::string known;
      for (const auto& [key, unused] : readers) known += (known.empty() ? "" : ", ") + key;
      return base::bad_input("unknown key " + entry.key + "; the keys are " + known).at(place);
    }
    const base::Status status = reader->second(entry.value);
    if (!status.ok()) return base::bad_input(entry.key + ": " + status.message()).at(place);
  }
  auto mesh = Mesh::of(std::move(axes));
  if (!mesh.ok()) return base::bad_input(mesh.status().message()).at(origin);
  machine.mesh = *std::move(mesh);
  return machine;
}

std::string to_toml(const Cluster& cluster) {
  const auto line = [](std::string_view key, double value) {
    return std::string(key) + " = " + base::format_real(value) + "\n";
  };
  std::string text = "name = " + base::Json(cluster.name).dump() + "\n[device]\n";
  text += line("flops_per_second", cluster.rates.flops_per_second);
  text += line("bytes_per_second", cluster.rates.bytes_per_second);
  text += line("seconds_per_kernel", cluster.rates.seconds_per_kernel);
  if (cluster.memory_bytes > 0) text += line("memory_bytes", cluster.memory_bytes);
  if (cluster.fuses) text += "fuses = true\n";
  if (!cluster.overlaps) text += "overlaps = false\n";
  for (int axis = 0; axis < cluster.mesh.axis_count(); ++axis) {
    const Link& link = cluster.links[static_cast<std::size_t>(axis)];
    text += "[[axis]]\nname = " + base::Json(cluster.mesh.axis(axis).name).dump() +
            "\nsize = " + std::to_string(cluster.mesh.size(axis)) + "\n";
    text += line("latency_s", link.latency_s);
    text += line("bytes_per_second", link.bytes_per_second);
    text += "steps = " + std::string(link.direct ? "\"direct\"" : "\"ring\"") + "\n";
  }
  return text;
}

}  // namespace egret::parallel
