// SPDX-License-Identifier: Apache-2.0
// A collective as data: copies of rows on the device before and after one NCCL call. NCCL moves
// contiguous blocks. A tensor cut in another dimension than its first is strided, so it is packed
// before the call and unpacked after it.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cuda/api/device.h"
#include "runtime/nccl/communicator.h"

namespace egret::runtime::nccl {

enum class Buffer : std::uint8_t { kFrom, kTo, kOutgoing, kIncoming };

struct Spot {
  Buffer buffer = Buffer::kFrom;
  std::int64_t offset = 0;  // bytes
};

// `rows` rows of `bytes`, at the given pitches.
struct Rows {
  Spot from, to;
  std::int64_t bytes = 0, rows = 1, from_pitch = 0, to_pitch = 0;
};

struct Transfer {
  Spot at;
  std::int64_t bytes = 0;
  int peer = 0;
  bool sends = false;
};

struct Moves {
  enum class Call : std::uint8_t { kNone, kAllReduce, kReduceScatter, kAllGather, kTransfers };

  std::vector<Rows> before;
  Call call = Call::kNone;
  Spot from, to;                     // of all calls but transfers
  std::int64_t count = 0;            // elements of reductions, bytes of kAllGather; 0: nothing
  ir::DType type = ir::DType::kF32;  // of reductions
  Communicator::Reduction reduction = Communicator::Reduction::kSum;
  std::vector<Transfer> transfers;
  std::vector<Rows> after;
  std::int64_t outgoing_bytes = 0, incoming_bytes = 0;  // of the scratch buffers
};

struct Addresses {
  backends::cuda::DevicePointer from = 0, to = 0, outgoing = 0, incoming = 0;
};

// Enqueues all of it on the stream. `communicator` may be nullptr where there is no call.
base::Status enqueue(const Moves& moves, const Addresses& addresses,
                     const backends::cuda::Device& device, Communicator* communicator,
                     backends::cuda::Stream stream);

}  // namespace egret::runtime::nccl
