// SPDX-License-Identifier: Apache-2.0
// Discrete events over a task graph: the spans of all tasks, in full or after a local change.
//
// All events of one time are handled before the rates of flows and computations at that time are
// set, in a topological order of the tasks. So the result is independent of the order of events of
// equal times, and a delta run computes the same numbers as a full one, bit for bit.
//
// Monotonicity. Where no two tasks on different lanes share a link, and overlap_slowdown is 0,
// each end is a maximum of sums of durations, and no faster link or shorter task makes any task end
// later. With shared links or a slowdown, this does not hold for any fair simulator: a task that
// ends earlier can start a flow that takes bandwidth from a more urgent one.
//
// Invariants of a timeline: tasks of one lane do not overlap; no link carries more than its rate; a
// task starts when the last task that it waits for ends.
#pragma once

#include <memory>
#include <vector>

#include "parallel/simulator/task_graph.h"

namespace egret::parallel {

// A flow, or a computation beside communication: from `since`, `left` (bytes or seconds) go at
// `rate` until the next segment, or the end.
struct RateSegment {
  double since, left, rate;

  friend bool operator==(const RateSegment&, const RateSegment&) = default;
};

struct TaskSpan {
  double start_s = 0;
  double send_s = 0;  // the start of the flow; end_s without one
  double end_s = 0;
  std::vector<RateSegment> segments;  // empty for tasks at a constant rate

  friend bool operator==(const TaskSpan&, const TaskSpan&) = default;
};

struct Timeline {
  std::vector<TaskSpan> spans;  // by task
  double end_s = 0;
  std::int64_t events = 0;  // of the run that made it
};

class EventSimulator {
 public:
  // Errors: internal, where tasks wait for each other.
  static base::Result<EventSimulator> make(TaskGraph graph, double overlap_slowdown = 0);
  EventSimulator(EventSimulator&&) noexcept;
  EventSimulator& operator=(EventSimulator&&) noexcept;
  ~EventSimulator();

  const TaskGraph& graph() const;
  const TaskGraphIndex& index() const;
  const Timeline& timeline() const;  // of the last run

  // Simulates everything. O((tasks + dependencies) log tasks + starts and ends of flows x flows
  // that share links with them). Errors: limit, on base::stop_requested().
  base::Status run();

  // The next update() takes this into account. WORK has a flow if and only if the old one has.
  void change(TaskId task, const TaskWork& work);
  // After run(): simulates what the changes since the last run affect. A task is simulated again if
  // its start differs, or if it shares a link or a device with one whose activity differs, from the
  // time of the difference on. Errors: limit, on base::stop_requested(); then run() is due.
  base::Status update();
  // Tasks that the last run simulated.
  std::size_t simulated_tasks() const;
  // Takes the last update() and its changes back. At most once after each.
  void undo();

 private:
  class State;
  explicit EventSimulator(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace egret::parallel
