// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/event_simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/stop.h"
#include "parallel/simulator/simulation_state.h"

namespace egret::parallel {
namespace {

constexpr std::int64_t kEventsBetweenPolls = 4096;

// Rated work takes time, so that rates set at one time cause no events at that time.
double end_of(double since, double left, double rate) {
  const double end = since + left / rate;
  return end > since ? end : std::nextafter(since, std::numeric_limits<double>::infinity());
}

}  // namespace

EventSimulator::State::State(TaskGraph the_graph, TaskGraphIndex the_index, double slowdown)
    : graph(std::move(the_graph)),
      index(std::move(the_index)),
      slowdown_(slowdown),
      rates_(graph.links()),
      tasks_(graph.size()),
      lane_(graph.size(), -1),
      lane_ends_(index.last_of_lane.size(), 0),
      links_(graph.links().size()),
      devices_(index.computing_lanes.size()) {
  timeline.spans.resize(graph.size());
  for (std::size_t lane = 0; lane < index.last_of_lane.size(); ++lane)
    lane_[index.last_of_lane[lane]] = static_cast<std::int32_t>(lane);
  for (std::size_t l = 0; l < links_.size(); ++l)
    links_[l].lanes.resize(index.link_lanes[l].size());
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    devices_[d].computing_lanes.resize(index.computing_lanes[d].size());
    devices_[d].communicating_lanes.resize(index.communicating_lanes[d].size());
  }
}

bool EventSimulator::State::has_rate(std::uint32_t i) const {
  const SimulatedTask& one = task(i);
  return slowdown_ > 0 && one.effect == TaskEffect::kComputes && one.work.seconds > 0 &&
         !index.communicating_lanes[one.device].empty();
}

EventSimulator::State::LinkState& EventSimulator::State::link(std::uint32_t i) {
  LinkState& state = links_[i];
  if (state.run != run_) {
    state.run = run_;
    state.former = 0;
    state.active.clear();
    state.next_kept = std::numeric_limits<double>::infinity();
    state.next_event = -1;
  }
  return state;
}

EventSimulator::State::DeviceState& EventSimulator::State::device(std::uint32_t i) {
  DeviceState& state = devices_[i];
  if (state.run != run_) {
    state.run = run_;
    state.former = state.communicating = 0;
    state.until = 0;
    state.computing.clear();
    state.next_event = -1;
  }
  return state;
}

void EventSimulator::State::begin_run() {
  ++run_;
  events_ = 0;
  may_undo_ = false;
  queue_.clear();
  simulated.clear();
  touched_links_.clear();
  touched_devices_.clear();
}

base::Status EventSimulator::State::run() {
  begin_run();
  full_ = true;
  changes_.clear();
  for (const std::uint32_t i : index.sorted) {
    TaskState& state = tasks_[i];
    state.run = run_;
    state.phase = Phase::kWaiting;
    state.missing = static_cast<std::uint32_t>(index.before[i].size());
    state.span.segments.clear();
    ++state.version;
    simulated.push_back(i);
  }
  for (const std::uint32_t i : index.sorted) {
    if (index.before[i].empty()) begin(i, 0);
  }
  EGRET_RETURN_IF_ERROR(loop());
  keep_results();
  return base::ok();
}

void EventSimulator::State::change(TaskId id, const TaskWork& work) {
  TaskWork& present = graph.task(id).work;
  EGRET_CHECK((work.bytes > 0) == (present.bytes > 0), "a change makes or removes a flow");
  if (present == work) return;
  changes_.emplace_back(id.index(), present);
  present = work;
}

base::Status EventSimulator::State::update() {
  begin_run();
  full_ = false;
  for (const auto& [i, former] : changes_) push(timeline.spans[i].start_s, EventKind::kChanged, i);
  undoable_ = std::move(changes_);
  changes_.clear();
  EGRET_RETURN_IF_ERROR(loop());
  keep_results();
  may_undo_ = true;
  return base::ok();
}

void EventSimulator::State::undo() {
  EGRET_CHECK(may_undo_, "no update() to take back");
  may_undo_ = false;
  keep_results();  // swaps
  for (auto change = undoable_.rbegin(); change != undoable_.rend(); ++change)
    graph.task(TaskId(change->first)).work = change->second;
}

void EventSimulator::State::keep_results() {
  for (const std::uint32_t i : simulated) {
    std::swap(timeline.spans[i], tasks_[i].span);
    if (lane_[i] >= 0) lane_ends_[static_cast<std::size_t>(lane_[i])] = timeline.spans[i].end_s;
  }
  timeline.end_s = 0;
  for (const double end : lane_ends_) timeline.end_s = std::max(timeline.end_s, end);
  timeline.events = events_;
}

