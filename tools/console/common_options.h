// SPDX-License-Identifier: Apache-2.0
// The options that every verb has.
#pragma once

#include <cstdint>
#include <string>

#include "base/options/option_table.h"
#include "base/system/terminal.h"

namespace egret::tools {

enum class ProgressMode : unsigned char { kAuto, kNever, kJson };

struct CommonOptions {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  base::ColorMode color = base::ColorMode::kAuto;
  ProgressMode progress = ProgressMode::kAuto;
  std::int64_t threads = 0;

  static const base::OptionTable<CommonOptions>& table();
};

// Those that say where options come from, so they cannot stand in a file.
struct InvocationOptions {
  std::string config;
  bool print_config = false;

  static const base::OptionTable<InvocationOptions>& table();
};

}  // namespace egret::tools
