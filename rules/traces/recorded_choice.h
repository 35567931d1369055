// SPDX-License-Identifier: Apache-2.0
// A choice of an instance that outlives its rule: attributes by the number of the application, not
// by its term, and the numbers that the elements of its constants are.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/formats/json.h"
#include "rules/testing/instance.h"

namespace egret::rules {

struct RecordedChoice {
  std::map<int, ir::TensorType> variables{};  // by slot, with numeric sizes
  std::vector<ir::Attrs> attrs{};             // in the order of source_applications()
  std::map<int, double> splats{};             // by slot
};

RecordedChoice recorded(const Rule& rule, const Choice& choice);
RecordedChoice recorded(const Rule& rule, const Instance& instance);  // with its splats
// nullopt if the rule has other variables or applications.
std::optional<Choice> choice_of(const Rule& rule, const RecordedChoice& choice);

base::Json json_of(const RecordedChoice& choice);
// Errors: bad_input.
base::Result<RecordedChoice> parse_recorded_choice(const base::Json& json);

}  // namespace egret::rules
