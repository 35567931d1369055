// SPDX-License-Identifier: Apache-2.0
// Ranks' programs run together, to show that they are wrong where inference does not reach the
// outputs. No placement of an inner value is needed, and no law.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "parallel/ranks/rank_programs.h"

namespace egret::parallel {

// The outputs of each rank, in f64, on inputs of the whole model by name. `interface` says which
// part of them a rank has. Ranks run one after the other up to their next exchange. Errors:
// unsupported where they cannot be run together (their exchanges differ in order, kind or sizes),
// are more than 1024, or would hold more than 2^27 elements in all; those of exchange groups and of
// the interpreter; limit when should_stop() says so.
base::Result<std::vector<std::vector<ir::Tensor>>> run_ranks(
    std::span<const RankProgram> ranks, const Mesh& mesh, const RankInterface& interface,
    const std::map<std::string, ir::Tensor>& inputs, const std::function<bool()>& should_stop);

}  // namespace egret::parallel
