// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/device_moves.h"

#include <algorithm>
#include <utility>

namespace egret::runtime {
namespace {

using nccl::Buffer;
using nccl::Moves;
using nccl::Spot;

// A tensor as [outer][count] rows along a dimension; a row is everything inside of one index.
struct Along {
  Along(const ir::TensorType& type, int dim)
      : count(type.dims[static_cast<std::size_t>(dim)].constant()),
        row(static_cast<std::int64_t>(ir::byte_size(type.dtype))) {
    for (int i = 0; i < type.rank(); ++i) {
      const std::int64_t size = type.dims[static_cast<std::size_t>(i)].constant();
      if (i < dim) outer *= size;
      if (i > dim) row *= size;
    }
  }

  std::int64_t pitch() const { return count * row; }  // bytes of one outer index

  std::int64_t outer = 1;
  std::int64_t count;
  std::int64_t row;  // bytes
};

// Copies rows [first, first + count) of each outer index of the tensor at `at` to a contiguous
// place, or back. `all` describes the tensor's rows.
nccl::Rows taken(const Along& all, Spot at, std::int64_t first, std::int64_t count, Spot to) {
  at.offset += first * all.row;
  return {at, to, count * all.row, all.outer, all.pitch(), count * all.row};
}
nccl::Rows put(const Along& all, Spot at, std::int64_t first, std::int64_t count, Spot from) {
  at.offset += first * all.row;
  return {from, at, count * all.row, all.outer, count * all.row, all.pitch()};
}

ir::TensorType resized(ir::TensorType type, int dim, std::int64_t size) {
  type.dims[static_cast<std::size_t>(dim)] = size;
  return type;
}

// Describes a collective as copies before, one call of NCCL, and copies after. NCCL moves
// contiguous blocks; a block of an inner dimension is strided and is packed into a buffer. Blocks
// of the outermost dimension are contiguous already, and nothing is copied.
class Maker {
 public:
  Maker(const parallel::Collective& collective, std::int64_t devices, std::int64_t here,
        const ir::TensorType& local)
      : to_(collective.to),
        from_(collective.from),
        devices_(devices),
        here_(here),
        local_(local),
        elements_(local.elements()),
        bytes_(local.bytes()) {}

  Moves make() && {
    if (from_.is_copy()) {
      slice();
    } else if (from_.is_partial()) {
      to_.is_copy() ? all_reduce() : reduce_scatter();
    } else if (to_.has_halo()) {
      halo_exchange();
    } else {
      to_.is_copy() ? all_gather() : all_to_all();
    }
    return std::move(moves_);
  }

 private:
  static constexpr Spot kFrom{Buffer::kFrom}, kTo{Buffer::kTo}, kOutgoing{Buffer::kOutgoing},
      kIncoming{Buffer::kIncoming};

  static Spot shifted(Spot spot, std::int64_t bytes) {
    spot.offset += bytes;
    return spot;
  }

  void reduce(Moves::Call call) {
    moves_.call = call;
    moves_.type = local_.dtype;
    moves_.reduction = from_.kind == parallel::AxisPlacement::Kind::kSum
                           ? nccl::Communicator::Reduction::kSum
                           : nccl::Communicator::Reduction::kMax;
  }

  void all_reduce() {
    reduce(Moves::Call::kAllReduce);
    moves_.from = kFrom;
    moves_.to = kTo;
    moves_.count = elements_;
  }

  // NCCL scatters contiguous blocks: pack the blocks of the cut dimension in order of rank.
  void reduce_scatter() {
    reduce(Moves::Call::kReduceScatter);
    const Along rows(local_, to_.dim);
    moves_.from = gathered_blocks(rows);
    moves_.to = kTo;
    moves_.count = elements_ / devices_;
  }

  // The place where the value's blocks are contiguous: the value itself, or the outgoing buffer
  // after packing.
  Spot gathered_blocks(const Along& rows) {
    if (rows.outer == 1) return kFrom;
    const std::int64_t block = rows.count / devices_;
    for (std::int64_t i = 0; i < devices_; ++i)
      moves_.before.push_back(
          taken(rows, kFrom, i * block, block, shifted(kOutgoing, i * bytes_ / devices_)));
    moves_.outgoing_bytes = bytes_;
    return kOutgoing;
  }

  // The place where the ranks' blocks may arrive contiguously: the result itself, or the incoming
  // buffer before unpacking.
  Spot scattered_blocks(const Along& whole, std::int64_t bytes) {
    if (whole.outer == 1) return kTo;
    const std::int64_t block = whole.count / devices_;
    for (std::int64_t i = 0; i < devices_; ++i)
      moves_.after.push_back(put(whole, kTo, i * block, block, shifted(kIncoming, i * bytes)));
    moves_.incoming_bytes = devices_ * bytes;
    return kIncoming;
  }

