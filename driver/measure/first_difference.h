// SPDX-License-Identifier: Apache-2.0
// Where two models that compute different outputs begin to differ.
//
// Both have values of the same names: `b` may be what an optimizer made of `a`, or the same model
// in an engine. Both put these values out, and the first one that rounding does not explain is the
// difference.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "base/formats/json.h"
#include "base/status.h"
#include "driver/measure/output_check.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// A value of two models, or an output of both.
struct SharedValue {
  std::string name;
  ir::NodeId a;
  ir::NodeId b;
};

// Values that operators compute in both graphs, of the same name and type, in the order of `b`.
// `may_observe`: whether a value of `b` can be put out.
std::vector<SharedValue> shared_values(
    const ir::Graph& a, const ir::Graph& b,
    const std::function<bool(const std::string& name)>& may_observe = {});

// How a graph computes a value: operators, and the shared values, inputs and constants before them.
struct Derivation {
  std::vector<std::string> from;
  std::vector<std::string> operators;  // in the order of the graph
};

struct FirstDifference {
  enum class Origin {
    kModels,  // the interpreter finds it, too
    kRun,     // only where `b` runs
    kFusion,  // only where `b` runs and does not store all shared values
  };
  OutputError error;  // its name is the value's in `b`
  std::string name_in_a;
  Origin origin = Origin::kModels;
  Derivation in_a;
  Derivation in_b;
  std::vector<std::string> weights;  // constants of one name with other elements, among in_b.from
  // kFusion: the difference disappears if any one of these values is stored, too.
  std::vector<std::string> not_stored;
  std::size_t compared = 0;  // shared values
};

// "models", "run", "fusion".
std::string_view name_of(FirstDifference::Origin origin);
base::Json to_json(const FirstDifference& found);
// Some lines for people.
std::string to_string(const FirstDifference& found);

// Runs `b` where the outputs differ. `stored` are outputs of the graph after those of `b`.
using PlanOfStored = std::function<base::Result<std::unique_ptr<backends::ExecutablePlan>>(
    const ir::Graph& with_stored, std::span<const SharedValue> stored)>;

// nullopt: no output differs. Takes some interpretations of `a` with all shared values in memory,
// one of `b`, and one plan; for kFusion O(values) plans, at worst O(values^2). Errors: those of
// OutputCheck and of plans; mismatch for other types of inputs or outputs.
base::Result<std::optional<FirstDifference>> first_difference(
    const ir::Graph& a, const ir::Graph& b, const std::vector<SharedValue>& shared,
    const PlanOfStored& plan_of, const CheckOptions& options);

}  // namespace egret::driver
