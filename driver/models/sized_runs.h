// SPDX-License-Identifier: Apache-2.0
// Runs of a model at several sizes in one call: --at gives the sizes, or --input several sets of
// inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/options/option_table.h"
#include "base/status.h"
#include "driver/models/input_values.h"
#include "driver/models/read_model.h"
#include "ir/core/symbol_values.h"
#include "ir/evaluate/given_inputs.h"

namespace egret::driver {

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

// The runs of a model; at least one. An input that is given again begins another run. Errors: usage
// for several sets of inputs beside several sizes, and those of parse_profiles(),
// read_input_sets() and bind_given().
base::Result<std::vector<SizedRun>> sized_runs(const ModelSource& source, const ModelOptions& model,
                                               const AtOptions& at, const InputOptions& inputs);

// "batch=1, seq=128"; "" for no sizes.
std::string sizes_text(const ir::SymbolValues& sizes);

}  // namespace egret::driver
