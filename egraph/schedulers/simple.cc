// SPDX-License-Identifier: Apache-2.0
#include "egraph/schedulers/scheduler.h"

namespace egret::egraph::scheduling {
namespace {

// Runs every rule in every iteration, with all matches.
class SimpleScheduler : public Scheduler {
 public:
  std::uint64_t match_limit(std::uint64_t, std::size_t) override { return kUnlimited; }
  bool accept(std::uint64_t, std::size_t, bool) override { return true; }
  bool may_stop(std::uint64_t) override { return true; }
};

}  // namespace

SchedulerRow simple() {
  return {"simple", "every rule in every iteration",
          []() -> std::unique_ptr<Scheduler> { return std::make_unique<SimpleScheduler>(); }};
}

}  // namespace egret::egraph::scheduling
