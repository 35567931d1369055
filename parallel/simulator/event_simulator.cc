// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/event_simulator.h"

#include <algorithm>
#include <map>
#include <queue>

#include "base/check.h"

namespace egret::parallel {
namespace {

enum class Phase : unsigned char { kWaiting, kWorking, kSending, kTail, kEnded };

struct TaskState {
  std::size_t missing = 1;  // dependencies, the task before it on its stream, and the host
  Phase phase = Phase::kWaiting;
  double host_start = 0;
  double left = 0;  // seconds of work, or bytes
  double rate = 1;
  double since = 0;           // when `left` held
  std::uint32_t version = 0;  // events of earlier versions are void
};

struct Event {
  double time;
  std::uint64_t order;  // of creation, for equal times
  TaskId task;
  std::uint32_t version;
  bool start;

  bool operator>(const Event& other) const {
    return time != other.time ? time > other.time : order > other.order;
  }
};

struct DeviceState {
  std::vector<TaskId> program;
  std::size_t next = 0;
  double host_free = 0;
  std::vector<TaskId> computing;   // tasks in Phase::kWorking that compute
  std::int64_t communicating = 0;  // started tasks of other kinds
};

class Run {
 public:
  Run(const std::vector<SimulatedTask>& tasks, const std::vector<double>& links, double slowdown)
      : tasks_(tasks),
        links_(links),
        slowdown_(slowdown),
        states_(tasks.size()),
        followers_(tasks.size()) {
    timeline_.spans.resize(tasks.size());
    std::map<std::pair<std::size_t, std::size_t>, TaskId> last;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const SimulatedTask& task = tasks[i];
      if (task.device >= devices_.size()) devices_.resize(task.device + 1);
      devices_[task.device].program.emplace_back(i);
      for (const TaskId before : task.after) wait_for(TaskId(i), before);
      TaskId& before = last[{task.device, task.stream}];
      if (before.valid()) wait_for(TaskId(i), before);
      before = TaskId(i);
    }
  }

