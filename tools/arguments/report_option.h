// SPDX-License-Identifier: Apache-2.0
// --report of the verbs that have a page for people (driver/report/page.h).
#pragma once

#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/options/option_table.h"
#include "base/status.h"
#include "driver/report/page.h"
#include "tools/arguments/output_file.h"
#include "tools/console/console.h"

namespace egret::tools {

struct ReportOptions {
  std::string report;

  static const base::OptionTable<ReportOptions>& table();
};

// Before the work: a usage error where the page would replace a file that the verb reads or writes,
// and for "-". Whether the file can be written is looked at as for all outputs (output_places.h).
base::Status check_report(const ReportOptions& options, const std::vector<InputFile>& files);

// After the verb's own files are written: makes the page, where one is asked for, and writes it. An
// earlier page stays if a signal asked to stop.
base::Status write_report(Console& console, const ReportOptions& options,
                          base::FunctionRef<driver::ReportPage()> make);

// Prints the verb's result, with the page written before. Where that fails, the result is printed
// beside the failure.
base::Status result_and_report(Console& console, const base::Json& json, const std::string& text,
                               const ReportOptions& options,
                               base::FunctionRef<driver::ReportPage()> make);

}  // namespace egret::tools
