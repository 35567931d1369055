// SPDX-License-Identifier: Apache-2.0
// One ONNX backend test: a folder with model.onnx and test_data_set_K/{input,output}_I.pb.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "backends/precision.h"
#include "base/status.h"
#include "ir/core/tensor.h"

namespace egret::conformance {

enum class Outcome {
  kPassed,
  kUnsupported,  // an operator that Egret does not claim; the message names it
  kRefused,      // the operators are claimed, a feature of them is not
  kFailed,
  kNotRun,
};

// The programs that each case is run as; all must compute the expected outputs.
enum class Way {
  kPlain,
  kAfterExport,    // exported and imported again
  kAfterOptimize,  // through e-graph, starter rules, extraction and folding
  kOnBackend,      // by a backend; the others by the interpreter
};
inline constexpr std::array kWays = {Way::kPlain, Way::kAfterExport, Way::kAfterOptimize,
                                     Way::kOnBackend};
std::string_view to_string(Way way);

// $EGRET_CONFORMANCE_BACKEND, else cpu. Where it is given, cases are run in that way alone.
std::string backend_under_test();
// $EGRET_CONFORMANCE_PRECISION, else f32: of that backend. Less than f32 loosens the bound.
backends::Precision precision_under_test();

struct WayResult {
  Outcome outcome;
  std::string message;  // why not passed
};

struct CaseResult {
  std::string name;                          // "node/test_abs"
  std::array<WayResult, kWays.size()> ways;  // in the order of kWays
  std::string note;                          // of the import
};

// Writes what export makes of the case's model to `path`, and beside it (path + ".fixed") the
// positions of the inputs that became constants. Nothing for a case that is not supported.
base::Status export_backend_case(const std::string& folder, const std::string& path);

// Imports, then runs and compares with the expected outputs in each way.
CaseResult run_backend_case(const std::string& folder, const std::string& name);

// Equal type, and values within what ONNX's own runner allows: relative 1e-3 and absolute 1e-7 for
// reals (bf16: 1e-2), exactly for the rest. NaN equals NaN.
base::Status expect_close(const ir::Tensor& actual, const ir::Tensor& expected);

// The folders of test cases in a data folder, sorted; empty when it does not exist.
std::vector<std::string> case_names(const std::string& data_folder);

}  // namespace egret::conformance
