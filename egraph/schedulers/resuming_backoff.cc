// SPDX-License-Identifier: Apache-2.0
#include "egraph/schedulers/backoff.h"

namespace egret::egraph::scheduling {
namespace {

// Backoff without wasted searches. A rule with more new matches than its limit applies those within
// the limit, pauses, and resumes with the rest. Old matches do not count, so rules are limited less
// than under "backoff", and e-graphs grow differently.
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
