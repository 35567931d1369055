// SPDX-License-Identifier: Apache-2.0
// A group of ranks, a GPU each, that exchange what lies in the memory of their GPUs.
//
// No call blocks for ever: NCCL is asked to answer at once, and what it has not done yet is polled
// for up to a time limit. A rank that died is noticed by NCCL (an error that comes later), by the
// time limit, or by a signal to this process; then the group is aborted, which also ends the
// kernels that wait on the device, and all that follows fails.
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

  // For the first of a group to hand to the others. Errors: unavailable with NCCL's words.
  static base::Result<UniqueId> make_id(const Library& library);

  // All of the group call it, each with its GPU's context current. Errors: rank_failed when not
  // all are there within the time limit, or NCCL says so.
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
  // Each puts work on the stream. Counts are of elements, sizes of bytes that each rank gives (of
  // reduce_scatter: that it gets). Errors: unsupported for a type that NCCL does not add;
  // rank_failed.
  base::Status all_reduce(backends::cuda::DevicePointer from, backends::cuda::DevicePointer to,
                          std::size_t count, ir::DType type, Reduction reduction,
                          backends::cuda::Stream stream);
  base::Status reduce_scatter(backends::cuda::DevicePointer from, backends::cuda::DevicePointer to,
                              std::size_t count, ir::DType type, Reduction reduction,
                              backends::cuda::Stream stream);
  base::Status all_gather(backends::cuda::DevicePointer from, backends::cuda::DevicePointer to,
                          std::size_t bytes, backends::cuda::Stream stream);
  // Between begin and end, and then at once.
  base::Status begin_transfers();
  base::Status send(backends::cuda::DevicePointer from, std::size_t bytes, int peer,
                    backends::cuda::Stream stream);
  base::Status receive(backends::cuda::DevicePointer to, std::size_t bytes, int peer,
                       backends::cuda::Stream stream);
  base::Status end_transfers();

  // What NCCL noticed meanwhile. Errors: rank_failed; the group is aborted then.
  base::Status check();
  // Ends what runs on the device for this group.
  void abort();

 private:
  Communicator(const Library& library, Membership membership)
      : functions_(library.functions), membership_(std::move(membership)) {}
  // What all_reduce and reduce_scatter have in common: all but NCCL's function.
  base::Status reduce(decltype(Functions::all_reduce) call, const char* what,
                      backends::cuda::DevicePointer from, backends::cuda::DevicePointer to,
                      std::size_t count, ir::DType type, Reduction reduction,
                      backends::cuda::Stream stream);
  // Of a call's answer: waits until it is done.
  base::Status settled(int answer, const char* what);
  base::Status failed(const std::string& what);

  const Functions& functions_;
  Membership membership_;
  Comm comm_ = nullptr;  // nullptr: aborted
};

}  // namespace egret::runtime::nccl
