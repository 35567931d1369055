// SPDX-License-Identifier: Apache-2.0
// The rates of flows and computations, set once at the end of each time.
#include <algorithm>
#include <limits>

#include "parallel/simulator/simulation_state.h"

namespace egret::parallel {

void EventSimulator::State::touch_link(std::uint32_t l) { touched_links_.push_back(l); }

void EventSimulator::State::touch_device(std::uint32_t d) {
  if (slowdown_ > 0) touched_devices_.push_back(d);
}

// The first look of a run searches; later ones go on from there, so a run passes each task once.
void EventSimulator::State::advance(const LaneTasks& lane, LaneCursor& cursor, bool sending,
                                    double now) const {
  const auto size = static_cast<std::uint32_t>(lane.tasks.size());
  if (cursor.run != run_) {
    const auto later =
        std::upper_bound(lane.tasks.begin(), lane.tasks.end(), now,
                         [&](double time, std::uint32_t i) { return time < start_of(i, sending); });
    cursor.run = run_;
    cursor.later = cursor.next_kept = static_cast<std::uint32_t>(later - lane.tasks.begin());
  }
  while (cursor.later < size && start_of(lane.tasks[cursor.later], sending) <= now) ++cursor.later;
}

EventSimulator::State::LaneView EventSimulator::State::look_at(const LaneTasks& lane,
                                                               LaneCursor& cursor, bool sending,
                                                               double now) const {
  // Spans of a lane ascend: all of it is over, as at the end of a step.
  if (timeline.spans[lane.tasks.back()].end_s <= now)
    return {.next_start = std::numeric_limits<double>::infinity()};
  advance(lane, cursor, sending, now);
  const auto size = static_cast<std::uint32_t>(lane.tasks.size());
  cursor.next_kept = std::max(cursor.next_kept, cursor.later);
  while (cursor.next_kept < size && is_simulated(lane.tasks[cursor.next_kept])) ++cursor.next_kept;
  LaneView view{.next_start = std::numeric_limits<double>::infinity()};
  if (cursor.next_kept < size) view.next_start = start_of(lane.tasks[cursor.next_kept], sending);
  if (cursor.later > 0) {
    const std::uint32_t i = lane.tasks[cursor.later - 1];
    if (!is_simulated(i) && timeline.spans[i].end_s > now) view.active = i;
  }
  return view;
}

void EventSimulator::State::settle(double now) {
  if (touched_links_.empty() && touched_devices_.empty()) return;
  ++settlement_;
  // A flow that is no longer kept touches more links, and its device.
  for (std::size_t t = 0; t < touched_links_.size(); ++t) {
    const std::uint32_t l = touched_links_[t];
    LinkState& state = link(l);
    if (full_ || state.settled == settlement_) continue;
    if (state.former == 0 && state.active.empty()) continue;
    state.settled = settlement_;
    double next = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < index.link_lanes[l].size(); ++k) {
      const LaneView view = look_at(index.link_lanes[l][k], links_[l].lanes[k], true, now);
      if (view.active >= 0) simulate_rest(static_cast<std::uint32_t>(view.active), now);
      next = std::min(next, view.next_start);
    }
    state.next_kept = next;
    if (state.active.empty()) await_kept(l, now);
  }
  settle_flows(now);
  touched_links_.clear();
  for (std::size_t t = 0; t < touched_devices_.size(); ++t) settle_device(touched_devices_[t], now);
  touched_devices_.clear();
}

void EventSimulator::State::await_kept(std::uint32_t l, double now) {
  LinkState& state = link(l);
  if (state.next_kept == std::numeric_limits<double>::infinity()) return;
  if (state.former == 0 && std::ranges::none_of(state.active, [&](std::uint32_t i) {
        return expected_end(i) > state.next_kept;
      })) {
    return;
  }
  if (state.next_event > now && state.next_event <= state.next_kept) return;
  state.next_event = state.next_kept;
  queue_.push({state.next_kept, 0, EventKind::kLink, l, 0});
}

// Flows that share links, even through others, get their rates together.
void EventSimulator::State::settle_flows(double now) {
  for (const std::uint32_t first : touched_links_) {
    if (link(first).seen == settlement_) continue;
    link(first).seen = settlement_;
    component_.clear();
    component_links_.assign(1, first);
    for (std::size_t k = 0; k < component_links_.size(); ++k) {
      for (const std::uint32_t i : link(component_links_[k]).active) {
        component_.push_back(i);
        for (const LinkId l : task(i).links) {
          if (link(l.index()).seen == settlement_) continue;
          links_[l.index()].seen = settlement_;
          component_links_.push_back(l.index());
        }
      }
    }
    std::sort(component_.begin(), component_.end());
    component_.erase(std::unique(component_.begin(), component_.end()), component_.end());
    flows_.clear();
    for (const std::uint32_t i : component_)
      flows_.push_back({task(i).links, task(i).work.most_bytes_per_second});
    const std::vector<double>& rates = rates_(flows_);
    for (std::size_t k = 0; k < component_.size(); ++k) set_rate(component_[k], rates[k], now);
    if (full_) continue;
    for (const std::uint32_t l : component_links_) {
      if (!links_[l].active.empty()) await_kept(l, now);
    }
  }
}

void EventSimulator::State::settle_device(std::uint32_t d, double now) {
  DeviceState& state = device(d);
  if (state.settled == settlement_) return;
  state.settled = settlement_;
  double next = std::numeric_limits<double>::infinity();
  if (!full_ && (state.former > 0 || state.communicating > 0)) {
    for (std::size_t k = 0; k < index.computing_lanes[d].size(); ++k) {
      const LaneView view =
          look_at(index.computing_lanes[d][k], state.computing_lanes[k], false, now);
      if (view.active >= 0 && has_rate(static_cast<std::uint32_t>(view.active)))
        simulate_rest(static_cast<std::uint32_t>(view.active), now);
      next = std::min(next, view.next_start);
    }
    // All communication ends before.
    if (state.former == 0 && state.until <= next) next = std::numeric_limits<double>::infinity();
  }
  if (!state.computing.empty()) {
    bool communicates = state.communicating > 0;
    double changes = std::numeric_limits<double>::infinity();  // when kept communication does
    if (!full_) {
      for (std::size_t k = 0; k < index.communicating_lanes[d].size(); ++k) {
        const LaneView view =
            look_at(index.communicating_lanes[d][k], state.communicating_lanes[k], false, now);
        if (view.active >= 0) {
          communicates = true;
          changes = std::min(changes, timeline.spans[static_cast<std::size_t>(view.active)].end_s);
        } else {
          changes = std::min(changes, view.next_start);
        }
      }
    }
    const double rate = communicates ? 1 / (1 + slowdown_) : 1;
    for (const std::uint32_t i : state.computing) set_rate(i, rate, now);
    // Nobody notices what begins or ends after all of these.
    const bool matters = std::ranges::any_of(
        state.computing, [&](std::uint32_t i) { return expected_end(i) > changes; });
    if (matters) next = std::min(next, changes);
  }
  if (next < std::numeric_limits<double>::infinity() &&
      (state.next_event <= now || state.next_event > next)) {
    state.next_event = next;
    queue_.push({next, 0, EventKind::kDevice, d, 0});
  }
}

}  // namespace egret::parallel
