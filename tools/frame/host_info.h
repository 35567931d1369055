// SPDX-License-Identifier: Apache-2.0
// What this machine offers at run time: libraries that can be loaded, programs on the PATH,
// devices. Build-time facts are in tools/frame/build_info.h; `egret doctor` joins the two by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace egret::tools {

// One row of the probe table: a component of build_info() or a thing needed at run time only.
struct Probe {
  std::string_view name;
  std::string_view purpose;
  std::string_view remedy;
  // Any of these suffices, tried in order.
  std::vector<const char*> libraries;  // names for dlopen
  std::vector<const char*> programs;   // names on the PATH
};

const std::vector<Probe>& probes();
const Probe* find_probe(std::string_view name);

struct ProbeAnswer {
  bool present = false;
  std::string detail;  // what answered ("libdnnl.so.2", "/usr/bin/c++", "2 devices")
};
ProbeAnswer ask(const Probe& probe);

// "Intel(R) Xeon(R) ..., 2 threads, avx2 avx512f, 23.4 GiB memory".
struct HostInfo {
  std::string processor;
  unsigned threads = 0;
  double memory_bytes = 0;
  std::vector<std::string> instruction_sets;
};
HostInfo this_machine();

}  // namespace egret::tools
