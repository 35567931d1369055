// SPDX-License-Identifier: Apache-2.0
// Times of divided programs (kernel_times.h) that the database of costs keeps, so that a program is
// run once.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backends/backend.h"
#include "base/status.h"
#include "cost/database.h"
#include "driver/measure/kernel_times.h"
#include "ir/graph/graph.h"

namespace egret::driver {

struct KeptTimes {
  cost::Database* database = nullptr;  // null: nothing is kept
  std::string machine{};               // whose times they are
  std::function<bool()> disturbed{};   // whether other processes disturbed what was measured
  double seconds = 0.3;                // of runs of a program, at least
};

// Names a division in the database, beside its graph: " divided 0 1,2 3".
std::string identity_of(const backends::Division& division);
// The same of its layouts: empty where the backend decides.
std::string identity_of(const backends::DivisionLayouts& layouts);

struct KnownPartTimes {
  PartTimes times{};
  bool remembered = false;  // by the database; false: measured now
};

// What the database knows of a program divided by CompileOptions::division, in
// CompileOptions::layouts; else time_parts(), which it then keeps. `measures` false: nothing but
// what is known. O(nodes and weights) besides the runs. Errors: those of time_parts() and of the
// database.
base::Result<std::optional<KnownPartTimes>> kept_part_times(const backends::Backend& backend,
                                                            const ir::Graph& graph,
                                                            const backends::CompileOptions& options,
                                                            const KeptTimes& kept,
                                                            bool measures = true);

}  // namespace egret::driver
