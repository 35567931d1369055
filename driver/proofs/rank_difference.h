// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/ranks/rank_programs.h"

namespace egret::driver {

// An output of a rank that is not the model's.
struct RankDifference {
  std::string output;
  std::int64_t rank = 0;
  double difference = 0;  // the largest; 0 where the sizes differ
};

// Runs the programs of all ranks together, and the model, on random inputs, for programs that
// parallel::place() does not place. nullopt: all outputs agree within 1e-5 of their largest
// element, which proves nothing. Errors: those of parallel::interface_of(), parallel::run_ranks()
// and the interpreter.
base::Result<std::optional<RankDifference>> difference_of_ranks(
    std::span<const parallel::RankProgram> ranks, const parallel::Mesh& mesh,
    const ir::Graph& sequential, const parallel::NamedPlacements& given, std::uint64_t seed,
    const std::function<bool()>& should_stop);

}  // namespace egret::driver
