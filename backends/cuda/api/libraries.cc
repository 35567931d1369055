// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/api/libraries.h"

#include "backends/cuda/api/shared_library.h"

namespace egret::backends::cuda {
namespace {

// `fill_all` hands each function of a table, and its symbol, to what it is given.
template <typename FillAll>
base::Status load_library(const std::string& what, const std::vector<std::string>& names,
                          const std::string& remedy, const FillAll& fill_all) {
  return open_shared_library(what, names, remedy, [&](const FindSymbol& find_symbol) {
    SymbolTable table(find_symbol);
    fill_all([&](auto& function, const char* symbol) { table.fill(function, symbol); });
    return table.status(what);
  });
}

base::Status load_driver(DriverFunctions& driver) {
  return load_library("NVIDIA's driver", {"libcuda.so.1"}, "install it", [&](const auto& find) {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) find(driver.name, #symbol);
#include "backends/cuda/api/driver_functions.def"
#undef EGRET_CUDA_FUNCTION
  });
}

base::Status load_nvrtc(NvrtcFunctions& nvrtc) {
  return load_library("NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, kNameItsFolder,
                      [&](const auto& find) {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) find(nvrtc.name, #symbol);
#include "backends/cuda/api/nvrtc_functions.def"
#undef EGRET_CUDA_FUNCTION
                      });
}

base::Status load_lt(LtFunctions& lt) {
  return load_library("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
                      kNameItsFolder, [&](const auto& find) {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) find(lt.name, #symbol);
#include "backends/cuda/api/cublaslt_functions.def"
#undef EGRET_CUDA_FUNCTION
                      });
}

base::Status load_dnn(DnnFunctions& dnn) {
  return load_library("cuDNN", {"libcudnn.so.9"}, kNameItsFolder, [&](const auto& find) {
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) find(dnn.name, #symbol);
#include "backends/cuda/api/cudnn_functions.def"
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
    return base::unavailable("the NVIDIA driver supports CUDA " +
                             version_text(libraries.driver_version) + "; Egret needs " +
                             version_text(kOldestDriver) + ". Install a newer driver");
  }
  EGRET_RETURN_IF_ERROR(libraries.has_nvrtc);
  int devices = 0;
  const int failed = libraries.driver.init(0);
  if (failed == kDriverOk) libraries.driver.device_count(&devices);
  if (devices > 0) return base::ok();
  const char* text = nullptr;
  if (failed != kDriverOk) libraries.driver.error_text(failed, &text);
  return base::unavailable(std::string("the NVIDIA driver found no GPU") +
                           (text != nullptr ? std::string(": ") + text : ""));
}

}  // namespace egret::backends::cuda
