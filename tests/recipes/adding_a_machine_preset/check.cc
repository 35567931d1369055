// SPDX-License-Identifier: Apache-2.0
// A new preset: it is listed, parses, and prices collectives. Prints the first thing that does not
// hold and exits with 1.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>

#include "parallel/machine/named_cluster.h"

namespace {

using namespace egret;
using namespace egret::parallel;

base::Status expect(bool holds, const std::string& what) {
  return holds ? base::ok() : base::mismatch("this does not hold: " + what);
}

base::Status check() {
  const auto presets = system_presets();
  EGRET_RETURN_IF_ERROR(
      expect(std::ranges::find(presets, "a100-pair", &SystemPreset::name) != presets.end(),
             "the preset is listed"));
  for (const SystemPreset& each : presets)
    EGRET_RETURN_IF_ERROR(parse_system(each.toml, each.name).status());
  EGRET_ASSIGN_OR_RETURN(const auto machine, cluster_called("a100-pair"));
  EGRET_RETURN_IF_ERROR(expect(machine.name == "a100-pair", "the machine has the preset's name"));
  EGRET_RETURN_IF_ERROR(expect(machine.mesh.ranks() == 2, "it has two devices"));
  // An all-reduce of two devices: 2 steps, and each sends as many bytes as it holds.
  const Collective reduce{0, AxisPlacement::sum(), AxisPlacement::copy()};
  const double expected = 4e-6 + 2 * 1e-5 + 3.2e7 / (0.8 * 3.2e10);
  return expect(std::abs(machine.seconds(reduce, 3.2e7, 3.2e7) - expected) < 1e-12,
                "an all-reduce costs what the formula says");
}

}  // namespace

int main() {
  const base::Status status = check();
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
