// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/api/shared_library.h"

#include <cstdlib>
#include <sstream>

namespace egret::backends::cuda {
namespace {

std::vector<std::string> search_folders() {
  std::vector<std::string> folders;
  const char* given = std::getenv("EGRET_CUDA_LIBRARIES");
  std::istringstream stream(given != nullptr ? given : "");
  for (std::string folder; std::getline(stream, folder, ':');) {
    if (!folder.empty()) folders.push_back(folder + "/");
  }
  folders.emplace_back();  // where the system's loader looks
  folders.emplace_back("/usr/local/cuda/lib64/");
  folders.emplace_back("/usr/local/nvidia/lib64/");  // the driver's, in containers
  return folders;
}

}  // namespace

base::Status open_shared_library(const std::string& what, const std::vector<std::string>& names,
                                 const std::string& remedy,
                                 const std::function<base::Status(const FindSymbol&)>& take) {
  const base::Result<FindSymbol> opened = base::open_shared_library(names, search_folders());
  if (!opened.ok()) return base::unavailable(what + " (" + names[0] + ") was not found; " + remedy);
  return take(*opened);
}

}  // namespace egret::backends::cuda
