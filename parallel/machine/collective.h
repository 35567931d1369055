// SPDX-License-Identifier: Apache-2.0
// Collectives: how a distributed tensor gets another placement along one axis of the mesh.
//
//   from   to         name             what the devices of a group do
//   P      R          all_reduce       add up (or compare) what they hold
//   S(d)   R          all_gather       send each other their blocks
//   P      S(d)       reduce_scatter   add up, each the block that it keeps
//   S(d)   S(e)       all_to_all       send each other the parts of their blocks
//   S(d)   S(d)-a+b   halo_exchange    send their neighbours their first and last rows
//   R      S(d)       slice            keep a block, maybe with a halo: nothing is sent
//
// Their meaning is one for all, on the stack of what all devices hold: the whole that a group holds
// (parallel/placement/placement.h) stays what it is. They are operators of placed programs only and
// live here, not in ir/: an operator of ir/ knows of no devices, and its element reads its own
// inputs.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parallel/placement/placement.h"

namespace egret::parallel {

struct Collective {
  int axis = 0;  // of the mesh
  AxisPlacement from;
  AxisPlacement to;
  friend auto operator<=>(const Collective&, const Collective&) = default;
};

// "all_reduce", ...; empty where no collective leads from one to the other.
std::string_view name_of(const Collective& collective);
// Those that lead to `to`, for tensors of so many dimensions.
std::vector<Collective> collectives_to(int axis, AxisPlacement to, int rank);

// What one rank sends, over all steps of a ring of p devices, for a tensor of which each holds
// `from` bytes before and `to` bytes after: the closed forms 2(p-1)/p n of all_reduce, the rows of
// the halo for halo_exchange (of two devices the larger side of it) and (p-1)/p n of the others, n
// being the larger of the two (for all_to_all what a device holds).
double bytes_sent(const Collective& collective, std::int64_t devices, double from, double to);

// What each rank holds afterwards. `locals[rank]` have equal types. Sums are made in the order of
// the coordinates along the axis. Errors: mismatch where copies differ.
base::Result<std::vector<ir::Tensor>> apply(const Collective& collective, const Mesh& mesh,
                                            std::span<const ir::Tensor> locals);

}  // namespace egret::parallel
