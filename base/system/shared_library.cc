// SPDX-License-Identifier: Apache-2.0
#include "base/system/shared_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace egret::base {

// The handle is never closed: some libraries do not survive that.
Result<FindSymbol> open_shared_library(const std::vector<std::string>& names,
                                       const std::vector<std::string>& folders) {
  std::string reason;
  for (const std::string& folder : folders) {
    for (const std::string& name : names) {
      std::error_code failed;
      if (!folder.empty() && !std::filesystem::exists(folder + name, failed)) continue;
      if (void* handle = ::dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL))
        return FindSymbol([handle](const char* symbol) { return ::dlsym(handle, symbol); });
      if (const char* said = ::dlerror(); said != nullptr && reason.empty()) reason = said;
    }
  }
  return unavailable(reason.empty() ? names.front() + " was not found" : reason);
}

Status SymbolTable::status(const std::string& library) const {
  if (missing_.empty()) return ok();
  return unavailable(library + " is too old: it lacks " + missing_);
}

}  // namespace egret::base
