// SPDX-License-Identifier: Apache-2.0
// The host of an accelerator: its cores, its memory, its link to the accelerator, and its disk.
//
// Work on the cores takes the time of its operations or of its bytes, whichever is longer:
//
//   max(operations / (flops_per_second * matmul_efficiency),
//       bytes / (bytes_per_second * memory_efficiency)) + seconds_per_kernel
//
// The link carries bytes in both directions at once. So does the disk. In a machine file:
//
//   [host]
//   memory_bytes = 2e11
//   to_device_bytes_per_second = 1.2e10
//   from_device_bytes_per_second = 1.2e10
//
// These keys are required, and disk_bytes needs the rates of the disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "parallel/system/system.h"

namespace egret::parallel {

struct Host {
  std::string name;
  double memory_bytes = 0;
  double reserved_bytes = 0;       // of memory, for the system and the program
  double bytes_per_second = 1e11;  // of memory
  double memory_efficiency = 0.8;  // part of it that the cores' kernels reach
  double flops_per_second = 1e12;  // of all cores
  double matmul_efficiency = 0.8;  // part of it that products reach
  double seconds_per_kernel = 0;   // start of work on the cores
  double to_device_bytes_per_second = 0;
  double from_device_bytes_per_second = 0;
  double disk_bytes = 0;  // 0: no disk
  double disk_read_bytes_per_second = 0;
  double disk_write_bytes_per_second = 0;

  double usable_bytes() const { return memory_bytes - reserved_bytes; }
  double seconds(double flops, double bytes) const;  // without seconds_per_kernel
};

// A machine with the host of one of its accelerators, if its file describes one.
struct HostedSystem : System {
  std::optional<Host> host;
};

// As parse_system() and system_called() (parallel/system/system.h), which check [host] and leave it
// out.
base::Result<HostedSystem> parse_hosted_system(std::string_view toml, std::string_view origin);
base::Result<HostedSystem> hosted_system_called(const std::string& name);

}  // namespace egret::parallel
