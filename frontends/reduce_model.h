// SPDX-License-Identifier: Apache-2.0
// A small model for which a test still holds, from a large one: delta debugging over nodes,
// outputs, attributes, operands, weights and sizes.
//
// Nodes go by becoming inputs of what reads them, so that any set of nodes is a model. This needs
// the types of their values: those that the importer infers, or else those that the model states.
// A node whose value has no known type goes only together with its readers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/progress.h"
#include "base/status.h"

namespace egret::frontends {

struct ReduceOptions {
  // Whether a model still shows what is looked for. An error ends the reduction.
  std::function<base::Result<bool>(const std::string& bytes)> test;
  // Each smaller model for which the test holds, as soon as it is found.
  std::function<base::Status(const std::string& bytes)> found;
  // Infers types by an import, and tests only models that can be imported, if the first one can.
  // Without it, types are those that the model states, and models may be invalid.
  bool imports = true;
  std::int64_t max_tests = 0;  // 0: no limit
  double seconds = 0;          // 0: no limit
  base::ProgressSink* progress = nullptr;
};

struct ReducedModel {
  std::string bytes;
  std::int64_t nodes_before = 0;
  std::int64_t nodes = 0;
  std::int64_t bytes_before = 0;
  std::int64_t tests = 0;
  // "minimal": no single node, output, attribute, operand or size can go; "time", "tests",
  // "interrupted": ended before.
  std::string stop_reason;
};

// Deterministic if the test is. Weights in other files move into the model. Errors: those of
// reading the model; usage_error where the test fails for the model as it is; those of the test and
// of `found`.
base::Result<ReducedModel> reduce_model(const std::string& path, const ReduceOptions& options);

}  // namespace egret::frontends
