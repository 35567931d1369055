// SPDX-License-Identifier: Apache-2.0
// The report of optimize(): one struct for each step of driver/pipeline.cc, each with one table
// that makes its JSON members, its lines for people and their documentation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backends/timing/measure.h"
#include "base/formats/json.h"
#include "base/formats/report_table.h"
#include "base/formats/text_table.h"
#include "driver/measure/calibration.h"
#include "driver/measure/kernel_times.h"
#include "driver/measure/output_check.h"
#include "driver/select/candidate.h"
#include "driver/select/kernel_costs.h"

namespace egret::driver {

struct OptimizeReport {
  // ONNX nodes by type.
  struct Operators {
    std::map<std::string, int> before;
    std::map<std::string, int> after;
    static const base::ReportTable<Operators>& table();
  };

  // The race of the candidates against the original.
  struct Race {
    struct Entry {
      std::string name;  // of the candidate
      int operators = 0;
      double predicted_s = 0;
      KernelPrediction kernels;  // with alternatives and profiled costs
      backends::Timing measured;
    };
    std::vector<Entry> candidates;
    std::string chosen;     // a candidate's name, or "original"
    bool measured = false;  // the times are
    std::string engine;     // with its version; empty: Egret's backend
    backends::Timing before;
    backends::Timing after;
    // Activations and scratch space of the backend's plan (backends::PlanReport::arena_bytes).
    std::int64_t arena_before = 0;
    std::int64_t arena_after = 0;
    static const base::ReportTable<Race>& table();
  };

  // Times by the cost model.
  struct Prediction {
    std::string cost_model;
    double before_s = 0;
    double after_s = 0;
    // Operators of the result whose share of after_s was not measured: interpolated between
    // measured ones of other shapes, or estimated from rates alone.
    std::int64_t interpolated = 0;
    std::int64_t estimated = 0;
    KernelPrediction kernels_before;
    KernelPrediction kernels_after;
    KnownRates rates;     // of estimates
    std::string warning;  // about the database; empty: none
    // The shares of operators in the two sums.
    std::vector<KernelTime> operators_before{};
    std::vector<KernelTime> operators_after{};
    static const base::ReportTable<Prediction>& table();
  };

  // The parts of both times, where a page asks for them (driver/kernel_comparison.h).
  struct Kernels {
    std::string source;  // "measured": kernels of plans; "predicted": operators; empty: not asked
    std::vector<KernelTime> before;
    std::vector<KernelTime> after;
    static const base::ReportTable<Kernels>& table();
  };

  struct Rules {
    std::vector<RuleCount> used;
    std::uint64_t available = 0;
    std::string allowed;                  // OptimizeOptions::allow
    std::vector<std::string> not_proven;  // of those available
    std::string set_hash;
    static const base::ReportTable<Rules>& table();
  };

  // The e-graph, or the graphs of a search that has none.
  struct Growth {
    std::string stop_reason;
    std::uint64_t e_nodes = 0;
    std::uint64_t e_classes = 0;
    std::uint64_t iterations = 0;
    // Of the iterations; the phase "saturate" also builds the e-graph and compiles the rules.
    double search_s = 0;
    double apply_s = 0;
    double rebuild_s = 0;
    struct Step {
      std::uint64_t e_nodes = 0;  // after the iteration
      std::uint64_t e_classes = 0;
      std::uint64_t bytes = 0;
      std::uint64_t matches = 0;  // new ones
      std::uint64_t applied = 0;  // of all tried: changed the e-graph
      double search_s = 0;
      double apply_s = 0;
      double rebuild_s = 0;
    };
    std::vector<Step> steps{};           // one an iteration
    std::uint64_t graphs_rewritten = 0;  // by a search over whole graphs
    std::uint64_t graphs_seen = 0;
    static const base::ReportTable<Growth>& table();
  };

  // Of a model with open sizes; empty otherwise.
  struct Sizes {
    std::string at;                     // "batch=1, seq=128"
    std::vector<std::string> profiles;  // times at each, where there are several
    std::vector<std::string> checked;   // further sizes
    std::vector<std::string> assumed;   // "N == M"
    std::uint64_t undecided = 0;
    static const base::ReportTable<Sizes>& table();
  };

  // Of a model some of whose open sizes were fixed: the result with these sizes left open, at the
  // same values.
  struct Binding {
    std::string sizes;        // "batch=1, seq=128"; empty: no comparison was made
    int operators_bound = 0;  // ONNX nodes
    int operators_open = 0;
    double predicted_bound_s = 0;
    double predicted_open_s = 0;
    static const base::ReportTable<Binding>& table();
  };

  struct Extraction {
    std::string extractor;
    std::string status;  // "optimal", "feasible"
    double cost_s = 0;
    double bound_s = 0;                    // no equal graph costs less
    std::int64_t operators_measured = 0;   // for the cost model, in this run
    std::int64_t operators_estimated = 0;  // chosen on an estimate alone
    std::vector<std::string> notes;        // extract::Solution::notes; doubt_about_costs()
    static const base::ReportTable<Extraction>& table();
  };

  // Of contractions in less precision.
  struct Precision {
    double budget = 0;     // of the relative error; 0: none was allowed, and nothing else is set
    double estimated = 0;  // of the candidate whose precision was chosen
    double measured = 0;   // on samples that are held out
    double bound = 0;      // relative_error_bound() on all samples
    std::map<std::string, int> kernels{};  // contractions by the form of their operands
    std::string forms_from{};
    std::uint64_t calibration = 0;  // samples
    std::uint64_t held_out = 0;
    bool drawn = false;    // the samples were
    bool written = false;  // that candidate was
    static const base::ReportTable<Precision>& table();
  };

  struct Check {
    bool made = false;
    CheckReport outputs;
    std::vector<std::string> given;  // names of inputs that were not random
    static const base::ReportTable<Check>& table();
  };

  // The written file against the given one, in an engine (driver/oracle.h).
  struct Oracle {
    bool made = false;
    std::string engine;  // with its version
    double max_error = 0;
    double bound = 0;
    std::vector<std::string> sizes{};            // "batch=1", where sizes are open
    std::vector<std::string> unknown_outputs{};  // not compared
    std::string note;                            // why none was made, if the user should know
    void add(const CheckReport& sample);
    static const base::ReportTable<Oracle>& table();
  };

  // "improved": measured, and faster than the original beyond noise; "rewritten": another graph,
  // as fast as the original or not measured; "unchanged": the original.
  std::string status;
  bool out_of_memory = false;  // the original's plan was
  Operators operators;
  Race race;
  Prediction predicted;
  Kernels kernels;
  Rules rules;
  Growth growth;
  Sizes sizes;
  Binding binding;
  Extraction extraction;
  Precision precision;
  Check check;
  Oracle oracle;
  double seconds = 0;
  std::vector<std::pair<std::string, double>> seconds_by_phase;
  std::map<std::string, std::string> manifest;  // what the result depends on; goes into the file
  std::string machine;                          // machine_fingerprint()

  base::Json to_json() const;
  // The closing table: a line for each row with a label.
  base::TextTable closing_table() const;
  std::string summary() const { return closing_table().render(); }
  // Markdown: the members of the JSON object, by step.
  static std::string documentation();
};

}  // namespace egret::driver
