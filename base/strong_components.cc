// SPDX-License-Identifier: Apache-2.0
#include "base/strong_components.h"

#include <algorithm>
#include <limits>

namespace egret::base {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

class Tarjan {
 public:
  Tarjan(std::span<const std::uint32_t> begin, std::span<const std::uint32_t> targets)
      : begin_(begin),
        targets_(targets),
        number_(begin.size() - 1, 0),
        low_(begin.size() - 1, 0),
        component_(begin.size() - 1, kNone) {}

  std::vector<std::uint32_t> run() {
    for (std::uint32_t v = 0; v < component_.size(); ++v) {
      if (number_[v] == 0) walk(v);
    }
    return std::move(component_);
  }

 private:
  struct Frame {
    std::uint32_t vertex;
    std::uint32_t next;  // place in targets_
  };

  void enter(std::uint32_t v) {
    number_[v] = low_[v] = ++count_;
    open_.push_back(v);
    path_.push_back({v, begin_[v]});
  }

  void walk(std::uint32_t start) {
    enter(start);
    while (!path_.empty()) {
      Frame& frame = path_.back();
      const std::uint32_t v = frame.vertex;
      if (frame.next < begin_[v + 1]) {
        const std::uint32_t target = targets_[frame.next++];
        if (number_[target] == 0) {
          enter(target);
        } else if (component_[target] == kNone) {
          low_[v] = std::min(low_[v], number_[target]);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) {
        std::uint32_t& above = low_[path_.back().vertex];
        above = std::min(above, low_[v]);
      }
      if (low_[v] == number_[v]) close(v);
    }
  }

  void close(std::uint32_t v) {
    while (component_[v] == kNone) {
      component_[open_.back()] = components_;
      open_.pop_back();
    }
    ++components_;
  }

  std::span<const std::uint32_t> begin_;
  std::span<const std::uint32_t> targets_;
  std::vector<std::uint32_t> number_;  // in order of entry, from 1; 0: not entered
  std::vector<std::uint32_t> low_;
  std::vector<std::uint32_t> component_;
  std::vector<std::uint32_t> open_;  // entered, of no component yet
  std::vector<Frame> path_;
  std::uint32_t count_ = 0;
  std::uint32_t components_ = 0;
};

}  // namespace

std::vector<std::uint32_t> strong_components(std::span<const std::uint32_t> begin,
                                             std::span<const std::uint32_t> targets) {
  return Tarjan(begin, targets).run();
}

}  // namespace egret::base
