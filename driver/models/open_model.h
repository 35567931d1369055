// SPDX-License-Identifier: Apache-2.0
// Models with open sizes: the sizes at which they are priced and measured, and the ranges that they
// have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/options/option_table.h"
#include "base/status.h"
#include "driver/models/input_values.h"
#include "driver/models/read_model.h"
#include "frontends/onnx.h"
#include "rules/tensors/open_sizes.h"

namespace egret::driver {

struct SizeOptions {
  std::vector<std::string> at;     // NAME=SIZE or NAME=SIZE*WEIGHT
  std::vector<std::string> range;  // NAME=LOW..HIGH

  static const base::OptionTable<SizeOptions>& table();
};

// The profiles that `at` gives, in order. A profile ends with a weight, and where a name would be
// set again; a weight that is not given is 1. Errors: usage that quotes the text.
base::Result<std::vector<rules::SizeProfile>> parse_profiles(const std::vector<std::string>& at);

// Reads a model with its open sizes kept, and operators that Egret lacks. `open` is made, and
// becomes the current scope, if the model has any open size; it must outlive the model. Sizes that
// no option gives have usual numbers; those of given inputs' shapes are part of all profiles.
// `keeps_rounding` as in frontends::ImportOptions.
// Errors: usage for a size in `sizes` that the model lacks, and for one that a given input
// contradicts; those of read_model().
base::Result<frontends::ImportedModel> read_open_model(
    const ModelSource& source, const ModelOptions& options, const SizeOptions& sizes,
    const InputValues& given, std::optional<rules::OpenSizes>& open, bool keeps_rounding = true);

// For --strict: that no node of the graph is kept as it is because Egret cannot express it. Errors:
// unsupported, which names them all.
base::Status check_defined(const ir::Graph& graph);

}  // namespace egret::driver
