// SPDX-License-Identifier: Apache-2.0
// Machine files: accelerators with size-dependent kernel times, and tiers of links.
//
//   name = "node"
//   [accelerator]                    # or [[accelerator]] with `devices`, in the order of ranks
//   name = "A100-SXM-80GB"
//   memory_bytes = 8e10
//   bytes_per_second = 2.039e12      # of memory
//   peak = {f32 = 1.95e13, f16 = 3.12e14}
//   [[tier]]                         # from the innermost
//   name = "nvlink"
//   devices = 8                      # in one domain; 0: any number
//   bytes_per_second = 3e11          # of one device, in one direction
//   [[tier]]
//   name = "infiniband"
//   devices = 0
//   bytes_per_second = 2.5e10
//   topology = {kind = "rail", leaf = 32, oversubscription = 2}
//
// These keys are required, with at least one peak and one tier. accelerator.h, fabric.h and
// topology.h explain all others; docs/simulation.md lists them with the presets' values. Values are
// in bytes, seconds and operations per second.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "parallel/system/accelerator.h"
#include "parallel/system/fabric.h"

namespace egret::parallel {

struct AcceleratorPool {
  Accelerator accelerator;
  std::int64_t devices = 0;  // neighbouring ranks; 0: all that follow
};

// The time of the forward and the backward pass of one dense layer on one device, measured, for one
// micro-batch. It replaces that of the layer's kernels where all sizes and choices are the same.
struct MeasuredLayer {
  std::int64_t hidden = 0, heads = 0, kv_heads = 0, ffn = 0;  // as in TrainingSetup
  std::int64_t sequence = 0, tensor = 1, micro_batch = 1;
  bool gated = false, no_dropout = false, flash_attention = false, sequence_parallel = false;
  std::string recompute = "none";
  double seconds = 0;
};

struct System {
  std::string name;
  Accelerator accelerator;             // of rank 0
  std::vector<AcceleratorPool> pools;  // by rank; one where all devices are equal
  Fabric fabric;
  std::vector<MeasuredLayer> measured_layers;

  // Of the pools of these ranks, the one whose products in their 16-bit precision take longest.
  // Ranks beyond the pools are of the last.
  std::size_t slowest_pool(std::int64_t first_rank, std::int64_t count) const;
  // The machine as these ranks see it: its accelerator is that of their slowest pool.
  System seen_by(std::int64_t first_rank, std::int64_t count) const;
  // Bytes that each of these ranks has for a step, at least; infinite where no file says.
  double usable_bytes(std::int64_t first_rank, std::int64_t count) const;
  // Devices that the outermost tier and the pools hold; 0: any number.
  std::int64_t devices() const;
  // Whether ranks 0 to COUNT - 1 exist and have a peak for the precision, their own or a wider
  // one's. Usage error otherwise.
  base::Status check(std::int64_t count, Precision precision) const;
};

// ORIGIN (a file name) opens error messages, followed by the line. Bad input: unknown or missing
// keys, values of the wrong type, and numbers that no machine has, as a rate in GB/s would be.
base::Result<System> parse_system(std::string_view toml, std::string_view origin);

struct SystemPreset {
  std::string_view name;
  std::string_view toml;
};
// The files of parallel/data/systems, by name.
std::span<const SystemPreset> system_presets();

// A preset's name, or a file whose name contains "." or "/". Usage error for unknown names.
base::Result<System> system_called(const std::string& name);

}  // namespace egret::parallel
