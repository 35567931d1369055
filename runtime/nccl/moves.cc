// SPDX-License-Identifier: Apache-2.0
#include "runtime/nccl/moves.h"

namespace egret::runtime::nccl {
namespace {

class Mover {
 public:
  Mover(const Addresses& addresses, const backends::cuda::Device& device,
        Communicator* communicator, backends::cuda::Stream stream)
      : addresses_(addresses), device_(device), communicator_(communicator), stream_(stream) {}

  base::Status copy(const std::vector<Rows>& all) const {
    for (const Rows& rows : all) {
      if (rows.bytes == 0 || rows.rows == 0) continue;
      backends::cuda::RowCopy copy;
      copy.from = at(rows.from);
      copy.to = at(rows.to);
      copy.row_bytes = static_cast<std::size_t>(rows.bytes);
      copy.rows = static_cast<std::size_t>(rows.rows);
      // The driver requires pitches of at least a row, even for a single row.
      copy.from_pitch = static_cast<std::size_t>(rows.rows > 1 ? rows.from_pitch : rows.bytes);
      copy.to_pitch = static_cast<std::size_t>(rows.rows > 1 ? rows.to_pitch : rows.bytes);
      EGRET_RETURN_IF_ERROR(
          device_.check(device_.driver().copy_rows(&copy, stream_), "copying rows within it"));
    }
    return base::ok();
  }

  base::Status call(const Moves& moves) const {
    const auto count = static_cast<std::size_t>(moves.count);
    switch (moves.call) {
      case Moves::Call::kNone: return base::ok();
      case Moves::Call::kTransfers: return transfer(moves.transfers);
      default: break;
    }
    if (count == 0) return base::ok();
    if (moves.call == Moves::Call::kAllGather)
      return communicator_->all_gather(at(moves.from), at(moves.to), count, stream_);
    if (moves.call == Moves::Call::kAllReduce)
      return communicator_->all_reduce(at(moves.from), at(moves.to), count, moves.type,
                                       moves.reduction, stream_);
    return communicator_->reduce_scatter(at(moves.from), at(moves.to), count, moves.type,
                                         moves.reduction, stream_);
  }

 private:
  backends::cuda::DevicePointer at(const Spot& spot) const {
    const auto base = [&] {
      switch (spot.buffer) {
        case Buffer::kFrom: return addresses_.from;
        case Buffer::kTo: return addresses_.to;
        case Buffer::kOutgoing: return addresses_.outgoing;
        case Buffer::kIncoming: return addresses_.incoming;
      }
      return backends::cuda::DevicePointer{0};
    }();
    return base + static_cast<backends::cuda::DevicePointer>(spot.offset);
  }

  // Sends and receives form one group. Separate calls could deadlock: each rank would wait in its
  // send for a peer that is in its send too.
  base::Status transfer(const std::vector<Transfer>& transfers) const {
    EGRET_RETURN_IF_ERROR(communicator_->begin_transfers());
    for (const Transfer& each : transfers) {
      const auto bytes = static_cast<std::size_t>(each.bytes);
      if (bytes == 0) continue;
      EGRET_RETURN_IF_ERROR(each.sends
                                ? communicator_->send(at(each.at), bytes, each.peer, stream_)
                                : communicator_->receive(at(each.at), bytes, each.peer, stream_));
    }
    return communicator_->end_transfers();
  }

  const Addresses& addresses_;
  const backends::cuda::Device& device_;
  Communicator* const communicator_;
  backends::cuda::Stream stream_;
};

}  // namespace

// NCCL moves only contiguous memory. Copies before the call gather the rows that it sends, and
// copies after it put the received rows in place. All run in order on one stream.
base::Status enqueue(const Moves& moves, const Addresses& addresses,
                     const backends::cuda::Device& device, Communicator* communicator,
                     backends::cuda::Stream stream) {
  EGRET_CHECK(moves.call == Moves::Call::kNone || communicator != nullptr,
              "a call of NCCL has a communicator");
  const Mover mover(addresses, device, communicator, stream);
  EGRET_RETURN_IF_ERROR(mover.copy(moves.before));
  EGRET_RETURN_IF_ERROR(mover.call(moves));
  return mover.copy(moves.after);
}

}  // namespace egret::runtime::nccl
