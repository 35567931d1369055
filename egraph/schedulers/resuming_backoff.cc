// SPDX-License-Identifier: Apache-2.0
#include "egraph/schedulers/backoff.h"

namespace egret::egraph::scheduling {
namespace {

// Backoff that wastes no search: a rule with more new matches than its limit has those within it
// applied before it pauses, and goes on with the others afterwards. Rules are held back less than
// under "backoff", for old matches do not count against them, so e-graphs grow differently.
class ResumingBackoff : public BackoffScheduler {
 public:
  bool resumes() const override { return true; }
  bool accept(std::uint64_t iteration, std::size_t rule, bool exceeded) override {
    (void)BackoffScheduler::accept(iteration, rule, exceeded);
    return true;
  }
};

}  // namespace

SchedulerRow resuming_backoff() {
  return {"backoff-resume", "as backoff, but what is found is applied, and the search resumed",
          []() -> std::unique_ptr<Scheduler> { return std::make_unique<ResumingBackoff>(); }};
}

}  // namespace egret::egraph::scheduling
