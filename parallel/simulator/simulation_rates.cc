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

std::int64_t EventSimulator::State::kept_active(const LaneTasks& lane, bool sending,
                                                double now) const {
  const auto after =
      std::upper_bound(lane.tasks.begin(), lane.tasks.end(), now,
                       [&](double time, std::uint32_t i) { return time < start_of(i, sending); });
  if (after == lane.tasks.begin()) return -1;
  const std::uint32_t i = *(after - 1);
  return !is_simulated(i) && timeline.spans[i].end_s > now ? static_cast<std::int64_t>(i) : -1;
}

double EventSimulator::State::next_kept_start(const LaneTasks& lane, bool sending,
                                              double now) const {
  auto next =
      std::upper_bound(lane.tasks.begin(), lane.tasks.end(), now,
                       [&](double time, std::uint32_t i) { return time < start_of(i, sending); });
  while (next != lane.tasks.end() && is_simulated(*next)) ++next;
  return next == lane.tasks.end() ? std::numeric_limits<double>::infinity()
                                  : start_of(*next, sending);
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
    for (const LaneTasks& lane : index.link_lanes[l]) {
      const std::int64_t active = kept_active(lane, true, now);
      if (active >= 0) simulate_rest(static_cast<std::uint32_t>(active), now);
      next = std::min(next, next_kept_start(lane, true, now));
    }
    if (next < std::numeric_limits<double>::infinity() &&
        (state.next_event <= now || state.next_event > next)) {
      state.next_event = next;
      queue_.push({next, 0, EventKind::kLink, l, 0});
    }
  }
  settle_flows(now);
  touched_links_.clear();
  for (std::size_t t = 0; t < touched_devices_.size(); ++t) settle_device(touched_devices_[t], now);
  touched_devices_.clear();
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
  }
}

void EventSimulator::State::settle_device(std::uint32_t d, double now) {
  DeviceState& state = device(d);
  if (state.settled == settlement_) return;
  state.settled = settlement_;
  double next = std::numeric_limits<double>::infinity();
  if (!full_ && (state.former > 0 || state.communicating > 0)) {
    for (const LaneTasks& lane : index.computing_lanes[d]) {
      const std::int64_t active = kept_active(lane, false, now);
      if (active >= 0 && has_rate(static_cast<std::uint32_t>(active)))
        simulate_rest(static_cast<std::uint32_t>(active), now);
      next = std::min(next, next_kept_start(lane, false, now));
    }
  }
  if (!state.computing.empty()) {
    bool communicates = state.communicating > 0;
    if (!full_) {
      for (const LaneTasks& lane : index.communicating_lanes[d]) {
        const std::int64_t active = kept_active(lane, false, now);
        if (active >= 0) {
          communicates = true;
          next = std::min(next, timeline.spans[static_cast<std::uint32_t>(active)].end_s);
        } else {
          next = std::min(next, next_kept_start(lane, false, now));
        }
      }
    }
    const double rate = communicates ? 1 / (1 + slowdown_) : 1;
    for (const std::uint32_t i : state.computing) set_rate(i, rate, now);
  }
  if (next < std::numeric_limits<double>::infinity() &&
      (state.next_event <= now || state.next_event > next)) {
    state.next_event = next;
    queue_.push({next, 0, EventKind::kDevice, d, 0});
  }
}

}  // namespace egret::parallel
