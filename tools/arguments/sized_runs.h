// SPDX-License-Identifier: Apache-2.0
// Runs of a model at several sizes in one call: --at gives the sizes, or --input several sets of
// inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/options/option_table.h"
#include "base/status.h"
#include "ir/core/symbol_values.h"
#include "ir/evaluate/given_inputs.h"
#include "tools/arguments/input_files.h"
#include "tools/arguments/model_file.h"

namespace egret::tools {

inline constexpr const char* kAtHelp =
    "Sizes of symbolic dimensions at which to run, as NAME=SIZE,NAME=SIZE. May be given several "
    "times. What is optimized keeps them open; there, each may have a weight: NAME=SIZE*0.7";

struct AtOptions {
  std::vector<std::string> at;

  static const base::OptionTable<AtOptions>& table();
};

// One run. Equal `sizes` mean equal plans.
struct SizedRun {
  ir::SymbolValues sizes;         // those of the options and of given inputs; others are usual ones
  std::vector<std::string> bind;  // the same as options
  ir::GivenInputs given;
};

// The runs of the model at PATH, or of its bytes; at least one. An input that is given again begins
// another run. Errors: usage for several sets of inputs beside several sizes, and those of
// parse_profiles(), read_input_files() and bind_given().
base::Result<std::vector<SizedRun>> sized_runs(const std::string& path,
                                               const std::optional<std::string>& bytes,
                                               const ModelOptions& model, const AtOptions& at,
                                               const InputOptions& inputs);

// "batch=1, seq=128"; "" for no sizes.
std::string sizes_text(const ir::SymbolValues& sizes);

}  // namespace egret::tools