  base::Result<Timeline> run() {
    for (std::size_t device = 0; device < devices_.size(); ++device) issue(device, 0);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      TaskState& state = states_[event.task.index()];
      if (event.version != state.version) continue;
      ++timeline_.events;
      if (event.start) {
        begin(event.task, event.time);
      } else {
        advance(event.task, event.time);
      }
    }
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i].phase != Phase::kEnded)
        return base::internal_error("simulated tasks wait for each other: " + tasks_[i].name);
    }
    return std::move(timeline_);
  }

 private:
  void wait_for(TaskId task, TaskId before) {
    EGRET_CHECK(before.index() < tasks_.size(), "a dependency names no task");
    ++states_[task.index()].missing;
    followers_[before.index()].push_back(task);
  }

  void push(double time, TaskId task, bool start) {
    events_.push({time, order_++, task, states_[task.index()].version, start});
  }

  // The host goes on until it has to wait.
  void issue(std::size_t device, double now) {
    DeviceState& state = devices_[device];
    while (state.next < state.program.size()) {
      const TaskId id = state.program[state.next++];
      const SimulatedTask& task = tasks_[id.index()];
      states_[id.index()].host_start = state.host_free;
      state.host_free += task.host_s;
      satisfy(id, now);
      if (task.host_waits) return;
    }
  }

  void satisfy(TaskId id, double now) {
    TaskState& state = states_[id.index()];
    if (--state.missing == 0) push(std::max(now, state.host_start), id, true);
  }

  void begin(TaskId id, double now) {
    const SimulatedTask& task = tasks_[id.index()];
    TaskState& state = states_[id.index()];
    timeline_.spans[id.index()].start_s = now;
    state.phase = Phase::kWorking;
    state.left = task.seconds;
    state.since = now;
    DeviceState& device = devices_[task.device];
    if (task.computes) {
      state.rate = device.communicating > 0 ? 1 / (1 + slowdown_) : 1;
      device.computing.push_back(id);
    } else {
      ++device.communicating;
      set_compute_rates(device, now);
    }
    reschedule(id, now);
  }

  void advance(TaskId id, double now) {
    const SimulatedTask& task = tasks_[id.index()];
    TaskState& state = states_[id.index()];
    if (state.phase == Phase::kWorking) {
      if (task.computes) std::erase(devices_[task.device].computing, id);
      if (task.bytes > 0) {
        state.phase = Phase::kSending;
        state.left = task.bytes;
        state.since = now;
        ++state.version;
        flows_.push_back(id);
        set_flow_rates(now);
        return;
      }
      state.phase = Phase::kTail;
    } else if (state.phase == Phase::kSending) {
      state.phase = Phase::kTail;
      std::erase(flows_, id);
      set_flow_rates(now);
    } else {
      end(id, now);
      return;
    }
    const double least = state.host_start + task.tail_s;
    if (least > now) {
      push(least, id, false);
    } else {
      end(id, now);
    }
  }

  void end(TaskId id, double now) {
    const SimulatedTask& task = tasks_[id.index()];
    states_[id.index()].phase = Phase::kEnded;
    timeline_.spans[id.index()].end_s = now;
    timeline_.end_s = std::max(timeline_.end_s, now);
    DeviceState& device = devices_[task.device];
    if (!task.computes) {
      --device.communicating;
      set_compute_rates(device, now);
    }
    if (task.host_waits) {
      device.host_free = std::max(device.host_free, now);
      issue(task.device, now);
    }
    for (const TaskId follower : followers_[id.index()]) satisfy(follower, now);
  }

  // A new end for a task whose rate changed.
  void reschedule(TaskId id, double now) {
    TaskState& state = states_[id.index()];
    ++state.version;
    push(now + state.left / state.rate, id, false);
  }

  void set_rate(TaskId id, double rate, double now) {
    TaskState& state = states_[id.index()];
    if (rate == state.rate && state.version > 0 && state.since < now) return;
    state.left = std::max(0.0, state.left - (now - state.since) * state.rate);
    state.since = now;
    state.rate = rate;
    reschedule(id, now);
  }

  void set_compute_rates(const DeviceState& device, double now) {
    if (slowdown_ == 0) return;
    const double rate = device.communicating > 0 ? 1 / (1 + slowdown_) : 1;
    for (const TaskId id : device.computing) {
      if (states_[id.index()].rate != rate) set_rate(id, rate, now);
    }
  }

  void set_flow_rates(double now) {
    std::vector<FairFlow> flows;
    flows.reserve(flows_.size());
    for (const TaskId id : flows_)
      flows.push_back({&tasks_[id.index()].links, tasks_[id.index()].most_bytes_per_second});
    const std::vector<double> rates = max_min_rates(links_, flows);
    for (std::size_t i = 0; i < flows_.size(); ++i) set_rate(flows_[i], rates[i], now);
  }

  const std::vector<SimulatedTask>& tasks_;
  const std::vector<double>& links_;
  double slowdown_;
  std::vector<TaskState> states_;
  std::vector<std::vector<TaskId>> followers_;
  std::vector<DeviceState> devices_;
  std::vector<TaskId> flows_;  // in Phase::kSending
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  Timeline timeline_;
};

}  // namespace

LinkId EventSimulator::add_link(double bytes_per_second) {
  links_.push_back(bytes_per_second);
  return LinkId(links_.size() - 1);
}

TaskId EventSimulator::add(SimulatedTask task) {
  tasks_.push_back(std::move(task));
  return TaskId(tasks_.size() - 1);
}

void EventSimulator::add_dependency(TaskId task, TaskId on) {
  tasks_[task.index()].after.push_back(on);
}

base::Result<Timeline> EventSimulator::run() const { return Run(tasks_, links_, slowdown_).run(); }

}  // namespace egret::parallel
