// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/boundary_messages.h"

#include "base/check.h"
#include "runtime/pipeline/tensor_bytes.h"

namespace egret::runtime {
namespace {

using parallel::BoundaryMoves;
using parallel::Stage;

void describe(const Stage& stage, const std::vector<std::size_t>& nodes, const BoundaryMoves& moves,
              BoundarySide& side) {
  side.nodes = nodes;
  side.types.clear();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto type =
        parallel::local_type(moves.wholes[i], stage.placement(nodes[i]), stage.mesh());
    EGRET_CHECK(type.ok(), "a value that its placement fits");
    side.types.push_back(*type);
  }
}

const Stage& stage_at(const parallel::StagedStep& step, std::int64_t at) {
  return step.stages[static_cast<std::size_t>(at)];
}

}  // namespace

BoundarySide sent_over(const parallel::StagedStep& step, std::int64_t boundary, bool backward,
                       std::int64_t place) {
  const Stage& sender = stage_at(step, boundary + (backward ? 1 : 0));
  const Stage& receiver = stage_at(step, boundary + (backward ? 0 : 1));
  BoundarySide side;
  for (std::int64_t to = 0; to < receiver.mesh().ranks(); ++to) {
    const BoundaryMoves moves = parallel::boundary_moves(step, boundary, backward, to);
    if (to == 0) describe(sender, moves.from_nodes, moves, side);
    if (const std::int64_t bytes = moves.bytes(place); bytes > 0)
      side.messages.push_back({to, moves.by_place[static_cast<std::size_t>(place)], bytes});
  }
  return side;
}

BoundarySide received_over(const parallel::StagedStep& step, std::int64_t boundary, bool backward,
                           std::int64_t place) {
  const Stage& receiver = stage_at(step, boundary + (backward ? 0 : 1));
  const BoundaryMoves moves = parallel::boundary_moves(step, boundary, backward, place);
  BoundarySide side;
  describe(receiver, moves.to_nodes, moves, side);
  for (std::size_t from = 0; from < moves.by_place.size(); ++from) {
    const auto at = static_cast<std::int64_t>(from);
    if (const std::int64_t bytes = moves.bytes(at); bytes > 0)
      side.messages.push_back({at, moves.by_place[from], bytes});
  }
  return side;
}

MessageBytes packed(const BoundaryMessage& message,
                    const std::function<ir::Tensor(std::size_t value)>& share) {
  MessageBytes bytes;
  bytes.reserve(static_cast<std::size_t>(message.bytes));
  for (std::size_t i = 0; i < message.runs.size(); ++i)
    append_runs(share(i), message.runs[i], bytes);
  return bytes;
}

base::Status unpack(const BoundaryMessage& message, const MessageBytes& bytes,
                    std::vector<ir::Tensor>& shares) {
  if (static_cast<std::int64_t>(bytes.size()) != message.bytes)
    return base::internal_error("ranks do not agree on the messages of a pipeline");
  std::size_t at = 0;
  for (std::size_t i = 0; i < message.runs.size(); ++i)
    EGRET_RETURN_IF_ERROR(write_runs(bytes, at, message.runs[i], shares[i]));
  return base::ok();
}

}  // namespace egret::runtime
