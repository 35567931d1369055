// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/chrome_trace.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

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

// What a trace calls things.
struct TraceNames {
  std::vector<std::string> devices, streams, links;
  std::function<std::string(std::size_t task)> task;
  std::function<std::string_view(std::size_t task)> category;
  std::function<bool(std::size_t task)> is_everywhere;  // on all devices; null: none is
};

class TraceWriter {
 public:
  void write(const base::Json& event) {
    text_ += (text_.empty() ? "{\"traceEvents\": [\n" : ",\n") + event.dump();
  }
  std::string finish() { return std::move(text_) + "\n]}\n"; }

  void tasks(const EventSimulator& simulator, const TraceNames& names) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> lanes;
    for (std::size_t device = 0; device < names.devices.size(); ++device)
      write(title("process_name", device, 0, names.devices[device]));
    for (std::size_t i = 0; i < simulator.graph().size(); ++i) {
      const SimulatedTask& task = simulator.graph().tasks()[i];
      const TaskSpan& span = simulator.timeline().spans[i];
      if (span.end_s <= span.start_s) continue;
      const bool everywhere = names.is_everywhere && names.is_everywhere(i);
      const auto end = static_cast<std::uint32_t>(names.devices.size());
      for (std::uint32_t device = everywhere ? 0 : task.device;
           device < (everywhere ? end : task.device + 1); ++device) {
        if (lanes.emplace(device, task.stream).second)
          write(title("thread_name", device, task.stream, names.streams[task.stream]));
        base::Json one = event("X", device, names.task(i));
        one.set("tid", static_cast<std::uint64_t>(task.stream))
            .set("cat", names.category(i))
            .set("ts", span.start_s * kMicroseconds)
            .set("dur", (span.end_s - span.start_s) * kMicroseconds);
        if (task.work.bytes > 0)
          one.set("args", base::Json::object().set("bytes", task.work.bytes));
        write(one);
      }
    }
  }

  void counter(std::size_t process, std::string_view name, double time, const char* unit,
               double value) {
    write(event("C", process, name)
              .set("ts", time * kMicroseconds)
              .set("args", base::Json::object().set(unit, value)));
  }

  void links(const EventSimulator& simulator, const TraceNames& names) {
    const std::size_t process = names.devices.size();
    write(title("process_name", process, 0, "links"));
    const auto rates = rates_of_links(simulator);
    for (std::size_t link = 0; link < rates.size(); ++link) {
      double rate = 0;
      for (const auto& [time, step] : rates[link]) {
        rate += step;
        counter(process, names.links[link], time, "bytes_per_second", std::max(0.0, rate));
      }
    }
  }

 private:
  std::string text_;
};

}  // namespace

std::string chrome_trace(const StepSimulation& simulation, const StepReport& report) {
  const StepProgram& program = simulation.program();
  TraceNames names;
  for (const StepDevice& device : program.devices) {
    names.devices.push_back("replica " + std::to_string(device.replica) + ", pipeline rank " +
                            std::to_string(device.rank));
  }
  names.streams.assign(kStepStreamNames.begin(), kStepStreamNames.end());
  names.links = program.link_names;
  names.category = [&](std::size_t task) {
    return kStepPartNames[static_cast<std::size_t>(program.tasks[task].part)];
  };
  names.is_everywhere = [&](std::size_t task) { return program.tasks[task].everywhere; };
  names.task = [&](std::size_t task) {
    std::string name(names.category(task));
    const StepTask& what = program.tasks[task];
    if (what.micro_batch >= 0) name += " " + std::to_string(what.micro_batch);
    if (what.stage >= 0) name += " of stage " + std::to_string(what.stage);
    return name;
  };
  TraceWriter writer;
  writer.tasks(simulation.simulator(), names);
  for (std::size_t device = 0; device < report.devices.size(); ++device) {
    for (const MemorySample& sample : report.devices[device].memory)
      writer.counter(device, "memory", sample.time_s, "bytes", sample.bytes);
  }
  writer.links(simulation.simulator(), names);
  return writer.finish();
}

std::string chrome_trace(const EventSimulator& simulator, const TraceLabels& labels) {
  TraceNames names;
  names.devices = {labels.device};
  names.streams = labels.streams;
  names.links = labels.links;
  names.task = [&](std::size_t task) { return labels.tasks[task]; };
  names.category = [&](std::size_t task) {
    return simulator.graph().tasks()[task].work.bytes > 0 ? "communication" : "computation";
  };
  TraceWriter writer;
  writer.tasks(simulator, names);
  writer.links(simulator, names);
  return writer.finish();
}

std::string chrome_trace(const PlanSimulation& simulation) {
  TraceNames names;
  names.devices = {"each rank"};
  names.streams = simulation.stream_names;
  names.links = simulation.link_names;
  names.task = [&](std::size_t task) { return simulation.tasks[task].name; };
  names.category = [&](std::size_t task) {
    return simulation.tasks[task].communicates ? "communication" : "computation";
  };
  TraceWriter writer;
  writer.tasks(simulation.simulator, names);
  writer.links(simulation.simulator, names);
  return writer.finish();
}

}  // namespace egret::parallel
