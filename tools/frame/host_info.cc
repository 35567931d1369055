// SPDX-License-Identifier: Apache-2.0
#include "tools/frame/host_info.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "backends/cuda/api/shared_library.h"
#include "base/formats/units.h"

namespace egret::tools {
namespace {

// Devices the CUDA driver reports; negative when it cannot start. The driver's C interface is
// stable, so no header of the toolkit is needed.
int cuda_devices(const backends::cuda::FindSymbol& driver) {
  using Init = int (*)(unsigned);
  using Count = int (*)(int*);
  const auto init = reinterpret_cast<Init>(driver("cuInit"));
  const auto count = reinterpret_cast<Count>(driver("cuDeviceGetCount"));
  int devices = 0;
  if (init == nullptr || count == nullptr || init(0) != 0 || count(&devices) != 0) return -1;
  return devices;
}

std::string on_path(std::string_view program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + std::string(program);
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

// Where the backends look, too. The library stays loaded: some do not survive unloading.
ProbeAnswer ask_library(const char* library) {
  ProbeAnswer answer;
  const auto ask = [&](const backends::cuda::FindSymbol& find) {
    answer = {true, library};
    if (!std::string_view(library).starts_with("libcuda.so")) return base::ok();
    const int devices = cuda_devices(find);
    answer.present = devices > 0;
    answer.detail = devices < 0 ? "the driver failed to start" : base::counted(devices, "device");
    return base::ok();
  };
  // What is not there is no error here.
  (void)backends::cuda::open_shared_library(library, {library}, "", ask);
  return answer;
}

}  // namespace

const std::vector<Probe>& probes() {
  static const std::vector<Probe> all = {
      {"oneDNN",
       "fast CPU kernels",
       "apt install libdnnl-dev, then build again",
       {"libdnnl.so.2", "libdnnl.so.3"},
       {}},
      {"SQLite",
       "the cost database",
       "apt install libsqlite3-dev, then build again",
       {"libsqlite3.so.0"},
       {}},
      {"protobuf",
       "reading and writing ONNX",
       "apt install libprotobuf-dev protobuf-compiler, then build again",
       {"libprotobuf-lite.so.32"},
       {}},
      {"Z3",
       "proofs of rewrite rules, extraction by MaxSAT",
       "apt install libz3-dev, then build again",
       {"libz3.so.4"},
       {}},
      {"cvc5",
       "second opinion on proofs",
       "apt install libcvc5-dev, then build again",
       {"libcvc5.so.1"},
       {}},
      {"CBC",
       "optimal extraction",
       "apt install coinor-libcbc-dev, then build again",
       {"libCbc.so.3"},
       {"cbc"}},
      {"HiGHS",
       "optimal extraction, second solver",
       "run scripts/setup.sh, which installs highsbox into .venv, then build again",
       {"libhighs.so.1", "libhighs.so"},
       {}},
      {"MPI",
       "runs on several machines",
       "apt install libopenmpi-dev openmpi-bin, then build again",
       {"libmpi.so.40"},
       {}},
      {"mpirun", "starting distributed runs", "apt install openmpi-bin", {}, {"mpirun"}},
      {"CUDA driver",
       "running on a GPU",
       "install NVIDIA's driver for this machine's GPU",
       {"libcuda.so.1"},
       {}},
      {"NVRTC",
       "kernels generated for the GPU",
       "install CUDA Toolkit 13 (NVRTC)",
       {"libnvrtc.so.13", "libnvrtc.so.12"},
       {}},
      {"cuBLASLt",
       "matrix products on the GPU",
       "install CUDA Toolkit 13 (cuBLAS)",
       {"libcublasLt.so.13", "libcublasLt.so.12"},
       {}},
      {"cuDNN", "convolutions on the GPU", "install cuDNN 9", {"libcudnn.so.9"}, {}},
      {"NCCL",
       "plans on several GPUs",
       "pip install nvidia-nccl-cu13, and add its folder to EGRET_CUDA_LIBRARIES",
       {"libnccl.so.2"},
       {}},
      {"C++ compiler", "kernels generated for the CPU", "apt install g++", {}, {"c++", "g++"}},
  };
  return all;
}

const Probe* find_probe(std::string_view name) {
  const auto found = std::find_if(probes().begin(), probes().end(),
                                  [&](const Probe& probe) { return probe.name == name; });
  return found == probes().end() ? nullptr : &*found;
}

ProbeAnswer ask(const Probe& probe) {
  ProbeAnswer best;
  for (const char* library : probe.libraries) {
    const ProbeAnswer answer = ask_library(library);
    if (answer.present) return answer;
    if (best.detail.empty()) best = answer;
  }
  for (const char* program : probe.programs) {
    const std::string file = on_path(program);
    if (!file.empty()) return {true, file};
  }
  return best;
}

HostInfo this_machine() {
  HostInfo machine;
  machine.threads = std::max(1U, std::thread::hardware_concurrency());
  machine.memory_bytes =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  constexpr std::array<std::string_view, 8> kSets = {
      "sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16"};
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name") && machine.processor.empty()) {
      machine.processor = line.substr(colon + 2);
    }
    if (line.starts_with("flags") && machine.instruction_sets.empty()) {
      const std::string flags = line.substr(colon + 1) + " ";
      for (const std::string_view set : kSets) {
        if (flags.find(" " + std::string(set) + " ") != std::string::npos) {
          machine.instruction_sets.emplace_back(set);
        }
      }
    }
  }
  return machine;
}

}  // namespace egret::tools
