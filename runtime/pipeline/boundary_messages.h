// SPDX-License-Identifier: Apache-2.0
// The messages of one rank over one boundary of its stage, in one direction: which elements of its
// shares go to which ranks of the neighbouring stage, and which come from there
// (parallel/pipeline/block_moves.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "parallel/pipeline/block_moves.h"
#include "runtime/mpi/messages.h"

namespace egret::runtime {

// A message to or from one place of the neighbouring group.
struct BoundaryMessage {
  std::int64_t place = 0;
  std::vector<std::vector<parallel::ElementRun>> runs;  // by value
  std::int64_t bytes = 0;
};

struct BoundarySide {
  std::vector<std::size_t> nodes;     // of this stage, by value
  std::vector<ir::TensorType> types;  // of a rank's share, by value
  std::vector<BoundaryMessage> messages;
};

// What a rank at this place of the sending stage sends, and of the receiving stage receives; see
// boundary_moves().
BoundarySide sent_over(const parallel::StagedStep& step, std::int64_t boundary, bool backward,
                       std::int64_t place);
BoundarySide received_over(const parallel::StagedStep& step, std::int64_t boundary, bool backward,
                           std::int64_t place);

// The bytes of one message, of values that SHARE gives by value.
MessageBytes packed(const BoundaryMessage& message,
                    const std::function<ir::Tensor(std::size_t value)>& share);
// Writes a message into shares, by value. Errors: internal, for bytes of another message.
base::Status unpack(const BoundaryMessage& message, const MessageBytes& bytes,
                    std::vector<ir::Tensor>& shares);

}  // namespace egret::runtime
