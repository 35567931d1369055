// SPDX-License-Identifier: Apache-2.0
// The operators that equal forms of a graph are made of, measured beforehand: a warm database of
// costs, so that `optimize` need not stop to measure.
//
// The graph is saturated as `optimize` does it. Of the operators in the e-graph those that the
// database does not know yet are measured one by one, each kept at once: work that is cut short
// goes on where it was. The graph's own come first, then those that rules made, the cheapest by
// estimate first, because a choice rests on cheap ones. Then those whose measurements vary much are
// measured again while there is time, and the better measurement is kept. Before all that, rates
// are measured, where the database has none (driver/measure/calibration.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/options/option_table.h"
#include "base/progress.h"
#include "base/status.h"
#include "cost/database.h"
#include "cost/model.h"
#include "cost/profiled.h"
#include "driver/measure/calibration.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// One operator's entry in the database: what it adds to a plan that is executed so. Nothing for a
// view; for what other kernels absorb, the time that it adds to them.
base::Result<cost::Entry> measured_cost(const cost::Query& query, const Execution& execution);

// To whoever measures these afterwards: what takes long to make for that is made by all processors.
void make_ready_to_measure(std::span<const cost::Query> queries, const Execution& execution);

// What there is to say of measured costs that add up to `predicted_s` for a graph that takes
// `measured_s`: empty unless one is several times the other, and more than a millisecond. That
// happens where operators were measured while the machine had other work.
std::string doubt_about_costs(double predicted_s, double measured_s);

// A note of as many measurements beside which other processes ran; empty for none.
std::string note_of_disturbed(std::int64_t measurements);

struct ProfileOptions {
  std::string rules = "default";
  std::string allow = "proven";  // the least that must be known of every rule
  std::string cost_db;           // empty: cost::default_database_path()
  std::string backend = "cpu";
  std::string precision = "f32";  // backends/precision.h
  std::int64_t threads = 0;       // 0: all; a common option, so not in the table
  std::int64_t limit_nodes = 20'000;
  double limit_time = 20;     // of saturation
  double profile_time = 600;  // of measuring

  static const base::OptionTable<ProfileOptions>& table();
};

struct ProfileReport {
  std::string machine;  // driver::machine_fingerprint()
  std::uint64_t e_nodes = 0;
  std::int64_t operators = 0;  // different ones in the e-graph, by cost::key_of()
  std::int64_t known = 0;      // to the database before
  std::int64_t measured = 0;
  std::int64_t measured_again = 0;  // because they were noisy (cost::is_noisy())
  std::int64_t improved = 0;        // of these, those of which the later measurement is kept
  std::int64_t noisy = 0;           // those that stay so
  std::int64_t disturbed = 0;       // measurements beside which other processes ran
  KnownRates rates;
  std::int64_t left = 0;              // the time was over, or a stop was requested
  std::vector<std::string> failures;  // operators that cannot be measured, each with the reason
  double seconds = 0;                 // spent measuring
  // Entries that the database has of other machines, where it had none of this one.
  std::int64_t of_other_machines = 0;
};

// All types of the graph are concrete. Errors: as of optimize(). A limit is no error.
// `measure` takes the place of measured_cost().
base::Result<ProfileReport> profile(const ir::Graph& graph, const ProfileOptions& options,
                                    base::ProgressSink* progress = nullptr,
                                    const cost::ProfiledModel::Measure& measure = {});

}  // namespace egret::driver
