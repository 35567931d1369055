// SPDX-License-Identifier: Apache-2.0
// Progress of long work, reported to an abstract sink; libraries never print. A program's sink
// draws a live line, prints a line every few seconds, writes JSON lines, or does nothing.
//
//   base::Progress progress(sink, "saturate");          // a phase; sink may be nullptr
//   while (...) {
//     if (progress.due()) {
//       progress.report({{base::kIteration, i}, {base::kENodes, n}}, done_fraction);
//     }
//   }                                                    // the phase ends with the scope
//
// Columns are rows too: what is printed, its unit and its legend come from ProgressColumn alone,
// so a folder may define its own beside its loops.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/timer.h"

namespace egret::base {

struct ProgressColumn {
  enum class Unit : unsigned char { kCount, kReal, kSeconds, kBytes, kPercent };

  std::string_view name;   // the JSON field
  std::string_view label;  // short, for the line
  Unit unit = Unit::kCount;
  std::string_view meaning;  // for the legend
};

inline constexpr ProgressColumn kIteration{"iteration", "iter", ProgressColumn::Unit::kCount,
                                           "rounds finished in this phase"};
inline constexpr ProgressColumn kENodes{"e_nodes", "nodes", ProgressColumn::Unit::kCount,
                                        "e-nodes in the e-graph"};
inline constexpr ProgressColumn kEClasses{"e_classes", "classes", ProgressColumn::Unit::kCount,
                                          "e-classes in the e-graph"};
inline constexpr ProgressColumn kBestCost{"best_cost", "cost", ProgressColumn::Unit::kSeconds,
                                          "predicted time of the best graph so far"};
inline constexpr ProgressColumn kGap{"gap", "gap", ProgressColumn::Unit::kPercent,
                                     "best cost above the proven lower bound"};
inline constexpr ProgressColumn kItems{"items", "done", ProgressColumn::Unit::kCount,
                                       "items finished in this phase"};

struct ProgressValue {
  // Any arithmetic type, without a cast at each report.
  template <typename T>
  constexpr ProgressValue(const ProgressColumn& of, T number)
      : column(&of), value(static_cast<double>(number)) {}

  const ProgressColumn* column;
  double value;
};

struct ProgressReport {
  std::string_view phase;
  std::span<const ProgressValue> values;
  double fraction = -1;        // done of the phase, in [0, 1]; negative: unknown
  double elapsed_seconds = 0;  // of the phase
  std::string_view detail;     // what is being worked on, may be empty
};

// Receives reports, from one thread at a time. Phases may nest; the innermost reports.
class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  virtual void begin_phase(std::string_view phase) = 0;
  // Whether a report now would be shown; cheap enough for inner loops.
  virtual bool due() = 0;
  virtual void report(const ProgressReport& report) = 0;
  virtual void end_phase(std::string_view phase, double seconds) = 0;
};

// One phase of work.
class Progress {
 public:
  Progress(ProgressSink* sink, std::string phase) : sink_(sink), phase_(std::move(phase)) {
    if (sink_ != nullptr) sink_->begin_phase(phase_);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (sink_ != nullptr) sink_->end_phase(phase_, watch_.seconds());
  }

  bool due() const { return sink_ != nullptr && sink_->due(); }
  void report(std::initializer_list<ProgressValue> values, double fraction = -1,
              std::string_view detail = {}) const {
    if (sink_ == nullptr) return;
    sink_->report({phase_, {values.begin(), values.size()}, fraction, watch_.seconds(), detail});
  }
  double seconds() const { return watch_.seconds(); }

 private:
  ProgressSink* sink_;
  std::string phase_;
  Stopwatch watch_;
};

}  // namespace egret::base
