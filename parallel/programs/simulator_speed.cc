// SPDX-License-Identifier: Apache-2.0
// Measures the event simulator: events per second, and delta simulation against full simulation.
//
//   simulator_speed [CHANGES]
//
// The steps have 64 simulated devices. A change replaces the time of a random pass by 0.5 to 2
// times itself, or, one time in five, a transfer or exchange by one of other latency and bytes.
// Full and delta runs alternate; the printed ratio is that of the sums of their times. Results are
// compared after each change.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/timer.h"
#include "parallel/simulator/step_simulation.h"

namespace egret::parallel {
namespace {

struct Setup {
  const char* name;
  TrainingSetup setup;
  StepOptions options;
};

TrainingSetup gpt(std::int64_t pipeline, std::int64_t data, std::int64_t micro_batches) {
  TrainingSetup setup;
  setup.layers = 64;
  setup.hidden = 4096;
  setup.heads = 32;
  setup.pipeline = pipeline;
  setup.data = data;
  setup.global_batch = micro_batches * data;
  return setup;
}

TaskWork change_of(const TaskWork& work, base::Random& random) {
  TaskWork result = work;
  result.seconds *= random.uniform(0.5, 2);
  if (work.bytes > 0) result.bytes *= random.uniform(0.5, 2);
  return result;
}

bool same(const Timeline& a, const Timeline& b) { return a.spans == b.spans && a.end_s == b.end_s; }

int measure(const Setup& one, std::int64_t changes) {
  const System system = system_called("dgx-a100").value();
  auto made = StepSimulation::make(system, one.setup, one.options);
  auto reference = StepSimulation::make(system, one.setup, one.options);
  if (!made.ok() || !reference.ok()) {
    std::fprintf(stderr, "%s: %s\n", one.name, made.status().message().c_str());
    return 1;
  }
  EventSimulator& delta = made->simulator();
  EventSimulator& full = reference->simulator();
  std::vector<TaskId> passes, flows;
  for (std::size_t i = 0; i < delta.graph().size(); ++i) {
    const SimulatedTask& task = delta.graph().tasks()[i];
    if (task.effect == TaskEffect::kComputes) passes.emplace_back(i);
    if (task.work.bytes > 0) flows.emplace_back(i);
  }
  base::Random random(1);
  double full_s = 0, delta_s = 0;
  std::int64_t events = 0, simulated = 0;
  for (std::int64_t change = 0; change < changes; ++change) {
    const auto& from = !flows.empty() && random.chance(0.2) ? flows : passes;
    const TaskId task = from[random.below(from.size())];
    const TaskWork former = delta.graph().task(task).work;
    const TaskWork work = change_of(former, random);
    base::Stopwatch watch;
    delta.change(task, work);
    if (!delta.update().ok()) return 1;
    delta_s += watch.seconds();
    simulated += static_cast<std::int64_t>(delta.simulated_tasks());
    full.change(task, work);
    watch = base::Stopwatch();
    if (!full.run().ok()) return 1;
    full_s += watch.seconds();
    events += full.timeline().events;
    if (!same(delta.timeline(), full.timeline())) {
      std::fprintf(stderr, "%s: change %ld: delta and full simulation differ\n", one.name,
                   static_cast<long>(change));
      return 1;
    }
    // Each change is one of the first step, so that changes do not add up.
    watch = base::Stopwatch();
    delta.undo();
    delta_s += watch.seconds();
    full.change(task, former);
  }
  const auto count = static_cast<double>(changes);
  std::printf(
      "%-42s %8zu %9.3g %9.3f %9.4f %7.1f %7.1f%%\n", one.name, delta.graph().size(),
      static_cast<double>(events) / full_s, 1e3 * full_s / count, 1e3 * delta_s / count,
      full_s / delta_s,
      100 * static_cast<double>(simulated) / (count * static_cast<double>(delta.graph().size())));
  std::fflush(stdout);
  return 0;
}

int run(std::int64_t changes) {
  std::printf("%-42s %8s %9s %9s %9s %7s %8s\n", "step on 64 devices", "tasks", "events/s",
              "full ms", "delta ms", "ratio", "repeated");
  Setup rows[] = {{"pp 8 x dp 8, 32 micro-batches", gpt(8, 8, 32), {}},
                  {"the same, launches recorded", gpt(8, 8, 32), {}},
                  {"the same, gradients overlapped", gpt(8, 8, 32), {}},
                  {"pp 4 x dp 16, 32 micro-batches", gpt(4, 16, 32), {}},
                  {"pp 64, 128 micro-batches", gpt(64, 1, 128), {}}};
  for (Setup& row : rows) row.options.each_replica = true;
  for (std::size_t i = 1; i < std::size(rows); ++i) rows[i].options.recorded_launches = true;
  rows[2].setup.overlap_gradients = rows[2].setup.overlap_transfers = true;
  for (const Setup& row : rows) {
    if (const int code = measure(row, changes); code != 0) return code;
  }
  return 0;
}

}  // namespace
}  // namespace egret::parallel

int main(int count, char** words) {
  return egret::parallel::run(count > 1 ? std::atoll(words[1]) : 1000);
}
