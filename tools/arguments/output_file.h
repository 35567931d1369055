// SPDX-License-Identifier: Apache-2.0
// Files that verbs write: what is checked before the work begins, and what must not be replaced.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "frontends/onnx.h"
#include "tools/console/console.h"

namespace egret::tools {

// Something that a verb reads.
struct InputFile {
  std::string what;  // "the model"
  std::string path;  // "" and "-" are no file
};

// The database that --cost-db names, or the usual one.
InputFile cost_database(const std::string& path);
// The files that a selection of rules (rules/tensors/rule_set.h) may name.
std::vector<InputFile> rule_files(const std::string& selection);

// A usage error where OUTPUT is one of the inputs, also through links: it would be lost.
base::Status check_not_input(const std::string& output, const std::vector<InputFile>& inputs);
// The same, and whether OUTPUT can be written; "-" and "" always can. For outputs that are no
// options of their own, which are looked at before a verb begins (output_places.h).
base::Status check_output(const std::string& output, const std::vector<InputFile>& inputs);

// Of a model to be written to OUTPUT with its weights in EXTERNAL: neither is a file that the model
// at INPUT has its weights in, unless both are replaced together.
base::Status check_weights_stay(const std::string& output, const std::string& external,
                                const std::string& input, const frontends::ImportedModel& model);

// Whether a signal asked to stop and there is a file at PATH: one that an earlier, complete run may
// have left, which a result that was cut short does not replace. Says so when it is.
bool keeps_earlier_file(Console& console, const std::string& path);

// A model with its weights to a file, or to standard output for "-".
base::Status write_model(Console& console, const std::string& path,
                         frontends::ExportedModel& model);

}  // namespace egret::tools