  // Blocks arrive in order of rank. They are the result itself if the cut dimension is the
  // outermost one.
  void all_gather() {
    const Along own(local_, from_.dim);
    const Along whole(resized(local_, from_.dim, own.count * devices_), from_.dim);
    moves_.call = Moves::Call::kAllGather;
    moves_.from = kFrom;
    moves_.to = scattered_blocks(whole, bytes_);
    moves_.count = bytes_;
  }

  // Each pair of ranks exchanges one block: the sender's share of the dimension that is cut next.
  void all_to_all() {
    const Along parts(local_, to_.dim);
    const ir::TensorType part = resized(local_, to_.dim, parts.count / devices_);
    const std::int64_t blocks = Along(part, from_.dim).count;
    const Along result(resized(part, from_.dim, blocks * devices_), from_.dim);
    const std::int64_t bytes = bytes_ / devices_;
    const Spot outgoing = gathered_blocks(parts);
    const Spot incoming = scattered_blocks(result, bytes);
    moves_.call = Moves::Call::kTransfers;
    for (std::int64_t i = 0; i < devices_; ++i) {
      const auto peer = static_cast<int>(i);
      moves_.transfers.push_back({shifted(outgoing, i * bytes), bytes, peer, true});
      moves_.transfers.push_back({shifted(incoming, i * bytes), bytes, peer, false});
    }
  }

  // The outgoing buffer holds the rows for the previous rank, then those for the next one. The
  // incoming buffer holds the rows before, then those after.
  void halo_exchange() {
    const auto [before, after, beyond] = to_.halo;
    const Along own(local_, to_.dim);
    const Along rows(resized(local_, to_.dim, own.count + before + after), to_.dim);
    moves_.call = Moves::Call::kTransfers;
    // The previous rank's last `before` rows and the next rank's first `after` rows become this
    // rank's halo; this rank sends the mirror image.
    const std::int64_t before_bytes = before * own.row * own.outer;
    const std::int64_t after_bytes = after * own.row * own.outer;
    if (here_ > 0) {
      moves_.before.push_back(taken(own, kFrom, 0, after, kOutgoing));
      moves_.after.push_back(put(rows, kTo, 0, before, kIncoming));
      add_neighbour(here_ - 1, kOutgoing, after_bytes, kIncoming, before_bytes);
    }
    if (here_ + 1 < devices_) {
      const Spot outgoing = shifted(kOutgoing, after_bytes);
      const Spot incoming = shifted(kIncoming, before_bytes);
      moves_.before.push_back(taken(own, kFrom, own.count - before, before, outgoing));
      moves_.after.push_back(put(rows, kTo, before + own.count, after, incoming));
      add_neighbour(here_ + 1, outgoing, before_bytes, incoming, after_bytes);
    }
    moves_.after.push_back(put(rows, kTo, before, own.count, kFrom));
    moves_.outgoing_bytes = moves_.incoming_bytes = before_bytes + after_bytes;
  }

  void add_neighbour(std::int64_t peer, Spot outgoing, std::int64_t sent, Spot incoming,
                     std::int64_t received) {
    moves_.transfers.push_back({outgoing, sent, static_cast<int>(peer), true});
    moves_.transfers.push_back({incoming, received, static_cast<int>(peer), false});
  }

  // Copies a block with its halo, as far as the tensor reaches.
  void slice() {
    const auto [before, after, beyond] = to_.halo;
    const Along whole(local_, to_.dim);
    const std::int64_t block = whole.count / devices_;
    const Along held(resized(local_, to_.dim, block + before + after), to_.dim);
    // Rows that the tensor has: the block with its halo, cut at both ends of the tensor. `skipped`
    // rows at the beginning keep the fill value.
    const std::int64_t first = std::max<std::int64_t>(here_ * block - before, 0);
    const std::int64_t end = std::min((here_ + 1) * block + after, whole.count);
    const std::int64_t skipped = first - (here_ * block - before);
    moves_.before.push_back({shifted(kFrom, first * whole.row), shifted(kTo, skipped * held.row),
                             (end - first) * whole.row, whole.outer, whole.pitch(), held.pitch()});
  }

  const parallel::AxisPlacement to_, from_;
  const std::int64_t devices_, here_;
  const ir::TensorType& local_;
  const std::int64_t elements_, bytes_;
  Moves moves_;
};

}  // namespace

Moves device_moves(const parallel::Collective& collective, std::int64_t devices, std::int64_t here,
                   const ir::TensorType& local) {
  return Maker(collective, devices, here, local).make();
}

}  // namespace egret::runtime