base::Status EventSimulator::State::loop() {
  double now = 0;
  while (true) {
    if (queue_.empty() || queue_.next_time() > now) {
      settle(now);
      if (queue_.empty()) break;
      now = queue_.next_time();
    }
    const SimulatedEvent event = queue_.pop();
    if (++events_ % kEventsBetweenPolls == 0 && base::stop_requested())
      return base::limit_hit("interrupted; the simulation is incomplete");
    handle(event);
  }
  for (const std::uint32_t i : simulated)
    EGRET_CHECK(tasks_[i].phase == Phase::kEnded, "a simulated task did not end");
  return base::ok();
}

void EventSimulator::State::handle(const SimulatedEvent& event) {
  const std::uint32_t i = event.subject;
  switch (event.kind) {
    case EventKind::kChanged:
      if (!is_simulated(i)) simulate_anew(i, event.time);
      return;
    case EventKind::kStart: return check_start(i, event.time);
    case EventKind::kKeptEnd: return kept_end(i, event.time);
    case EventKind::kProceed:
      if (event.version == tasks_[i].version) proceed(i, event.time);
      return;
    case EventKind::kFormerEnd: return former_end(i, event.time);
    case EventKind::kFormerSend:
      tasks_[i].was_on_links = true;
      for (const LinkId l : task(i).links) {
        ++link(l.index()).former;
        touch_link(l.index());
      }
      return;
    case EventKind::kFormerStart:
      tasks_[i].was_on_device = true;
      ++device(task(i).device).former;
      return touch_device(task(i).device);
    case EventKind::kLink: return touch_link(i);
    case EventKind::kDevice: return touch_device(i);
  }
}

void EventSimulator::State::push(double time, EventKind kind, std::uint32_t i) {
  queue_.push({time, index.order[i], kind, i, tasks_[i].version});
}

void EventSimulator::State::satisfy(std::uint32_t i, double now) {
  if (--tasks_[i].missing == 0) begin(i, now);
}

void EventSimulator::State::begin(std::uint32_t i, double now) {
  TaskState& state = tasks_[i];
  state.span.start_s = now;
  if (task(i).effect == TaskEffect::kCommunicates && slowdown_ > 0) {
    DeviceState& on = device(task(i).device);
    ++on.communicating;
    on.until = std::max(on.until, now + task(i).work.seconds);  // of a flow: set_rate() knows more
    touch_device(task(i).device);
  }
  if (has_rate(i)) {
    state.phase = Phase::kComputing;
    state.left = task(i).work.seconds;
    enter(i, now);
    return;
  }
  state.phase = Phase::kLatency;
  push(now + task(i).work.seconds, EventKind::kProceed, i);
}

void EventSimulator::State::proceed(std::uint32_t i, double now) {
  TaskState& state = tasks_[i];
  if (state.phase != Phase::kLatency || !has_flow(i)) return end(i, now);
  state.phase = Phase::kSending;
  state.span.send_s = now;
  state.left = task(i).work.bytes;
  enter(i, now);
}

void EventSimulator::State::enter(std::uint32_t i, double now) {
  TaskState& state = tasks_[i];
  state.since = now;
  state.rate = 0;
  if (state.phase == Phase::kComputing) {
    device(task(i).device).computing.push_back(i);
    return touch_device(task(i).device);
  }
  for (const LinkId l : task(i).links) {
    link(l.index()).active.push_back(i);
    touch_link(l.index());
  }
  if (task(i).links.empty()) {
    const double limit = task(i).work.most_bytes_per_second;
    set_rate(i, limit > 0 ? limit : std::numeric_limits<double>::infinity(), now);
  }
}

void EventSimulator::State::leave(std::uint32_t i) {
  if (tasks_[i].phase == Phase::kComputing) std::erase(device(task(i).device).computing, i);
  if (tasks_[i].phase != Phase::kSending) return;
  for (const LinkId l : task(i).links) {
    std::erase(link(l.index()).active, i);
    touch_link(l.index());
  }
}

void EventSimulator::State::set_rate(std::uint32_t i, double rate, double now) {
  TaskState& state = tasks_[i];
  if (rate == state.rate) return;
  state.left = std::max(0.0, state.left - (now - state.since) * state.rate);
  state.since = now;
  state.rate = rate;
  state.span.segments.push_back({now, state.left, rate});
  ++state.version;
  await_end(i);
  if (!full_ && state.late) watch_followers(i, now);
}

