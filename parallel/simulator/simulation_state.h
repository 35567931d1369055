// SPDX-License-Identifier: Apache-2.0
// The state of one run of the event simulator. A run simulates tasks; in a delta run, all other
// tasks are "kept": up to the present time they behave as in the former timeline.
//
// Invariants at the end of each time:
// 1. A kept task that the former timeline starts by now has started at that time.
// 2. All flows on a link are simulated while the link differs: while a simulated flow is active on
//    it, or while one was in the former timeline. The same for computations on a device whose
//    communication differs, if overlap_slowdown is not 0.
#pragma once

#include <vector>

#include "parallel/simulator/event_queue.h"
#include "parallel/simulator/event_simulator.h"
#include "parallel/simulator/max_min_rates.h"

namespace egret::parallel {

class EventSimulator::State {
 public:
  State(TaskGraph graph, TaskGraphIndex index, double slowdown);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  base::Status run();
  void change(TaskId task, const TaskWork& work);
  base::Status update();
  void undo();

  TaskGraph graph;
  TaskGraphIndex index;
  Timeline timeline;
  std::vector<std::uint32_t> simulated;  // tasks of this run

 private:
  enum class Phase : unsigned char { kWaiting, kLatency, kSending, kComputing, kEnded };

  struct TaskState {
    std::uint32_t run = 0;      // in which the rest is valid, for a simulated task
    std::uint32_t checked = 0;  // the run in which a check of its start is due
    std::uint32_t watched = 0;  // the run in which its end as a kept task is due
    bool passed = false;        // ... and was reached
    Phase phase = Phase::kWaiting;
    bool was_on_links = false, was_on_device = false;  // its former activity counts at present
    bool late = false;                                 // it did not end when it did formerly
    std::uint32_t missing = 0;
    std::uint32_t version = 0;
    double left = 0, since = 0, rate = 0;
    TaskSpan span;  // outside of a run: the one before the last update
  };
  // A place in a LaneTasks. Time only goes forward within a run, and so does the place.
  struct LaneCursor {
    std::uint32_t run = 0;
    std::uint32_t later = 0;      // the first task that starts after the last time looked at
    std::uint32_t next_kept = 0;  // the first of these that is kept
  };
  struct LaneView {
    std::int64_t active = -1;  // the kept task that is active now, or -1
    double next_start;         // of the next kept task; infinite if there is none
  };
  struct LinkState {
    std::uint32_t run = 0, settled = 0, seen = 0;
    std::int32_t former = 0;            // simulated flows that were active on it
    std::vector<std::uint32_t> active;  // simulated flows
    std::vector<LaneCursor> lanes;
    double next_kept = 0;  // when a kept flow begins, as of the last settlement
    double next_event = 0;
  };
  struct DeviceState {
    std::uint32_t run = 0, settled = 0;
    std::int32_t former = 0;               // simulated tasks that communicated
    std::int32_t communicating = 0;        // simulated tasks
    double until = 0;                      // all of these end by then, as their rates are now
    std::vector<std::uint32_t> computing;  // simulated tasks whose rate may change
    std::vector<LaneCursor> computing_lanes, communicating_lanes;
    double next_event = 0;
  };

  const SimulatedTask& task(std::uint32_t i) const { return graph.tasks()[i]; }
  bool is_simulated(std::uint32_t i) const { return tasks_[i].run == run_; }
  bool has_flow(std::uint32_t i) const { return task(i).work.bytes > 0; }
  bool has_rate(std::uint32_t i) const;
  LinkState& link(std::uint32_t i);
  DeviceState& device(std::uint32_t i);

  base::Status loop();
  void handle(const SimulatedEvent& event);
  void push(double time, EventKind kind, std::uint32_t task);
  void begin_run();
  void keep_results();

  // The life of a simulated task.
  void begin(std::uint32_t i, double now);
  void proceed(std::uint32_t i, double now);
  void end(std::uint32_t i, double now);
  void satisfy(std::uint32_t i, double now);
  void set_rate(std::uint32_t i, double rate, double now);
  void await_end(std::uint32_t i);          // at the rate that it has
  void enter(std::uint32_t i, double now);  // its links or its device, with a rate to come
  void leave(std::uint32_t i);

  // From kept to simulated.
  void simulate_anew(std::uint32_t i, double now);  // before its start
  void simulate_rest(std::uint32_t i, double now);  // with a rate to change
  void follow_former(std::uint32_t i, double now);
  // Whether a kept task of these lanes is active at some time from the later of NOW and FROM on and
  // before UNTIL.
  bool meets_kept(const std::vector<LaneTasks>& lanes, std::vector<LaneCursor>& cursors,
                  bool sending, double now, double from, double until) const;
  void check_start(std::uint32_t i, double now);
  void kept_end(std::uint32_t i, double now);
  void former_end(std::uint32_t i, double now);
  // Checks are due at the starts of kept followers that the task, which is late, will not reach.
  void watch_followers(std::uint32_t i, double now);
  // As far as it is known by now: infinite before its rate is set.
  double expected_end(std::uint32_t i) const;
  bool ended(std::uint32_t i, double now) const;

  // The end of a time: rates on all links and devices that something touched.
  void settle(double now);
  void settle_flows(double now);
  // A kept flow that begins before the simulated ones end will not be kept.
  void await_kept(std::uint32_t l, double now);
  void settle_device(std::uint32_t d, double now);
  void touch_link(std::uint32_t l);
  void touch_device(std::uint32_t d);
  void advance(const LaneTasks& lane, LaneCursor& cursor, bool sending, double now) const;
  LaneView look_at(const LaneTasks& lane, LaneCursor& cursor, bool sending, double now) const;
  double start_of(std::uint32_t i, bool sending) const {
    return sending ? timeline.spans[i].send_s : timeline.spans[i].start_s;
  }

  double slowdown_;
  bool full_ = true;
  std::uint32_t run_ = 0;
  std::uint32_t settlement_ = 0;
  std::int64_t events_ = 0;
  EventQueue queue_;
  MaxMinRates rates_;
  std::vector<TaskState> tasks_;
  std::vector<std::int32_t> lane_;  // by task: the lane that it is the last of, or -1
  std::vector<double> lane_ends_;   // beside each other, since each update looks at all
  std::vector<LinkState> links_;
  std::vector<DeviceState> devices_;
  std::vector<std::uint32_t> touched_links_, touched_devices_;
  std::vector<std::uint32_t> component_, component_links_;
  std::vector<FairFlow> flows_;
  std::vector<std::pair<std::uint32_t, TaskWork>> changes_, undoable_;  // with the former work
  bool may_undo_ = false;
};

}  // namespace egret::parallel
