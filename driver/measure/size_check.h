// SPDX-License-Identifier: Apache-2.0
// Compares a result with open sizes at further sizes than those it was measured at.
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "driver/measure/output_check.h"
#include "rules/tensors/open_sizes.h"

namespace egret::driver {

// Sizes for the check: all 1, small primes, and numbers near the examples; at most `count` of those
// that the program accepts.
base::Result<std::vector<ir::SymbolValues>> further_sizes(const ir::Graph& program,
                                                          const rules::OpenSizes& open,
                                                          std::size_t count);

// "batch=1, seq=128".
std::string to_string(const ir::SymbolValues& sizes);

// Runs the result at these sizes and compares it with the program; with `quick`, first as
// compare_closely() does. Errors: internal_error if they
// differ; what the backend reports.
base::Status check_at_sizes(const ir::Graph& program, const ir::Graph& result,
                            const ir::SymbolValues& sizes, const backends::Backend& backend,
                            const backends::CompileOptions& plan, const CheckOptions& options,
                            bool quick = false);

}  // namespace egret::driver