void EventSimulator::State::await_end(std::uint32_t i) {
  const TaskState& state = tasks_[i];
  const double end = end_of(state.since, state.left, state.rate);
  push(end, EventKind::kProceed, i);
  if (full_ || slowdown_ == 0 || state.phase != Phase::kSending ||
      task(i).effect != TaskEffect::kCommunicates)
    return;
  DeviceState& on = device(task(i).device);
  if (end <= on.until) return;
  on.until = end;
  touch_device(task(i).device);
}

double EventSimulator::State::expected_end(std::uint32_t i) const {
  const TaskState& state = tasks_[i];
  if (state.phase == Phase::kLatency && !has_flow(i))
    return state.span.start_s + task(i).work.seconds;
  const bool has_pace = state.phase == Phase::kSending || state.phase == Phase::kComputing;
  return has_pace && state.rate > 0 ? end_of(state.since, state.left, state.rate)
                                    : std::numeric_limits<double>::infinity();
}

void EventSimulator::State::end(std::uint32_t i, double now) {
  TaskState& state = tasks_[i];
  leave(i);
  state.phase = Phase::kEnded;
  if (!has_flow(i)) state.span.send_s = now;
  state.span.end_s = now;
  if (task(i).effect == TaskEffect::kCommunicates && slowdown_ > 0) {
    DeviceState& on = device(task(i).device);
    --on.communicating;
    touch_device(task(i).device);
  }
  const double former = full_ ? 0 : timeline.spans[i].end_s;
  for (const std::uint32_t next : index.followers[i]) {
    if (is_simulated(next)) {
      satisfy(next, now);
    } else if (now < former && timeline.spans[next].start_s == former) {
      simulate_anew(next, now);
    }
  }
}

bool EventSimulator::State::ended(std::uint32_t i, double now) const {
  if (is_simulated(i)) return tasks_[i].phase == Phase::kEnded;
  if (timeline.spans[i].end_s < now) return true;
  return tasks_[i].watched == run_ && tasks_[i].passed;
}

void EventSimulator::State::simulate_anew(std::uint32_t i, double now) {
  TaskState& state = tasks_[i];
  state.run = run_;
  simulated.push_back(i);
  state.phase = Phase::kWaiting;
  state.span.segments.clear();
  ++state.version;
  follow_former(i, now);
  state.missing = 0;
  for (const std::uint32_t on : index.before[i]) {
    if (ended(on, now)) continue;
    ++state.missing;
    TaskState& other = tasks_[on];
    if (is_simulated(on) || other.watched == run_) continue;
    other.watched = run_;
    other.passed = false;
    push(timeline.spans[on].end_s, EventKind::kKeptEnd, on);
  }
  if (state.missing == 0) begin(i, now);
}

void EventSimulator::State::simulate_rest(std::uint32_t i, double now) {
  TaskState& state = tasks_[i];
  const TaskSpan& former = timeline.spans[i];
  state.run = run_;
  simulated.push_back(i);
  state.phase = task(i).effect == TaskEffect::kComputes ? Phase::kComputing : Phase::kSending;
  state.span.start_s = former.start_s;
  state.span.send_s = former.send_s;
  state.span.segments.clear();
  ++state.version;
  follow_former(i, now);
  if (task(i).effect == TaskEffect::kCommunicates && slowdown_ > 0) {
    DeviceState& on = device(task(i).device);
    ++on.communicating;
    touch_device(task(i).device);
  }
  const bool computes = state.phase == Phase::kComputing;
  state.left = computes ? task(i).work.seconds : task(i).work.bytes;
  enter(i, computes ? former.start_s : former.send_s);
  for (const RateSegment& segment : former.segments) {
    if (segment.since >= now) break;
    state.span.segments.push_back(segment);
    state.since = segment.since;
    state.left = segment.left;
    state.rate = segment.rate;
  }
  if (state.rate > 0) await_end(i);
}

bool EventSimulator::State::meets_kept(const std::vector<LaneTasks>& lanes,
                                       std::vector<LaneCursor>& cursors, bool sending, double now,
                                       double from, double until) const {
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    const std::vector<std::uint32_t>& tasks = lanes[k].tasks;
    if (timeline.spans[tasks.back()].end_s <= std::max(now, from)) continue;
    advance(lanes[k], cursors[k], sending, now);
    for (std::size_t at = std::max<std::size_t>(cursors[k].later, 1) - 1;
         at < tasks.size() && start_of(tasks[at], sending) < until; ++at) {
      if (!is_simulated(tasks[at]) && timeline.spans[tasks[at]].end_s > std::max(now, from))
        return true;
    }
  }
  return false;
}

