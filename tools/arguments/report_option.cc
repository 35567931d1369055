// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/report_option.h"

#include "base/system/file.h"

namespace egret::tools {

const base::OptionTable<ReportOptions>& ReportOptions::table() {
  static const base::OptionTable<ReportOptions> rows{
      "report",
      {{"report", &ReportOptions::report, std::string(driver::kReportHelp), base::output_file()}}};
  return rows;
}

base::Status check_report(const ReportOptions& options, const std::vector<InputFile>& files) {
  if (options.report == "-") return base::usage_error("--report needs a file, not -");
  for (const InputFile& file : files) {
    const base::Status status = check_not_input(options.report, {file});
    if (!status.ok())
      return base::usage_error("--report: " + options.report + " is " + file.what +
                               "; give another file");
  }
  return base::ok();
}

base::Status write_report(Console& console, const ReportOptions& options,
                          base::FunctionRef<driver::ReportPage()> make) {
  if (options.report.empty() || keeps_earlier_file(console, options.report)) return base::ok();
  return base::write_file(options.report, render(make()));
}

base::Status result_and_report(Console& console, const base::Json& json, const std::string& text,
                               const ReportOptions& options,
                               base::FunctionRef<driver::ReportPage()> make) {
  const base::Status written = write_report(console, options, make);
  if (written.ok()) {
    console.result(json, text);
  } else {
    console.partial_result(json, text);
  }
  return written;
}

}  // namespace egret::tools
