// SPDX-License-Identifier: Apache-2.0
#include "tools/console/console.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/system/file.h"
#include "base/system/terminal.h"
#include "tools/console/progress_reporter.h"

namespace egret::tools {

Console::Console(const CommonOptions& options)
    : options_(options),
      color_out_(base::use_color(options.color, STDOUT_FILENO)),
      color_error_(base::use_color(options.color, STDERR_FILENO)) {
  const bool off = options.progress == ProgressMode::kNever ||
                   (options.quiet && options.progress == ProgressMode::kAuto);
  if (!off) {
    // A live line moves the cursor, which a dumb terminal cannot.
    const bool live =
        base::is_terminal(STDERR_FILENO) && base::use_color(base::ColorMode::kAuto, STDERR_FILENO);
    reporter_ = std::make_unique<ProgressReporter>(stderr, options.progress, live);
  }
}

Console::~Console() = default;

bool Console::is_given(std::string_view option) const {
  const base::BoundOption* bound = arguments_ != nullptr ? arguments_->find(option) : nullptr;
  return bound != nullptr && bound->origin != base::OptionOrigin::kDefault;
}

ExitCode Console::code_of_stop(std::string_view stop_reason) const {
  constexpr std::pair<std::string_view, std::string_view> kLimits[] = {
      {"node limit", "limit-nodes"}, {"byte limit", "limit-memory"}, {"time limit", "limit-time"}};
  const auto* const found = std::ranges::find(
      kLimits, stop_reason, &std::pair<std::string_view, std::string_view>::first);
  return found != std::end(kLimits) && is_given(found->second) ? ExitCode::kLimit : ExitCode::kOk;
}

void Console::result(const base::Json& json, std::string_view text) {
  data(options_.json ? json.dump(2) + "\n" : std::string(text));
}

void Console::partial_result(base::Json json, std::string_view text) {
  if (!options_.json) data(text);
  partial_ = std::move(json);
}

void Console::data(std::string_view bytes) {
  if (reporter_) reporter_->clear_line();
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) output_lost_ = true;
}

void Console::print_error_line(std::string_view text) {
  if (reporter_) reporter_->clear_line();
  // One call per line, so that lines of several ranks do not mix.
  const std::string line = std::string(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void Console::warning(std::string_view text) {
  print_error_line("egret: " + base::painted("warning: ", base::Paint::kYellow, color_error_) +
                   base::sanitized(text));
}

void Console::note(std::string_view text) {
  if (!options_.quiet) print_error_line(base::sanitized(text));
}

void Console::detail(std::string_view text) {
  if (options_.verbose) print_error_line(base::sanitized(text));
}

void Console::error(std::string_view text) {
  print_error_line("egret: " + base::painted("error: ", base::Paint::kRed, color_error_) +
                   base::sanitized(text));
}

base::ProgressSink* Console::progress() { return reporter_.get(); }

base::Status Console::finish() {
  if (std::fflush(stdout) != 0) output_lost_ = true;
  if (!output_lost_) return base::ok();
  return base::unavailable("cannot write to standard output; is the disk full?");
}

base::Result<std::string> read_input(const std::string& path, std::int64_t limit_bytes) {
  return path == "-" ? base::read_standard_input(limit_bytes) : base::read_file(path, limit_bytes);
}

std::string external_data_of(const std::string& path) { return path == "-" ? "" : path + ".data"; }

base::Status write_output(Console& console, const std::string& path, std::string_view bytes) {
  if (path != "-") return base::write_file(path, bytes);
  console.data(bytes);
  return base::ok();
}

}  // namespace egret::tools
