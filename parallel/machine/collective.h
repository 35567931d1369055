// SPDX-License-Identifier: Apache-2.0
// Collectives: changes of a distributed tensor's placement along one axis of the mesh.
//
//   from   to         name             what the devices of a group do
//   P      R          all_reduce       add up (or compare) what they hold
//   S(d)   R          all_gather       send each other their blocks
//   P      S(d)       reduce_scatter   add up, each the block that it keeps
//   S(d)   S(e)       all_to_all       send each other the parts of their blocks
//   S(d)   S(d)-a+b   halo_exchange    send their neighbours their first and last rows
//   R      S(d)       slice            keep a block, maybe with a halo: nothing is sent
//
// All have one meaning on the tensors of a group: the whole that the group holds
// (parallel/placement/placement.h) does not change. They are operators of placed programs only and
// live here, not in ir/: operators of ir/ do not know devices, and their elements read their own
// inputs only.
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
// The collectives that lead to `to`, for tensors of `rank` dimensions.
std::vector<Collective> collectives_to(int axis, AxisPlacement to, int rank);

// The bytes that one rank sends over all steps of a ring of p devices, for a tensor of which each
// holds `from` bytes before and `to` bytes after. Closed forms: 2(p-1)/p n for all_reduce; the
// halo's rows for halo_exchange (with two devices its larger side); (p-1)/p n for the others. n is
// the larger of `from` and `to` (for all_to_all a device's share).
double bytes_sent(const Collective& collective, std::int64_t devices, double from, double to);

// The tensors of all ranks afterwards. `locals[rank]` have equal types. Sums are added in the order
// of the coordinates along the axis. Errors: mismatch where copies differ.
base::Result<std::vector<ir::Tensor>> apply(const Collective& collective, const Mesh& mesh,
                                            std::span<const ir::Tensor> locals);

}  // namespace egret::parallel
