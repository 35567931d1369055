// SPDX-License-Identifier: Apache-2.0
// Programs that somebody else wrote for the ranks of a mesh, one for each rank, read as one placed
// program.
//
// Which value of the sequential program a rank's value is a part of is inferred. Leaves are
// compared with those of the sequential program that have their name: a weight's elements, and
// otherwise its sizes, say how it is placed. From there placements pass forward. The sizes in
// attributes ("shape" of a reshape) are those of the parts, and those of the whole are the ones for
// which a law gives the part's. What is inferred is checked like any placed program, so a wrong
// guess is refused; what it computes is parallel/placed/sequential_program.h.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/placed/placed_graph.h"
#include "parallel/ranks/rank_interface.h"

namespace egret::parallel {

struct RankCollective {
  enum class Kind : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kSlice };
  Kind kind = Kind::kAllReduce;
  bool maximum = false;               // of kAllReduce and kReduceScatter; otherwise sums
  int dim = 0;                        // that is gathered, or cut afterwards
  int from_dim = 0;                   // of kAllToAll: cut before
  std::string axis{};                 // of the mesh; empty: by the group
  std::vector<std::int64_t> group{};  // ranks, in the order of their blocks; empty: not listed
  std::int64_t size = 0;              // of the group; 0: not stated
  friend bool operator==(const RankCollective&, const RankCollective&) = default;
};

// A rank's program. The results of collectives are nodes of any operator with the sent value as
// their only input.
struct RankProgram {
  ir::Graph graph;
  std::map<ir::NodeId, RankCollective> collectives;
};

// `ranks` has a program for each rank, or one that all ranks run. Errors, which name the node:
//
//   mismatch     inputs or outputs that the model does not have, or outputs in other placements
//   unsupported  inference does not reach the outputs: a node that differs between ranks, elements
//                that are no part of a weight, an operator without a law for what it reads, a
//                collective that does not fit, ranks in another order than the mesh's. The program
//                may be right all the same.
//   bad_input    another number of programs than ranks; see group_of() for collectives
//   limit        a stop was requested
base::Result<PlacedGraph> place(std::span<const RankProgram> ranks, const Mesh& mesh,
                                const ir::Graph& sequential, const NamedPlacements& given);

}  // namespace egret::parallel
