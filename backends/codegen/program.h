// SPDX-License-Identifier: Apache-2.0
// A graph as steps that run one after the other, and where each value lies meanwhile. Whoever runs
// a program (the host, a GPU) brings an arena and the kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/codegen/regions.h"
#include "backends/prepare.h"

namespace egret::backends::codegen {

// Where a value is.
struct Place {
  enum class Kind : std::uint8_t { kNone, kInput, kOutput, kConstant, kArena };

  Kind kind = Kind::kNone;
  std::int64_t index = 0;   // of the graph's input or output; kConstant: the node
  std::int64_t offset = 0;  // bytes, in the arena; of a part also in an output
  ir::NodeId whole{};       // of a part: the value that it is joined into, with others
};

struct Program {
  // Invariants: a step reads what earlier steps write, constants and inputs; steps without elements
  // and views are left out.
  ir::Graph graph;                 // prepared
  std::vector<ir::NodeId> origin;  // by node: that of the graph given to compile(), or invalid
  std::vector<Region> steps;
  std::vector<Place> places;  // by node of `graph`
  // Outputs of the graph that no step writes: the value to copy, by output.
  struct Copy {
    std::size_t output;
    ir::NodeId value;
  };
  std::vector<Copy> copies;
  std::int64_t arena_bytes = 0;
  std::int64_t folded_nodes = 0;
};

// `regions`: of the prepared graph, in an order in which they can be computed. A value's place is
// free for another once all that touch it have run, one after the other; or, if the arena then
// takes no more than `most_apart` bytes, for what depends on all of those: places then order no
// steps that may run beside each other. Time: quadratic in their number, and with `most_apart`
// cubic, 64 of them at a time.
Program make_program(PreparedGraph prepared, std::vector<Region> regions,
                     std::int64_t most_apart = 0);

// The prelude and each emitted kernel once.
std::string source_of(const Program& program, Target target);

// What a plan over the program reports, but for times, weights and fallbacks. `implementation` is
// of emitted kernels; the caller names others.
PlanReport report_of(const Program& program, const ir::Graph& original,
                     const std::string& implementation);

}  // namespace egret::backends::codegen
