// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <vector>

#include "backends/codegen/kernel_cache.h"
#include "backends/cuda/api/device.h"
#include "base/hash.h"
#include "base/system/file.h"

namespace egret::backends::cuda {
namespace {

constexpr std::int64_t kMostImage = 1 << 30;

// What NVRTC is told to compile for, and whether that is machine code.
struct Architecture {
  std::string option;
  bool is_machine_code = false;
};

// Machine code, if this NVRTC knows the GPU. For a newer GPU it is PTX of the newest earlier
// architecture, which the driver compiles when it loads the module.
Architecture architecture_for(const NvrtcFunctions& nvrtc, int capability) {
  int count = 0;
  nvrtc.architecture_count(&count);
  std::vector<int> known(static_cast<std::size_t>(std::max(count, 0)));
  if (count > 0) nvrtc.architectures(known.data());
  if (std::ranges::find(known, capability) != known.end())
    return {"--gpu-architecture=sm_" + std::to_string(capability), true};
  int newest = 0;
  for (const int each : known) {
    if (each < capability) newest = std::max(newest, each);
  }
  return {"--gpu-architecture=compute_" + std::to_string(newest > 0 ? newest : capability), false};
}

base::Result<std::string> run_compiler(const NvrtcFunctions& nvrtc, const std::string& source,
                                       const Architecture& architecture) {
  NvrtcProgram program = nullptr;
  if (nvrtc.create(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0)
    return base::internal_error("NVRTC takes no program");
  const char* options[] = {architecture.option.c_str(), "--std=c++17"};
  const bool compiled = nvrtc.compile(program, 2, options) == 0;
  const auto text = [&](int (*size_of)(NvrtcProgram, std::size_t*),
                        int (*get)(NvrtcProgram, char*)) {
    std::size_t bytes = 0;
    size_of(program, &bytes);
    std::string result(bytes, '\0');
    if (bytes > 0) get(program, result.data());
    return result;
  };
  const std::string result = !compiled                      ? text(nvrtc.log_size, nvrtc.log)
                             : architecture.is_machine_code ? text(nvrtc.cubin_size, nvrtc.cubin)
                                                            : text(nvrtc.ptx_size, nvrtc.ptx);
  nvrtc.destroy(&program);
  if (compiled) return result;
  return base::internal_error("NVRTC refuses emitted source: " + result.substr(0, 2000));
}

}  // namespace

// Compiled once per machine: the image is kept in the cache under a hash of all that decides it.
base::Result<std::string> compile_for_device(const NvrtcFunctions& nvrtc, int nvrtc_version,
                                             const std::string& source, int capability) {
  const Architecture architecture = architecture_for(nvrtc, capability);
  const std::string key =
      source + '\0' + architecture.option + '\0' + std::to_string(nvrtc_version);
  const std::string folder = codegen::kernel_cache_folder();
  const std::string path = folder + "/" + base::content_hash(key).to_hex() + ".cuda";
  if (auto kept = base::read_file(path, kMostImage); kept.ok()) return kept;
  EGRET_ASSIGN_OR_RETURN(std::string image, run_compiler(nvrtc, source, architecture));
  if (folder.empty()) return image;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // A cache that cannot be written costs time, not the result.
  const base::Status written = base::write_file(path, image);
  (void)written;
  return image;
}

}  // namespace egret::backends::cuda
