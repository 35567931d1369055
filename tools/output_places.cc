// SPDX-License-Identifier: Apache-2.0
#include "tools/output_places.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace egret::tools {
namespace {

namespace fs = std::filesystem;
using Unit = base::OptionDomain::Unit;

base::Status check_file(const std::string& path) {
  std::error_code ignored;  // what cannot be looked at is not there
  if (fs::is_directory(path, ignored)) return base::unavailable(path + ": this is a folder");
  const fs::file_status there = fs::symlink_status(path, ignored);
  // Pipes and devices are written in place, links lead elsewhere.
  if (fs::exists(there) && !fs::is_regular_file(there)) return base::ok();
  std::string folder = fs::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder, ignored))
    return base::unavailable(path + ": there is no folder '" + folder + "' to write it to");
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return base::ok();
  return base::unavailable(path + ": cannot write: " + std::generic_category().message(errno));
}

base::Status make_folder(const std::string& path) {
  std::error_code problem;
  fs::create_directories(path, problem);
  if (!problem) return base::ok();
  return base::unavailable(path + ": cannot make the folder: " + problem.message());
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
      EGRET_RETURN_IF_ERROR(check_file(path));
    }
  }
  return base::ok();
}

}  // namespace egret::tools
