// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/chrome_trace.h"

#include <map>

#include "base/formats/json.h"

namespace egret::parallel {
namespace {

constexpr double kMicroseconds = 1e6;

base::Json event(const char* phase, std::size_t process, std::string_view name) {
  return base::Json::object()
      .set("ph", phase)
      .set("pid", static_cast<std::uint64_t>(process))
      .set("name", name);
}

base::Json title(const char* what, std::size_t process, std::uint32_t thread,
                 std::string_view name) {
  return event("M", process, what)
      .set("tid", static_cast<std::uint64_t>(thread))
      .set("args", base::Json::object().set("name", name));
}

std::string name_of(const StepTask& task) {
  std::string name(kStepPartNames[static_cast<std::size_t>(task.part)]);
  if (task.micro_batch >= 0) name += " " + std::to_string(task.micro_batch);
  return name;
}

// The bytes per second on each link, where they change.
std::vector<std::map<double, double>> rates_of_links(const EventSimulator& simulator) {
  std::vector<std::map<double, double>> steps(simulator.graph().links().size());
  const auto tasks = simulator.graph().tasks();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskSpan& span = simulator.timeline().spans[i];
    if (tasks[i].work.bytes <= 0) continue;
    for (std::size_t s = 0; s < span.segments.size(); ++s) {
      const double until = s + 1 < span.segments.size() ? span.segments[s + 1].since : span.end_s;
      for (const LinkId link : tasks[i].links) {
        steps[link.index()][span.segments[s].since] += span.segments[s].rate;
        steps[link.index()][until] -= span.segments[s].rate;
      }
    }
  }
  return steps;
}

}  // namespace

std::string chrome_trace(const StepSimulation& simulation, const StepReport& report) {
  const StepProgram& program = simulation.program();
  const EventSimulator& simulator = simulation.simulator();
  std::string text = "{\"traceEvents\": [\n";
  bool first = true;
  const auto write = [&](const base::Json& one) {
    text += (first ? "" : ",\n") + one.dump();
    first = false;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> named;
  for (std::size_t device = 0; device < program.devices.size(); ++device) {
    const StepDevice& one = program.devices[device];
    write(title(
        "process_name", device, 0,
        "replica " + std::to_string(one.replica) + ", pipeline rank " + std::to_string(one.rank)));
  }
  for (std::size_t i = 0; i < program.tasks.size(); ++i) {
    const SimulatedTask& task = simulator.graph().tasks()[i];
    const TaskSpan& span = simulator.timeline().spans[i];
    if (span.end_s <= span.start_s) continue;
    if (!named[{task.device, task.stream}]) {
      named[{task.device, task.stream}] = true;
      write(
          title("thread_name", task.device, task.stream,
                kStepStreamNames[std::min<std::size_t>(task.stream, kStepStreamNames.size() - 1)]));
    }
    base::Json arguments =
        base::Json::object().set("stage", static_cast<std::int64_t>(program.tasks[i].stage));
    if (task.work.bytes > 0) arguments.set("bytes", task.work.bytes);
    write(event("X", task.device, name_of(program.tasks[i]))
              .set("tid", static_cast<std::uint64_t>(task.stream))
              .set("cat", kStepPartNames[static_cast<std::size_t>(program.tasks[i].part)])
              .set("ts", span.start_s * kMicroseconds)
              .set("dur", (span.end_s - span.start_s) * kMicroseconds)
              .set("args", std::move(arguments)));
  }
  for (std::size_t device = 0; device < report.devices.size(); ++device) {
    for (const MemorySample& sample : report.devices[device].memory) {
      write(event("C", device, "memory")
                .set("ts", sample.time_s * kMicroseconds)
                .set("args", base::Json::object().set("bytes", sample.bytes)));
    }
  }
  const std::size_t links = program.devices.size();
  write(title("process_name", links, 0, "links"));
  const auto rates = rates_of_links(simulator);
  for (std::size_t link = 0; link < rates.size(); ++link) {
    double rate = 0;
    for (const auto& [time, step] : rates[link]) {
      rate += step;
      write(event("C", links, program.link_names[link])
                .set("ts", time * kMicroseconds)
                .set("args", base::Json::object().set("bytes_per_second", std::max(0.0, rate))));
    }
  }
  return text + "\n]}\n";
}

}  // namespace egret::parallel
