// SPDX-License-Identifier: Apache-2.0
// The machine that a plan runs on: equal devices in a mesh; each axis has its own links.
//
//   name = "dgx"
//   [device]
//   flops_per_second = 6e14
//   bytes_per_second = 2.6e12      # of its memory
//   seconds_per_kernel = 4e-6
//   memory_bytes = 85899345920
//   fuses = true                   # elementwise operators run in the kernels of their operands
//   overlaps = false               # exchanges do not run beside computation (default: they do)
//   [[axis]]
//   name = "gpus"
//   size = 8
//   latency_s = 4e-6               # of one step of a collective
//   bytes_per_second = 3.6e11      # of what one device sends
//   steps = "ring"                 # or "direct"
//
// The time of a collective of p devices is the start of a kernel, the latency of its steps, and the
// time to send bytes_sent() (alpha-beta; Thakur, Rabenseifner, Gropp, "Optimization of Collective
// Communication Operations in MPICH", 2005). A ring takes p-1 steps, an all-reduce twice as many, a
// halo exchange one for each neighbour. With direct links, where all send to all at once (as over
// MPI), it is one step, and two for an all-reduce. Unknown keys are errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cost/model.h"
#include "parallel/machine/collective.h"
#include "parallel/placement/mesh.h"

namespace egret::parallel {

struct Link {
  double latency_s = 2e-6;
  double bytes_per_second = 1e10;
  bool direct = false;  // all of a group send to all others at once; otherwise a ring
};

struct Cluster {
  std::string name;
  cost::Rates rates;
  double memory_bytes = 0;  // of one device; 0: not known
  bool fuses = false;       // elementwise operators run in the kernels of their operands
  bool overlaps = true;     // exchanges run beside computation; not where ranks wait in MPI's calls
  Mesh mesh;
  std::vector<Link> links;  // by axis

  // The same devices in another mesh. An axis gets the links of the machine's axis of that name,
  // else of its first axis.
  Cluster with_mesh(const Mesh& other) const;

  // The limit of a device's memory where ASKED bytes were asked for; 0: none is known.
  double memory_limit(std::int64_t asked) const {
    return asked > 0 ? static_cast<double>(asked) : memory_bytes;
  }

  // The time of a collective between tensors of which each device holds `from` and `to` bytes.
  double seconds(const Collective& collective, double from, double to) const;
  // The time for a block of `bytes` to pass all devices along the axis, as in an all-gather.
  double seconds_to_pass(int axis, double bytes) const;
};

base::Result<Cluster> parse_cluster(std::string_view toml, std::string_view origin);
// The text of such a file.
std::string to_toml(const Cluster& cluster);

struct ClusterPreset {
  std::string_view name;
  std::string_view toml;
};
// "local": ranks that share this kind of machine's memory. All others are machine files
// (parallel/system/system.h).
std::span<const ClusterPreset> cluster_presets();

}  // namespace egret::parallel
