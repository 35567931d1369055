// SPDX-License-Identifier: Apache-2.0
// The program of a plan file (parallel/plan/plan_file.h describes its form).
#pragma once

#include <functional>
#include <string>

#include "base/formats/json.h"
#include "base/status.h"
#include "parallel/laws/law_cache.h"
#include "parallel/placed/placed_graph.h"

namespace egret::parallel {

// The weight with this hash (ir::Tensor::content_hash() in hex), or nullptr.
using FindWeight = std::function<const ir::Tensor*(const std::string& hash)>;

// Checked (parallel/placed/placed_graph.h). Errors, which name the node: bad_input for a malformed
// file, mismatch for an exchange that is not the one that the file says, and those of check().
base::Result<PlacedGraph> read_program(const base::Json& plan, const FindWeight& weights);
base::Result<PlacedGraph> read_program(const base::Json& plan, const FindWeight& weights,
                                       LawCache& laws);

}  // namespace egret::parallel
