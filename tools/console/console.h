// SPDX-License-Identifier: Apache-2.0
// What a verb may print, and where: results on standard output, everything else on standard error.
// Only tools/ prints; libraries return values and report to a base::ProgressSink.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/formats/json.h"
#include "base/options/option_set.h"
#include "base/progress.h"
#include "tools/console/common_options.h"
#include "tools/console/exit_code.h"

namespace egret::tools {

class ProgressReporter;

class Console {
 public:
  explicit Console(const CommonOptions& options);
  ~Console();

  const CommonOptions& options() const { return options_; }

  // The verb's options, for is_given(). They must outlive the console.
  void set_arguments(const base::OptionSet& arguments) { arguments_ = &arguments; }
  // Whether a flag, a variable or a file gives this option, named without "--".
  bool is_given(std::string_view option) const;
  // The exit code of a search that ended for this reason, as reports name it: kLimit if the user
  // set this limit. A limit that is a default is no failure.
  ExitCode code_of_stop(std::string_view stop_reason) const;

  // The verb's result: the document with --json (begun with base::versioned_json()), otherwise the
  // text. Called once.
  void result(const base::Json& json, std::string_view text);
  // What is known all the same when the verb is about to fail: the text at once, the document as
  // "summary" beside the "error".
  void partial_result(base::Json json, std::string_view text);
  const base::Json& partial_result() const { return partial_; }
  // Raw data on standard output: a model, a DOT graph. No newline is added.
  void data(std::string_view bytes);

  void warning(std::string_view text);  // "egret: warning: ..."; --quiet does not hide it
  void note(std::string_view text);     // one line; hidden by --quiet
  void detail(std::string_view text);   // one line; shown by --verbose
  void error(std::string_view text);    // "egret: error: ..."

  // For libraries; nullptr when progress is off.
  base::ProgressSink* progress();
  // Whether standard output takes colour.
  bool color() const { return color_out_; }

  // Flushes standard output. Fails when anything written to it was lost (a full disk).
  base::Status finish();

 private:
  void print_error_line(std::string_view text);

  CommonOptions options_;
  const base::OptionSet* arguments_ = nullptr;
  bool color_out_;
  bool color_error_;
  bool output_lost_ = false;
  base::Json partial_;  // null: none
  std::unique_ptr<ProgressReporter> reporter_;
};

// The bytes of a file, or of standard input for "-".
base::Result<std::string> read_input(const std::string& path, std::int64_t limit_bytes);
// Replaces a file (base::write_file), or writes to standard output for "-".
base::Status write_output(Console& console, const std::string& path, std::string_view bytes);
// Where the weights of a model above 2 GiB go that is written there: beside it. None ("") for
// standard output.
std::string external_data_of(const std::string& path);

}  // namespace egret::tools
