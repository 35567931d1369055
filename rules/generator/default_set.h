// SPDX-License-Identifier: Apache-2.0
// The generated set that comes with Egret (rules/data/generated/): each named space in turn, given
// what those before it found.
//
// The same program makes the same bytes, with any number of threads, and when it goes on from the
// decisions of a run that was cut short (FOLDER/NAME.jsonl, kept until all spaces are done).
#pragma once

#include <string>
#include <vector>

#include "rules/generator/generation.h"
#include "rules/generator/spaces/named_spaces.h"

namespace egret::rules::generator {

// All of them, in the order of `spaces`, written to FOLDER/NAME.rules as they are found. Ends early
// on base::stop_requested(), with Generation::stopped in the last.
base::Result<std::vector<Generation>> generate_default_set(std::span<const NamedSpace> spaces,
                                                           const std::string& folder,
                                                           const GenerationOptions& options);

}  // namespace egret::rules::generator
