// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/libraries.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

namespace egret::backends::cuda {
namespace {

namespace fs = std::filesystem;

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

// A handle that is never closed: libraries stay for the life of the process.
void* open_library(const std::vector<std::string>& names) {
  for (const std::string& folder : search_folders()) {
    for (const std::string& name : names) {
      if (!folder.empty() && !fs::exists(folder + name)) continue;
      if (void* handle = ::dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    }
  }
  return nullptr;
}

class Symbols {
 public:
  explicit Symbols(void* handle) : handle_(handle) {}
  template <typename F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(::dlsym(handle_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  base::Status status(const std::string& library) const {
    if (missing_.empty()) return base::ok();
    return base::unavailable(library + " is too old: it lacks " + missing_);
  }

 private:
  void* handle_;
  std::string missing_;
};

constexpr const char* kNameItsFolder = "install it, or name its folder in EGRET_CUDA_LIBRARIES";

// `find_all` is handed what finds each function of a table.
template <typename FindAll>
base::Status load_library(const std::string& what, const std::vector<std::string>& names,
                          const std::string& remedy, const FindAll& find_all) {
  void* handle = open_library(names);
  if (handle == nullptr)
    return base::unavailable(what + " (" + names[0] + ") is not found; " + remedy);
  Symbols symbols(handle);
  find_all([&](auto& function, const char* symbol) { symbols.find(function, symbol); });
  return symbols.status(what);
}

base::Status load_driver(DriverFunctions& driver) {
  return load_library("NVIDIA's driver", {"libcuda.so.1"}, "install it", [&](const auto& find) {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) find(driver.name, #symbol);
#include "backends/cuda/driver_functions.def"
#undef EGRET_CUDA_FUNCTION
  });
}

base::Status load_nvrtc(NvrtcFunctions& nvrtc) {
  return load_library("NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, kNameItsFolder,
                      [&](const auto& find) {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) find(nvrtc.name, #symbol);
#include "backends/cuda/nvrtc_functions.def"
#undef EGRET_CUDA_FUNCTION
                      });
}

base::Status load_lt(LtFunctions& lt) {
  return load_library("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
                      kNameItsFolder, [&](const auto& find) {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) find(lt.name, #symbol);
#include "backends/cuda/cublaslt_functions.def"
#undef EGRET_CUDA_FUNCTION
                      });
}

base::Status load_dnn(DnnFunctions& dnn) {
  return load_library("cuDNN", {"libcudnn.so.9"}, kNameItsFolder, [&](const auto& find) {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) find(dnn.name, #symbol);
#include "backends/cuda/cudnn_functions.def"
#undef EGRET_CUDA_FUNCTION
  });
}

Libraries load() {
  Libraries libraries;
  libraries.has_driver = load_driver(libraries.driver);
  libraries.has_nvrtc = load_nvrtc(libraries.nvrtc);
  libraries.has_lt = load_lt(libraries.lt);
  libraries.has_dnn = load_dnn(libraries.dnn);
  if (libraries.has_driver.ok()) libraries.driver.driver_version(&libraries.driver_version);
  int major = 0, minor = 0;
  if (libraries.has_nvrtc.ok() && libraries.nvrtc.version(&major, &minor) == 0)
    libraries.nvrtc_version = major * 1000 + minor * 10;
  return libraries;
}

}  // namespace

const Libraries& system_libraries() {
  static const Libraries libraries = load();
  return libraries;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

base::Status usable(const Libraries& libraries) {
  EGRET_RETURN_IF_ERROR(libraries.has_driver);
  if (libraries.driver_version < kOldestDriver) {
    return base::unavailable("NVIDIA's driver is for CUDA " +
                             version_text(libraries.driver_version) + ", Egret needs " +
                             version_text(kOldestDriver) + "; install a newer one");
  }
  EGRET_RETURN_IF_ERROR(libraries.has_nvrtc);
  int devices = 0;
  const int failed = libraries.driver.init(0);
  if (failed == kDriverOk) libraries.driver.device_count(&devices);
  if (devices > 0) return base::ok();
  const char* text = nullptr;
  if (failed != kDriverOk) libraries.driver.error_text(failed, &text);
  return base::unavailable(std::string("NVIDIA's driver finds no GPU") +
                           (text != nullptr ? std::string(": ") + text : ""));
}

}  // namespace egret::backends::cuda
