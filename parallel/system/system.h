// SPDX-License-Identifier: Apache-2.0
// System files: the machine that `egret simulate` runs on, with size-dependent kernel times and
// tiers of links. The files of the presets in parallel/data/systems/ are the reference of the keys.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "parallel/system/accelerator.h"
#include "parallel/system/fabric.h"

namespace egret::parallel {

struct System {
  std::string name;
  Accelerator accelerator;
  Fabric fabric;
};

// ORIGIN (a file name) opens error messages. Unknown keys, missing peaks or tiers, and numbers out
// of range are bad input.
base::Result<System> parse_system(std::string_view toml, std::string_view origin);

struct SystemPreset {
  std::string_view name;
  std::string_view toml;
};
std::span<const SystemPreset> system_presets();

// A preset's name, or a file whose name contains "." or "/". Usage error for unknown names.
base::Result<System> system_called(const std::string& name);

}  // namespace egret::parallel
