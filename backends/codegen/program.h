// SPDX-License-Identifier: Apache-2.0
// A graph as a sequence of steps, with a place for each value. The caller (host or GPU) provides an
// arena and the kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/codegen/regions.h"
#include "backends/prepare.h"

namespace egret::backends::codegen {

// The place of a value.
struct Place {
  enum class Kind : std::uint8_t { kNone, kInput, kOutput, kConstant, kArena };

  Kind kind = Kind::kNone;
  std::int64_t index = 0;   // of the graph's input or output; kConstant: the node
  std::int64_t offset = 0;  // in bytes, in the arena; for a part also in an output
  ir::NodeId whole{};       // for a part: the concatenation that it is written into
};

struct Program {
  // Invariants: a step reads what earlier steps write, constants and inputs; steps without elements
  // and views are left out.
  ir::Graph graph;                 // prepared
  std::vector<ir::NodeId> origin;  // by node: that of the graph given to compile(), or invalid
  std::vector<Region> steps;
  std::vector<Place> places;  // by node of `graph`
  // Outputs that no step writes: the value to copy, by output.
  struct Copy {
    std::size_t output;
    ir::NodeId value;
  };
  std::vector<Copy> copies;
  std::int64_t arena_bytes = 0;
  std::int64_t folded_nodes = 0;
};

// `regions` partition the prepared graph, in an order of computation. Without `most_apart`, a place
// is free again once all steps that touch its value have run in sequence. With it, a place is free
// only for steps that depend on all of those, so that sharing memory orders no steps that could run
// in parallel; this holds if the arena then takes at most `most_apart` bytes. Time: quadratic in
// the number of values, with `most_apart` cubic, 64 steps at a time in bit sets.
Program make_program(PreparedGraph prepared, std::vector<Region> regions,
                     std::int64_t most_apart = 0);

// The prelude and each emitted kernel once.
std::string source_of(const Program& program, Target target);

// The plan's report without times, weights and fallbacks. `implementation` names emitted kernels;
// the caller names the others.
PlanReport report_of(const Program& program, const ir::Graph& original,
                     const std::string& implementation);

}  // namespace egret::backends::codegen
