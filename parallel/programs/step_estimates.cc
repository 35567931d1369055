// SPDX-License-Identifier: Apache-2.0
// step_estimates SYSTEM: reads JSON objects from standard input, one a line, and writes the
// estimate of each. An object holds the options of `TrainingSetup` ({"tp": 8, ...}) and "zero" (0
// to 3), or a collective: {"collective": "all_reduce", "bytes": 1e6, "size": 8, "stride": 1}. It
// prices many setups in one run, for fits and for the validation in experiments/cluster-validation.
#include <cstdio>
#include <iostream>
#include <string>

#include "base/formats/json.h"
#include "base/options/option_set.h"
#include "parallel/transformer/step_estimate.h"
#include "parallel/transformer/training_memory.h"

namespace {

using namespace egret;
using namespace egret::parallel;

constexpr double kMostBytes = 1e18;
constexpr std::int64_t kMostRanks = 1'000'000'000;

struct ZeroOption {
  std::int64_t zero = 0;

  static const base::OptionTable<ZeroOption>& table() {
    static const base::OptionTable<ZeroOption> rows{
        "zero", {{"zero", &ZeroOption::zero, "As that of egret simulate", base::range(0, 3)}}};
    return rows;
  }
};

base::Result<base::Json> collective(const System& system, const base::Json& line) {
  RankGroup group;
  double bytes = 0;
  std::string name;
  for (const auto& [key, value] : line.members()) {
    if (key == "collective") {
      EGRET_ASSIGN_OR_RETURN(name, value.as_string());
    } else if (key == "bytes") {
      EGRET_ASSIGN_OR_RETURN(bytes, value.as_real());
    } else if (key == "size") {
      EGRET_ASSIGN_OR_RETURN(group.size, value.as_integer());
    } else if (key == "stride") {
      EGRET_ASSIGN_OR_RETURN(group.stride, value.as_integer());
    } else {
      return base::bad_input("unknown key").at(key);
    }
  }
  EGRET_ASSIGN_OR_RETURN(const CollectiveKind kind, collective_called(name));
  if (!(bytes >= 0 && bytes <= kMostBytes))
    return base::bad_input("bytes must be at least 0 and at most 1e18");
  for (const std::int64_t count : {group.size, group.stride}) {
    if (count < 1 || count > kMostRanks)
      return base::bad_input("size and stride must be at least 1 and at most 1e9");
  }
  EGRET_RETURN_IF_ERROR(
      system.check((group.size - 1) * group.stride + 1, Precision::kBf16).at("size"));
  const CollectiveTime time = system.fabric.collective(kind, bytes, group);
  base::Json result = base::Json::object();
  result.set("seconds", time.seconds());
  result.set("algorithm", kCollectiveAlgorithmNames[static_cast<std::size_t>(time.algorithm)]);
  result.set("protocol", kWireProtocolNames[static_cast<std::size_t>(time.protocol)]);
  return result;
}

base::Result<base::Json> estimate(const System& system, const base::Json& line) {
  TrainingSetup setup;
  base::OptionSet options;
  options.add(setup);
  ZeroOption zero;
  options.add(zero);
  for (const auto& [key, value] : line.members()) {
    EGRET_RETURN_IF_ERROR(options.set(key, {value.scalar_text()}, base::OptionOrigin::kFlag, key));
  }
  EGRET_ASSIGN_OR_RETURN(const StepEstimate step, estimate_step(system, setup, zero.zero));
  base::Json result = base::Json::object();
  result.set("seconds", step.seconds);
  result.set("steady_s", step.steady_s);
  result.set("bubble_s", step.bubble_s);
  result.set("transfers_s", step.transfers_s);
  result.set("exchange_s", step.exchange_s);
  result.set("optimizer_s", step.optimizer_s);
  result.set("host_s", step.host_s);
  for (std::size_t i = 0; i < step.kernel_s.size(); ++i)
    result.set(kKernelKindNames[i], step.kernel_s[i]);
  result.set("model_flops", step.model_flops);
  result.set("mfu", step.mfu);
  const StageBytes& bytes = step.fullest();
  result.set("memory_bytes", bytes.total());
  result.set("activation_bytes", bytes.activations);
  result.set("layer_bytes", layer_activation_bytes(setup));
  result.set("whole_layer_bytes", whole_layer_activation_bytes(setup));
  return result;
}

base::Result<std::string> answer(const System& system, const std::string& text) {
  EGRET_ASSIGN_OR_RETURN(const base::Json line, base::Json::parse(text));
  if (!line.is_object()) return base::bad_input("must be an object");
  EGRET_ASSIGN_OR_RETURN(const base::Json json, line.find("collective") != nullptr
                                                    ? collective(system, line)
                                                    : estimate(system, line));
  return json.dump();
}

base::Status run(const std::string& name) {
  EGRET_ASSIGN_OR_RETURN(const System system, system_called(name));
  std::string text;
  for (int number = 1; std::getline(std::cin, text); ++number) {
    const base::Result<std::string> line = answer(system, text);
    if (!line.ok()) return line.status().at("line " + std::to_string(number));
    std::cout << *line << "\n";
  }
  return base::ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: step_estimates SYSTEM < SETUPS\n");
    return 2;
  }
  const base::Status status = run(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
