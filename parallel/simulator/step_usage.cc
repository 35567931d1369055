// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/step_usage.h"

#include <algorithm>
#include <numeric>

namespace egret::parallel {
namespace {

// The first that applies counts.
enum class Activity : unsigned char { kComputes, kHost, kCommunicates };

struct Edge {
  double time;
  Activity activity;
  int step;  // +1 at its start, -1 at its end
};

class DeviceUsage {
 public:
  void add(Activity activity, double from, double until) {
    if (until <= from) return;
    edges_.push_back({from, activity, 1});
    edges_.push_back({until, activity, -1});
  }

  // Seconds from 0 to END by the first activity that applies; the last entry is without any.
  std::array<double, 4> seconds(double end) {
    std::sort(edges_.begin(), edges_.end(),
              [](const Edge& a, const Edge& b) { return a.time < b.time; });
    std::array<double, 4> result{};
    std::array<int, 3> active{};
    double since = 0;
    const auto count_until = [&](double time) {
      const auto first = std::find_if(active.begin(), active.end(), [](int n) { return n > 0; });
      result[static_cast<std::size_t>(first - active.begin())] += time - since;
      since = time;
    };
    for (const Edge& edge : edges_) {
      count_until(edge.time);
      active[static_cast<std::size_t>(edge.activity)] += edge.step;
    }
    count_until(end);
    return result;
  }

 private:
  std::vector<Edge> edges_;
};

void measure_time(const StepProgram& program, const EventSimulator& simulator,
                  std::vector<DeviceReport>& reports) {
  std::vector<DeviceUsage> usages(reports.size());
  std::vector<double> computed_until(reports.size(), 0), in_passes(reports.size(), 0),
      in_optimizer(reports.size(), 0), simulated(reports.size(), 0);
  for (std::size_t i = 0; i < program.tasks.size(); ++i) {
    const SimulatedTask& task = simulator.graph().tasks()[i];
    const StepTask& what = program.tasks[i];
    const TaskSpan& span = simulator.timeline().spans[i];
    const std::uint32_t device = task.device;
    const auto devices = static_cast<std::uint32_t>(reports.size());
    const std::uint32_t first = what.everywhere ? 0 : device;
    const std::uint32_t end = what.everywhere ? devices : device + 1;
    for (std::uint32_t d = first; d < end; ++d)
      reports[d].part_s[static_cast<std::size_t>(what.part)] += span.end_s - span.start_s;
    if (what.everywhere) {
      const bool communicates = task.effect == TaskEffect::kCommunicates;
      for (DeviceUsage& usage : usages) {
        usage.add(communicates ? Activity::kCommunicates : Activity::kHost, span.start_s,
                  span.end_s);
      }
    } else if (task.effect == TaskEffect::kComputes) {
      usages[device].add(Activity::kComputes, span.start_s, span.end_s);
      computed_until[device] = span.end_s;
      simulated[device] += span.end_s - span.start_s;
      (what.part == StepPart::kOptimizer ? in_optimizer : in_passes)[device] += task.work.seconds;
    } else if (task.effect == TaskEffect::kCommunicates) {
      usages[device].add(Activity::kCommunicates, span.start_s, span.end_s);
      if (what.receiver >= 0) {
        usages[static_cast<std::size_t>(what.receiver)].add(Activity::kCommunicates, span.start_s,
                                                            span.end_s);
      }
    } else if (what.part == StepPart::kHost && what.stage < 0) {
      usages[device].add(Activity::kHost, span.start_s, span.end_s);
    } else if (task.stream == static_cast<std::uint32_t>(StepStream::kCompute)) {
      // The end of a pass that its launches delay.
      usages[device].add(Activity::kHost, computed_until[device], span.start_s);
    }
  }
  for (std::size_t device = 0; device < reports.size(); ++device) {
    const auto seconds = usages[device].seconds(simulator.timeline().end_s);
    SecondsByUse& uses = reports[device].seconds;
    const auto at = [&](TimeUse use) -> double& { return uses[static_cast<std::size_t>(use)]; };
    // Passes may take another time than their kernels' sum: random, or changed.
    const auto& kernels = program.devices[device].kernel_s;
    const double sum = std::accumulate(kernels.begin(), kernels.end(), 0.0);
    const double scale = sum > 0 ? in_passes[device] / sum : 0;
    at(TimeUse::kProducts) = kernels[0] * scale;
    at(TimeUse::kMemoryBound) = kernels[1] * scale + in_optimizer[device];
    at(TimeUse::kTensorExchange) = kernels[2] * scale;
    at(TimeUse::kExpertExchange) = kernels[3] * scale;
    at(TimeUse::kSlowdown) =
        std::max(0.0, simulated[device] - in_passes[device] - in_optimizer[device]);
    at(TimeUse::kHost) = seconds[1];
    at(TimeUse::kExposed) = seconds[2];
    at(TimeUse::kBubble) = seconds[3];
  }
}

struct TimedChange {
  double time;
  const MemoryChange* change;
};

std::vector<TimedChange> in_time(const std::vector<MemoryChange>& all, const Timeline& timeline) {
  std::vector<TimedChange> changes;
  for (const MemoryChange& change : all) {
    const TaskSpan& span = timeline.spans[change.task.index()];
    changes.push_back({change.at_start ? span.start_s : span.end_s, &change});
  }
  // What is released at a time serves what begins then.
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return a.time != b.time ? a.time < b.time : a.change->bytes < 0 && b.change->bytes >= 0;
  });
  return changes;
}

void measure_host_memory(const StepDevice& device, const Timeline& timeline, DeviceReport& report) {
  double now = report.host_peak_bytes = device.fixed_host_bytes;
  for (const TimedChange& change : in_time(device.host_memory, timeline)) {
    now += change.change->bytes;
    report.host_peak_bytes = std::max(report.host_peak_bytes, now);
  }
}

void measure_memory(const StepDevice& device, const Timeline& timeline, double fragmentation,
                    DeviceReport& report) {
  MemoryByKind now = device.fixed_bytes;
  const auto at = [&](MemoryKind kind) -> double& { return now[static_cast<std::size_t>(kind)]; };
  const auto observe = [&](double time) {
    at(MemoryKind::kFragmentation) =
        fragmentation * std::max(0.0, at(MemoryKind::kActivations) + at(MemoryKind::kWorkspace));
    const double total = std::accumulate(now.begin(), now.end(), 0.0);
    report.memory.push_back({time, total});
    if (total <= report.peak_total_bytes) return;
    report.peak_total_bytes = total;
    report.peak_bytes = now;
    report.peak_time_s = time;
  };
  observe(0);
  for (const TimedChange& change : in_time(device.memory, timeline)) {
    at(change.change->kind) += change.change->bytes;
    observe(change.time);
  }
}

}  // namespace

std::vector<DeviceReport> device_reports(const StepProgram& program,
                                         const EventSimulator& simulator, double fragmentation) {
  std::vector<DeviceReport> reports(program.devices.size());
  measure_time(program, simulator, reports);
  for (std::size_t device = 0; device < reports.size(); ++device) {
    measure_memory(program.devices[device], simulator.timeline(), fragmentation, reports[device]);
    measure_host_memory(program.devices[device], simulator.timeline(), reports[device]);
  }
  return reports;
}

}  // namespace egret::parallel
