// SPDX-License-Identifier: Apache-2.0
// A group of ranks, one GPU each, that exchange data in GPU memory.
//
// No call blocks forever: NCCL runs in nonblocking mode, and its state is polled up to a time
// limit. A dead rank is detected by NCCL (a later error), by the time limit, or by a signal to this
// process. The group is then aborted, which also ends its waiting kernels on the device, and all
// later calls fail.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "ir/core/dtype.h"
#include "runtime/nccl/library.h"

namespace egret::runtime::nccl {

class Communicator {
 public:
  struct Membership {
    int rank = 0, size = 1;  // in the group
    std::string name;        // for messages: "ranks 0, 1 along 'x'"
    double time_limit_s = 60;
  };

  // For the first rank of a group to send to the others. Errors: unavailable with NCCL's message.
  static base::Result<UniqueId> make_id(const Library& library);

  // All of the group call it, each with its GPU's context current. Errors: rank_failed when not all
  // join within the time limit, or NCCL reports a failure.
  static base::Result<std::unique_ptr<Communicator>> join(const Library& library,
                                                          const UniqueId& id,
                                                          Membership membership);
  // Leaves the group, in order where nothing has failed.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return membership_.rank; }
  int size() const { return membership_.size; }
  const std::string& name() const { return membership_.name; }

  enum class Reduction { kSum, kMax };
  // Enqueue a collective on the stream. Counts are in elements. Sizes are the bytes that each rank
  // gives (for reduce_scatter: receives). Errors: unsupported for a type that NCCL cannot reduce;
  // rank_failed.
  base::Status all_reduce(backends::cuda::DevicePointer from, backends::cuda::DevicePointer to,
                          std::size_t count, ir::DType type, Reduction reduction,
                          backends::cuda::Stream stream);
  base::Status reduce_scatter(backends::cuda::DevicePointer from, backends::cuda::DevicePointer to,
                              std::size_t count, ir::DType type, Reduction reduction,
                              backends::cuda::Stream stream);
  base::Status all_gather(backends::cuda::DevicePointer from, backends::cuda::DevicePointer to,
                          std::size_t bytes, backends::cuda::Stream stream);
  // Point-to-point transfers between begin and end, executed together at the end.
  base::Status begin_transfers();
  base::Status send(backends::cuda::DevicePointer from, std::size_t bytes, int peer,
                    backends::cuda::Stream stream);
  base::Status receive(backends::cuda::DevicePointer to, std::size_t bytes, int peer,
                       backends::cuda::Stream stream);
  base::Status end_transfers();

  // Reports asynchronous errors. Errors: rank_failed; the group is then aborted.
  base::Status check();
  // Ends the group's kernels on the device.
  void abort();

 private:
  Communicator(const Library& library, Membership membership)
      : functions_(library.functions), membership_(std::move(membership)) {}
  // The common part of all_reduce and reduce_scatter.
  base::Status reduce(decltype(Functions::all_reduce) call, const char* what,
                      backends::cuda::DevicePointer from, backends::cuda::DevicePointer to,
                      std::size_t count, ir::DType type, Reduction reduction,
                      backends::cuda::Stream stream);
  // Waits until a call is done, given its first answer.
  base::Status settled(int answer, const char* what);
  base::Status failed(const std::string& what);

  const Functions& functions_;
  Membership membership_;
  Comm comm_ = nullptr;  // nullptr: aborted
};

}  // namespace egret::runtime::nccl
