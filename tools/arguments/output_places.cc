// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/output_places.h"

#include <filesystem>
#include <system_error>

#include "base/system/file.h"

namespace egret::tools {
namespace {

using Unit = base::OptionDomain::Unit;

base::Status make_folder(const std::string& path) {
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (!problem) return base::ok();
  return base::unavailable(path + ": cannot create the folder: " + problem.message());
}

}  // namespace

base::Status prepare_outputs(const base::OptionSet& options) {
  for (const base::BoundOption& option : options.options()) {
    const Unit unit = option.domain.unit;
    if (unit != Unit::kOutput && unit != Unit::kOutputFolder) continue;
    const std::string& path = *std::get<std::string*>(option.slot);
    if (path.empty()) continue;
    if (unit == Unit::kOutputFolder) {
      EGRET_RETURN_IF_ERROR(make_folder(path));
    } else if (path != "-") {
      EGRET_RETURN_IF_ERROR(base::check_writable(path));
    }
  }
  return base::ok();
}

}  // namespace egret::tools
