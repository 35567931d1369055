// SPDX-License-Identifier: Apache-2.0
// What a plan runs on: equal devices in a mesh, each axis with links of its own.
//
//   name = "dgx"
//   [device]
//   flops_per_second = 6e14
//   bytes_per_second = 2.6e12      # of its memory
//   seconds_per_kernel = 4e-6
//   memory_bytes = 85899345920
//   [[axis]]
//   name = "gpus"
//   size = 8
//   latency_s = 4e-6               # of one step of a collective
//   bytes_per_second = 3.6e11      # of what one device sends
//
// A collective of p devices in a ring takes the start of a kernel, its steps' latency (a halo
// exchange has a step for each neighbour) and the time to send bytes_sent() (alpha-beta; Thakur,
// Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", 2005).
// Unknown keys are errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cost/model.h"
#include "parallel/collective.h"
#include "parallel/mesh.h"

namespace egret::parallel {

struct Link {
  double latency_s = 2e-6;
  double bytes_per_second = 1e10;
};

struct Machine {
  std::string name;
  cost::Rates rates;
  double memory_bytes = 0;  // of one device; 0: not known
  Mesh mesh;
  std::vector<Link> links;  // by axis

  // The same devices in another mesh; an axis has the links of the machine's axis of that name, or
  // of its first.
  Machine with_mesh(const Mesh& other) const;

  // Between tensors of which each device holds so many bytes before and after.
  double seconds(const Collective& collective, double from, double to) const;
  // A block of so many bytes passes all devices along the axis: a gather's time.
  double seconds_to_pass(int axis, double bytes) const;
};

base::Result<Machine> parse_machine(std::string_view toml, std::string_view origin);

struct MachinePreset {
  std::string_view name;
  std::string_view toml;
};
// "local": ranks that share this kind of machine's memory; "dgx-h100": eight GPUs and NVLink.
std::span<const MachinePreset> machine_presets();

}  // namespace egret::parallel
