// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/api/shared_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
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

// A handle that is never closed.
void* open(const std::vector<std::string>& names) {
  for (const std::string& folder : search_folders()) {
    for (const std::string& name : names) {
      if (!folder.empty() && !std::filesystem::exists(folder + name)) continue;
      if (void* handle = ::dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    }
  }
  return nullptr;
}

}  // namespace

base::Status open_shared_library(const std::string& what, const std::vector<std::string>& names,
                                 const std::string& remedy,
                                 const std::function<base::Status(const FindSymbol&)>& take) {
  void* handle = open(names);
  if (handle == nullptr)
    return base::unavailable(what + " (" + names[0] + ") was not found; " + remedy);
  return take([handle](const char* symbol) { return ::dlsym(handle, symbol); });
}

base::Status SymbolTable::status(const std::string& library) const {
  if (missing_.empty()) return base::ok();
  return base::unavailable(library + " is too old: it lacks " + missing_);
}

}  // namespace egret::backends::cuda
