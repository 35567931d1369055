// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/output_file.h"

#include <algorithm>
#include <filesystem>

#include "base/stop.h"
#include "base/system/file.h"
#include "cost/database.h"

namespace egret::tools {
namespace {

bool is_file(const std::string& path) { return !path.empty() && path != "-"; }

// A pipe or /dev/null may be read and written.
bool replaces(const std::string& output, const std::string& input) {
  std::error_code ignored;
  if (!is_file(output) || !is_file(input)) return false;
  if (std::filesystem::exists(output, ignored) &&
      !std::filesystem::is_regular_file(output, ignored))
    return false;
  return base::same_file(output, input);
}

}  // namespace

InputFile cost_database(const std::string& path) {
  return {"the cost database", path.empty() ? cost::default_database_path() : path};
}

std::vector<InputFile> rule_files(const std::string& selection) {
  std::vector<InputFile> inputs;
  for (std::size_t begin = 0; begin <= selection.size();) {
    const std::size_t end = std::min(selection.find(',', begin), selection.size());
    inputs.push_back({"the rule file", selection.substr(begin, end - begin)});
    begin = end + 1;
  }
  return inputs;
}

base::Status check_not_input(const std::string& output, const std::vector<InputFile>& inputs) {
  for (const InputFile& input : inputs) {
    if (replaces(output, input.path)) {
      return base::usage_error(output + " is " + input.what +
                               ", which would be overwritten; give another output file");
    }
  }
  return base::ok();
}

base::Status check_output(const std::string& output, const std::vector<InputFile>& inputs) {
  EGRET_RETURN_IF_ERROR(check_not_input(output, inputs));
  return is_file(output) ? base::check_writable(output) : base::ok();
}

base::Status check_weights_stay(const std::string& output, const std::string& external,
                                const std::string& input, const frontends::ImportedModel& model) {
  if (replaces(external, output)) {
    return base::usage_error(output + " cannot be the output file and its file of weights");
  }
  const bool in_place = is_file(input) && replaces(output, input);
  if (!in_place && replaces(external, input)) {
    return base::usage_error(
        external +
        " is the model itself, which would be overwritten; give another file for the weights");
  }
  for (const std::string& file : model.data_files) {
    if (replaces(output, file) || (!in_place && replaces(external, file))) {
      return base::usage_error(file + " holds the weights of " + input +
                               ", which would be overwritten; give another output file");
    }
  }
  return base::ok();
}

bool keeps_earlier_file(Console& console, const std::string& path) {
  std::error_code ignored;  // what cannot be looked at cannot be written either
  if (!base::stop_requested() || !std::filesystem::is_regular_file(path, ignored)) return false;
  console.warning("interrupted; " + path + " was not changed");
  return true;
}

base::Status write_model(Console& console, const std::string& path,
                         frontends::ExportedModel& model) {
  if (path != "-") return model.write(path);
  console.data(model.bytes);
  return model.external_file ? model.external_file->commit() : base::ok();
}

}  // namespace egret::tools
