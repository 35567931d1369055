// SPDX-License-Identifier: Apache-2.0
// The events of a simulation, by time, place of the task in a topological order, and kind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace egret::parallel {

// In the order in which events of one task at one time are handled.
enum class EventKind : unsigned char {
  kChanged,      // the task itself was changed; at its former start
  kStart,        // it started in the former timeline
  kKeptEnd,      // a task that is as before ends
  kProceed,      // a simulated task ends, or begins to send
  kFormerEnd,    // a simulated task ended in the former timeline
  kFormerSend,   // its former flow begins
  kFormerStart,  // it began to communicate
  kLink,         // something begins on a link (subject); order is that of the task
  kDevice        // something begins or ends on a device (subject)
};

struct SimulatedEvent {
  double time;
  std::uint32_t order;
  EventKind kind;
  std::uint32_t subject;  // task, link or device
  std::uint32_t version;  // events of an earlier version of their task are void

  bool operator>(const SimulatedEvent& other) const {
    if (time != other.time) return time > other.time;
    return order != other.order ? order > other.order : kind > other.kind;
  }
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  double next_time() const { return heap_.front().time; }
  void clear() { heap_.clear(); }
  void push(const SimulatedEvent& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  SimulatedEvent pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const SimulatedEvent event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  std::vector<SimulatedEvent> heap_;
};

}  // namespace egret::parallel
