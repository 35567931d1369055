// SPDX-License-Identifier: Apache-2.0
// The literature's workloads under Google Benchmark:
//   egraph_benchmarks --benchmark_filter=mm-11 --benchmark_repetitions=5
// Counters stand beside the time: sizes, its split, bytes per e-node, ticks (which repeat from run
// to run), instructions where the machine counts them, and what egg 0.11 took on its machine.
#include <benchmark/benchmark.h>

#include <string>

#include "egraph/workloads/workload.h"
#include "tools/egraph_bench/instruction_counter.h"

namespace egret::egraph::workloads {
namespace {

void run(benchmark::State& state, const std::string& name) {
  for ([[maybe_unused]] auto _ : state) {
    const auto workload = find_workload(name);
    const auto session = Session::open(*workload);
    if (!session.ok()) {
      state.SkipWithError(session.status().message().c_str());
      return;
    }
    const tools::InstructionCounter counter;
    const RunReport report = (*session)->runner().run();
    const auto instructions = counter.read();
    state.SetIterationTime(report.seconds);

    const EGraph& egraph = (*session)->egraph();
    const auto nodes = static_cast<double>(egraph.node_count());
    auto& counters = state.counters;
    counters["nodes"] = nodes;
    counters["classes"] = static_cast<double>(egraph.class_count());
    counters["search_s"] = report.search_seconds();
    counters["apply_s"] = report.apply_seconds();
    counters["rebuild_s"] = report.rebuild_seconds();
    counters["bytes_per_node"] = static_cast<double>(egraph.bytes()) / nodes;
    counters["ticks"] = static_cast<double>(report.ticks);
    if (instructions) counters["instructions"] = static_cast<double>(*instructions);
    if (const auto egg = egg_figures(name)) {
      counters["egg_s"] = egg->seconds;
      counters["egg_s/ours"] = egg->seconds / report.seconds;
      counters["egg_bytes/ours"] =
          egg->bytes_per_node * nodes / static_cast<double>(egraph.bytes());
    }
  }
}

}  // namespace
}  // namespace egret::egraph::workloads

int main(int argc, char** argv) {
  for (const std::string_view name : egret::egraph::workloads::workload_names()) {
    benchmark::RegisterBenchmark(std::string(name).c_str(), egret::egraph::workloads::run,
                                 std::string(name))
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