// Its former activity makes links and its device differ, where a kept task would notice.
void EventSimulator::State::follow_former(std::uint32_t i, double now) {
  TaskState& state = tasks_[i];
  const TaskSpan& former = timeline.spans[i];
  state.was_on_links = state.was_on_device = state.late = false;
  push(former.end_s, EventKind::kFormerEnd, i);
  const auto from = [&](double start, EventKind kind) {
    if (start > now) {
      push(start, kind, i);
    } else {
      handle({now, 0, kind, i, 0});
    }
  };
  if (has_flow(i) && std::ranges::any_of(task(i).links, [&](LinkId l) {
        const std::vector<LaneTasks>& lanes = index.link_lanes[l.index()];
        return lanes.size() > 1 &&
               meets_kept(lanes, links_[l.index()].lanes, true, now, former.send_s, former.end_s);
      })) {
    from(former.send_s, EventKind::kFormerSend);
  }
  const std::uint32_t d = task(i).device;
  if (task(i).effect == TaskEffect::kCommunicates && slowdown_ > 0 &&
      meets_kept(index.computing_lanes[d], devices_[d].computing_lanes, false, now, former.start_s,
                 former.end_s)) {
    from(former.start_s, EventKind::kFormerStart);
  }
}

void EventSimulator::State::check_start(std::uint32_t i, double now) {
  if (is_simulated(i)) return;
  const auto differs = [&](std::uint32_t on) {
    return is_simulated(on) && tasks_[on].phase != Phase::kEnded;
  };
  const auto before = index.before[i];
  if (std::any_of(before.begin(), before.end(), differs)) simulate_anew(i, now);
}

void EventSimulator::State::kept_end(std::uint32_t i, double now) {
  if (is_simulated(i)) return;
  tasks_[i].passed = true;
  for (const std::uint32_t next : index.followers[i]) {
    if (is_simulated(next)) satisfy(next, now);
  }
}

void EventSimulator::State::former_end(std::uint32_t i, double now) {
  TaskState& state = tasks_[i];
  if (state.was_on_links) {
    for (const LinkId l : task(i).links) --link(l.index()).former;
  }
  if (state.was_on_device) --device(task(i).device).former;
  state.was_on_links = state.was_on_device = false;
  if (state.phase == Phase::kEnded) return;
  state.late = true;
  for (const std::uint32_t next : index.followers[i]) {
    // It cannot start without this task.
    if (!is_simulated(next) && timeline.spans[next].start_s == now) simulate_anew(next, now);
  }
  watch_followers(i, now);
}

void EventSimulator::State::watch_followers(std::uint32_t i, double now) {
  const double end = expected_end(i);
  for (const std::uint32_t next : index.followers[i]) {
    const double start = timeline.spans[next].start_s;
    if (is_simulated(next) || tasks_[next].checked == run_ || start < now || end <= start) continue;
    tasks_[next].checked = run_;
    push(start, EventKind::kStart, next);
  }
}

EventSimulator::EventSimulator(std::unique_ptr<State> state) : state_(std::move(state)) {}
EventSimulator::EventSimulator(EventSimulator&&) noexcept = default;
EventSimulator& EventSimulator::operator=(EventSimulator&&) noexcept = default;
EventSimulator::~EventSimulator() = default;

base::Result<EventSimulator> EventSimulator::make(TaskGraph graph, double overlap_slowdown) {
  EGRET_ASSIGN_OR_RETURN(TaskGraphIndex index, TaskGraphIndex::make(graph));
  return EventSimulator(
      std::make_unique<State>(std::move(graph), std::move(index), overlap_slowdown));
}

const TaskGraph& EventSimulator::graph() const { return state_->graph; }
const TaskGraphIndex& EventSimulator::index() const { return state_->index; }
const Timeline& EventSimulator::timeline() const { return state_->timeline; }
base::Status EventSimulator::run() { return state_->run(); }
void EventSimulator::change(TaskId task, const TaskWork& work) { state_->change(task, work); }
base::Status EventSimulator::update() { return state_->update(); }
std::size_t EventSimulator::simulated_tasks() const { return state_->simulated.size(); }
void EventSimulator::undo() { state_->undo(); }

}  // namespace egret::parallel
