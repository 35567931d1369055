// SPDX-License-Identifier: Apache-2.0
#include "tools/console/progress_reporter.h"

#include <unistd.h>

#include <algorithm>

#include "base/formats/json.h"
#include "base/formats/units.h"
#include "base/system/terminal.h"

namespace egret::tools {
namespace {

using Unit = base::ProgressColumn::Unit;

constexpr double kLivePeriod = 0.1;
constexpr double kLinePeriod = 5;
constexpr double kJsonPeriod = 1;
// Reports before this are not shown as lines: short work stays silent.
constexpr double kFirstLine = 2;

std::string printed(const base::ProgressValue& value) {
  switch (value.column->unit) {
    case Unit::kCount: return base::format_count(static_cast<std::int64_t>(value.value));
    case Unit::kReal: return base::format_short(value.value);
    case Unit::kSeconds: return base::format_seconds(value.value);
    case Unit::kBytes: return base::format_bytes(value.value);
    case Unit::kPercent: return base::format_percent(value.value);
  }
  return "";
}

// Seconds left when the rest goes as fast as the part done; negative when unknown.
double seconds_left(const base::ProgressReport& report) {
  if (report.fraction < 0.01) return -1;
  return report.elapsed_seconds * (1 - std::min(report.fraction, 1.0)) / report.fraction;
}

// Resident memory of this process, 0 when the system does not tell.
double resident_bytes() {
  long total = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  const int read = std::fscanf(file, "%ld %ld", &total, &resident);
  std::fclose(file);
  return read == 2 ? static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE))
                   : 0;
}

// At most WIDTH code points, so that a live line never wraps.
std::string clipped(const std::string& text, std::size_t width) {
  std::size_t shown = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U;
    if (starts && ++shown > width) return text.substr(0, i);
  }
  return text;
}

}  // namespace

std::string progress_line(const base::ProgressReport& report, double resident_bytes) {
  std::string line(report.phase);
  for (const base::ProgressValue& value : report.values) {
    line += "  " + std::string(value.column->label) + " " + printed(value);
  }
  if (report.fraction >= 0) line += "  " + base::format_percent(std::min(report.fraction, 1.0));
  line += "  " + base::format_seconds(report.elapsed_seconds);
  const double left = seconds_left(report);
  if (left >= 0) line += ", " + base::format_seconds(left) + " left";
  if (resident_bytes > 0) line += "  " + base::format_bytes(resident_bytes);
  if (!report.detail.empty()) line += "  " + base::sanitized(report.detail);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::string progress_json(const base::ProgressReport& report, double resident_bytes) {
  base::Json json = base::Json::object();
  json.set("event", "progress").set("phase", report.phase);
  for (const base::ProgressValue& value : report.values) {
    const bool whole = value.column->unit == Unit::kCount || value.column->unit == Unit::kBytes;
    json.set(value.column->name,
             whole ? base::Json(static_cast<std::int64_t>(value.value)) : base::Json(value.value));
  }
  if (report.fraction >= 0) json.set("fraction", report.fraction);
  json.set("elapsed_seconds", report.elapsed_seconds);
  const double left = seconds_left(report);
  if (left >= 0) json.set("left_seconds", left);
  json.set("resident_bytes", static_cast<std::int64_t>(resident_bytes));
  if (!report.detail.empty()) json.set("detail", report.detail);
  return json.dump();
}

ProgressReporter::ProgressReporter(std::FILE* stream, ProgressMode mode, bool live)
    : stream_(stream), mode_(mode), live_(live && mode == ProgressMode::kAuto) {
  if (mode_ == ProgressMode::kAuto && !live_) next_seconds_ = kFirstLine;
}

ProgressReporter::~ProgressReporter() { clear_line(); }

void ProgressReporter::begin_phase(std::string_view phase) {
  if (mode_ != ProgressMode::kJson) return;
  base::Json json = base::Json::object();
  json.set("event", "begin").set("phase", phase);
  std::fprintf(stream_, "%s\n", json.dump().c_str());
}

bool ProgressReporter::due() {
  return mode_ != ProgressMode::kNever && watch_.seconds() >= next_seconds_;
}

void ProgressReporter::report(const base::ProgressReport& report) {
  if (!due()) return;
  const double period = mode_ == ProgressMode::kJson ? kJsonPeriod
                        : live_                      ? kLivePeriod
                                                     : kLinePeriod;
  next_seconds_ = watch_.seconds() + period;
  if (mode_ == ProgressMode::kJson) {
    std::fprintf(stream_, "%s\n", progress_json(report, resident_bytes()).c_str());
    return;
  }
  if (live_) {
    const std::size_t width = base::terminal_width(::fileno(stream_));
    const std::string line = clipped(progress_line(report, resident_bytes()), width - 1);
    std::fprintf(stream_, "\r%s\x1b[K", line.c_str());
    std::fflush(stream_);
    line_shown_ = true;
    return;
  }
  for (const base::ProgressValue& value : report.values) {
    if (std::find(explained_.begin(), explained_.end(), value.column) != explained_.end()) continue;
    explained_.push_back(value.column);
    std::fprintf(stream_, "# %s: %s\n", std::string(value.column->label).c_str(),
                 std::string(value.column->meaning).c_str());
  }
  std::fprintf(stream_, "%s\n", progress_line(report, resident_bytes()).c_str());
}

void ProgressReporter::end_phase(std::string_view phase, double seconds) {
  clear_line();
  if (mode_ != ProgressMode::kJson) return;
  base::Json json = base::Json::object();
  json.set("event", "end").set("phase", phase).set("elapsed_seconds", seconds);
  std::fprintf(stream_, "%s\n", json.dump().c_str());
}

void ProgressReporter::clear_line() {
  if (!line_shown_) return;
  std::fputs("\r\x1b[K", stream_);
  std::fflush(stream_);
  line_shown_ = false;
}

}  // namespace egret::tools
