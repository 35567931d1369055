// SPDX-License-Identifier: Apache-2.0
#include "egraph/schedulers/scheduler.h"

#include <array>
#include <string>

namespace egret::egraph {

namespace scheduling {
#define EGRET_SCHEDULER(name) SchedulerRow name();
#include "egraph/schedulers/schedulers.def"
#undef EGRET_SCHEDULER
}  // namespace scheduling

std::span<const SchedulerRow> schedulers() {
  static const std::array kRows = {
#define EGRET_SCHEDULER(name) scheduling::name(),
#include "egraph/schedulers/schedulers.def"
#undef EGRET_SCHEDULER
  };
  return kRows;
}

base::Result<std::unique_ptr<Scheduler>> make_scheduler(std::string_view name) {
  std::string names;
  for (const SchedulerRow& row : schedulers()) {
    if (row.name == name) return row.make();
    names.append(names.empty() ? "" : ", ").append(row.name);
  }
  return base::usage_error(
      std::string("unknown scheduler '").append(name).append("'; available: ").append(names));
}

}  // namespace egret::egraph
