// SPDX-License-Identifier: Apache-2.0
// What this machine is, for profiles: times measured on one machine are not those of another.
#pragma once

#include <string>
#include <string_view>

#include "backends/precision.h"
#include "cost/model.h"

namespace egret::driver {

// How operators are computed.
struct Execution {
  std::string_view backend = "cpu";  // exists
  int threads = 0;                   // 0: as many as the process may use
  backends::Precision precision = backends::Precision::kF32;
};

// Everything that changes the times of the CPU backend, and how they were taken: "cpu AMD EPYC 9354
// / avx512 / 2 threads / oneDNN 2.6.3 / timing 2", with " / bf16" behind it where plans compute in
// bf16. Times of another backend are not those of the CPU backend: its name and version stand
// before that, "codegen g++ 12.2.0 on cpu ...". Equal on equal machines.
std::string machine_fingerprint(const Execution& execution);

// Peak rates assumed of such a processor, or of the backend's device, where nothing was measured:
// deliberately a little above what it reaches, so that estimates stay below measurements (see
// cost/profiled.h).
cost::Rates assumed_rates(const Execution& execution);

}  // namespace egret::driver
