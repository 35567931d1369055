// SPDX-License-Identifier: Apache-2.0
// Shows progress on standard error: on a terminal one live line, redrawn ten times a second;
// otherwise a line every few seconds; or JSON lines for programs. Phases too short to have reported
// leave no trace.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/progress.h"
#include "tools/console/common_options.h"

namespace egret::tools {

// "saturate  iter 12  nodes 45,678  cost 1.23 ms  34.5%  3.21 s, 6.10 s left  210 MiB".
std::string progress_line(const base::ProgressReport& report, double resident_bytes);
// {"event": "progress", "phase": "saturate", "iteration": 12, ...}
std::string progress_json(const base::ProgressReport& report, double resident_bytes);

class ProgressReporter final : public base::ProgressSink {
 public:
  // LIVE: redraw one line; otherwise lines. The stream must outlive the reporter.
  ProgressReporter(std::FILE* stream, ProgressMode mode, bool live);
  ~ProgressReporter() override;

  void begin_phase(std::string_view phase) override;
  bool due() override;
  void report(const base::ProgressReport& report) override;
  void end_phase(std::string_view phase, double seconds) override;

  // Removes the live line, so that other text may be printed; the next report draws it again.
  void clear_line();

 private:
  std::FILE* stream_;
  ProgressMode mode_;
  bool live_;
  bool line_shown_ = false;
  double next_seconds_ = 0;  // on watch_
  base::Stopwatch watch_;
  std::vector<const base::ProgressColumn*> explained_;  // columns whose legend has been printed
};

}  // namespace egret::tools
