// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/device_groups.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

namespace egret::runtime {
namespace {

using Bytes = std::vector<std::byte>;

std::string names_of(std::span<const std::int64_t> ranks) {
  std::string text;
  for (const std::int64_t rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

// The first rank of the group makes the id and sends it to the others.
base::Result<nccl::UniqueId> shared_id(const nccl::Library& nccl, bool makes,
                                       std::span<const std::int64_t> group,
                                       const Exchange& exchange) {
  std::vector<Bytes> outgoing(group.size());
  nccl::UniqueId id{};
  if (makes) {
    EGRET_ASSIGN_OR_RETURN(id, nccl::Communicator::make_id(nccl));
    const auto* begin = reinterpret_cast<const std::byte*>(id.bytes);
    std::ranges::fill(outgoing, Bytes(begin, begin + sizeof id.bytes));
  }
  EGRET_ASSIGN_OR_RETURN(const std::vector<Bytes> incoming, exchange(group, outgoing));
  if (incoming.front().size() != sizeof id.bytes)
    return base::internal_error("ranks do not agree on who makes NCCL's id");
  std::memcpy(id.bytes, incoming.front().data(), sizeof id.bytes);
  return id;
}

}  // namespace

// All ranks go through the axes in the same order, so that the ranks of a group meet.
base::Result<AxisCommunicators> join_axes(const nccl::Library& nccl, const parallel::Mesh& mesh,
                                          std::int64_t rank, const Exchange& exchange,
                                          double time_limit_s) {
  AxisCommunicators communicators(static_cast<std::size_t>(mesh.axis_count()));
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (mesh.size(axis) == 1) continue;
    // An axis of size 1 needs no communicator.
    const std::vector<std::int64_t> group = mesh.group(rank, axis);
    EGRET_ASSIGN_OR_RETURN(const auto id, shared_id(nccl, rank == group.front(), group, exchange));
    EGRET_ASSIGN_OR_RETURN(
        communicators[static_cast<std::size_t>(axis)],
        nccl::Communicator::join(
            nccl, id,
            {.rank = static_cast<int>(mesh.coordinate(rank, axis)),
             .size = static_cast<int>(mesh.size(axis)),
             .name = "ranks " + names_of(group) + " along '" + mesh.axis(axis).name + "'",
             .time_limit_s = time_limit_s}));
  }
  return communicators;
}

// Decided by all ranks from the same messages, so that all take the same decision.
base::Status all_have_nccl(const nccl::Library& nccl, const backends::cuda::Device& device,
                           const parallel::Mesh& mesh, const Exchange& exchange) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(mesh.ranks()));
  std::iota(all.begin(), all.end(), 0);
  // Each rank sends its GPU's identity; an empty message means that it has no NCCL.
  Bytes mine;
  for (const char c : device.facts().uuid) {
    if (nccl.has_nccl.ok()) mine.push_back(static_cast<std::byte>(c));
  }
  EGRET_ASSIGN_OR_RETURN(const std::vector<Bytes> theirs,
                         exchange(all, std::vector<Bytes>(all.size(), mine)));
  std::set<Bytes> seen;
  for (std::size_t rank = 0; rank < theirs.size(); ++rank) {
    if (theirs[rank].empty()) {
      return base::unavailable("rank " + std::to_string(rank) + " has no NCCL" +
                               (mine.empty() ? ": " + nccl.has_nccl.message() : ""));
    }
    if (!seen.insert(theirs[rank]).second)
      return base::unavailable("rank " + std::to_string(rank) +
                               " shares its GPU with another rank, which NCCL does not allow");
  }
  return base::ok();
}

}  // namespace egret::runtime
