// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/machine_fingerprint.h"

#include <fstream>
#include <string_view>

#include "backends/backend.h"
#include "backends/timing/node_timer.h"

namespace egret::driver {
namespace {

struct Processor {
  std::string model = "unknown processor";
  std::string isa = "baseline";
};

Processor processor() {
  Processor found;
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string_view value = std::string_view(line).substr(colon + 2);
    if (line.starts_with("model name")) found.model = value;
    if (line.starts_with("flags")) {
      const std::string padded = " " + std::string(value) + " ";
      for (const std::string_view name :
           {"avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile"}) {
        if (padded.find(" " + std::string(name) + " ") != std::string::npos) found.isa = name;
      }
      break;  // all processors of a machine are alike
    }
  }
  return found;
}

}  // namespace

std::string machine_fingerprint(const Execution& execution) {
  const auto& [backend, threads, precision] = execution;
  const Processor cpu = processor();
  std::string before;
  if (backend != "cpu")
    before = std::string(backend) + " " + backends::find_backend(backend)->version() + " on ";
  return before + "cpu " + cpu.model + " / " + cpu.isa + " / " +
         std::to_string(threads > 0 ? threads : backends::available_threads()) + " threads / " +
         backends::find_backend("cpu")->version() + " / timing " +
         std::to_string(backends::kTimingMethod) +
         (precision == backends::Precision::kF32
              ? ""
              : " / " + std::string(backends::to_string(precision)));
}

cost::Rates assumed_rates(const Execution& execution) {
  const auto& [backend, threads, precision] = execution;
  if (const auto peak = backends::find_backend(backend)->peak_rates(precision)) {
    return {.flops_per_second = peak->flops_per_second,
            .bytes_per_second = peak->bytes_per_second,
            .seconds_per_kernel = peak->seconds_per_kernel};
  }
  const double cores = threads > 0 ? threads : backends::available_threads();
  const bool wide = processor().isa.starts_with("avx512");
  // 2 multiply-adds of 8 or 16 lanes a cycle at 3.5 GHz; a core's share of memory traffic.
  // Twice as many where they take two lanes' room for the inputs of one.
  const double lowered = precision == backends::Precision::kF32 ? 1 : 2;
  return {.flops_per_second = cores * lowered * (wide ? 2.2e11 : 1.1e11),
          .bytes_per_second = cores * 2.5e10,
          .seconds_per_kernel = 1e-6};
}

}  // namespace egret::driver
