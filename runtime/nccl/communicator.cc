// SPDX-License-Identifier: Apache-2.0
#include "runtime/nccl/communicator.h"

#include <utility>

#include "base/stop.h"
#include "base/system/rest.h"
#include "base/timer.h"

namespace egret::runtime::nccl {
namespace {

base::Status rank_failed(std::string message) {
  return {base::StatusCode::kRankFailed, std::move(message)};
}

// NCCL's code of the type; -1 where NCCL cannot reduce it.
int element_type(ir::DType type) {
  switch (type) {
    case ir::DType::kF16: return kFloat16;
    case ir::DType::kBF16: return kBFloat16;
    case ir::DType::kF32: return kFloat32;
    case ir::DType::kF64: return kFloat64;
    case ir::DType::kI8: return kInt8;
    case ir::DType::kU8: return kUint8;
    case ir::DType::kI32: return kInt32;
    case ir::DType::kU32: return kUint32;
    case ir::DType::kI64: return kInt64;
    case ir::DType::kU64: return kUint64;
    default: return -1;
  }
}

int number_of(Communicator::Reduction reduction) {
  return reduction == Communicator::Reduction::kSum ? kReduceSum : kReduceMax;
}

base::Status not_added(ir::DType type) {
  return base::unsupported("NCCL does not add elements of type " + std::string(to_string(type)));
}

void* at(backends::cuda::DevicePointer pointer) { return reinterpret_cast<void*>(pointer); }

}  // namespace

base::Result<UniqueId> Communicator::make_id(const Library& library) {
  EGRET_RETURN_IF_ERROR(library.has_nccl);
  UniqueId id;
  const int status = library.functions.unique_id(&id);
  if (status == kOk) return id;
  return base::unavailable(std::string("NCCL failed to start: ") +
                           library.functions.error_text(status));
}

// Non-blocking, so that a missing rank is noticed by the time limit.
base::Result<std::unique_ptr<Communicator>> Communicator::join(const Library& library,
                                                               const UniqueId& id,
                                                               Membership membership) {
  EGRET_RETURN_IF_ERROR(library.has_nccl);
  std::unique_ptr<Communicator> made(new Communicator(library, std::move(membership)));
  Config config;
  config.blocking = 0;
  const int answer = library.functions.join(&made->comm_, made->size(), id, made->rank(), &config);
  EGRET_RETURN_IF_ERROR(made->settled(answer, "joining"));
  return made;
}

Communicator::~Communicator() {
  if (comm_ == nullptr) return;
  if (!settled(functions_.finalize(comm_), "leaving").ok()) return;  // aborted
  functions_.destroy(comm_);
}

// Waits until the communicator has accepted the call. A non-blocking communicator answers "in
// progress" at once and reports the outcome only when it is asked.
base::Status Communicator::settled(int answer, const char* what) {
  const base::Stopwatch watch;
  // A stop request or the time limit aborts the group.
  for (base::Rest rest; answer == kInProgress;) {
    if (base::stop_requested()) return failed(std::string(what) + " was stopped");
    if (watch.seconds() > membership_.time_limit_s) {
      return failed(std::string(what) + " took more than " +
                    std::to_string(membership_.time_limit_s) + " s");
    }
    rest.pause();
    int state = kInProgress;
    const int asked = functions_.async_error(comm_, &state);
    answer = asked == kOk ? state : asked;
  }
  if (answer == kOk) return base::ok();
  return failed(std::string(what) + ": " + functions_.error_text(answer));
}

// A communicator is unusable after an error: abort() also ends the kernels that wait for its peers.
base::Status Communicator::failed(const std::string& what) {
  abort();
  return rank_failed("NCCL among " + membership_.name + ": " + what);
}

void Communicator::abort() {
  if (comm_ != nullptr) functions_.abort(std::exchange(comm_, nullptr));
}

// Errors of earlier calls are asynchronous, so each new call asks for them first.
base::Status Communicator::check() {
  if (comm_ == nullptr) return rank_failed("NCCL among " + membership_.name + " was aborted");
  int state = kOk;
  const int asked = functions_.async_error(comm_, &state);
  const int answer = asked == kOk ? state : asked;
  if (answer == kOk || answer == kInProgress) return base::ok();
  return failed(functions_.error_text(answer));
}

base::Status Communicator::all_reduce(backends::cuda::DevicePointer from,
                                      backends::cuda::DevicePointer to, std::size_t count,
                                      ir::DType type, Reduction reduction,
                                      backends::cuda::Stream stream) {
  return reduce(functions_.all_reduce, "all_reduce", from, to, count, type, reduction, stream);
}

base::Status Communicator::reduce_scatter(backends::cuda::DevicePointer from,
                                          backends::cuda::DevicePointer to, std::size_t count,
                                          ir::DType type, Reduction reduction,
                                          backends::cuda::Stream stream) {
  return reduce(functions_.reduce_scatter, "reduce_scatter", from, to, count, type, reduction,
                stream);
}

base::Status Communicator::reduce(decltype(Functions::all_reduce) call, const char* what,
                                  backends::cuda::DevicePointer from,
                                  backends::cuda::DevicePointer to, std::size_t count,
                                  ir::DType type, Reduction reduction,
                                  backends::cuda::Stream stream) {
  if (element_type(type) < 0) return not_added(type);
  EGRET_RETURN_IF_ERROR(check());
  const int answer =
      call(at(from), at(to), count, element_type(type), number_of(reduction), comm_, stream);
  return settled(answer, what);
}

base::Status Communicator::all_gather(backends::cuda::DevicePointer from,
                                      backends::cuda::DevicePointer to, std::size_t bytes,
                                      backends::cuda::Stream stream) {
  EGRET_RETURN_IF_ERROR(check());
  return settled(functions_.all_gather(at(from), at(to), bytes, kUint8, comm_, stream),
                 "all_gather");
}

// Within a group, calls are answered when the group ends.
base::Status Communicator::begin_transfers() {
  EGRET_RETURN_IF_ERROR(check());
  const int answer = functions_.group_begin();
  return answer == kOk ? base::ok() : failed(functions_.error_text(answer));
}

base::Status Communicator::send(backends::cuda::DevicePointer from, std::size_t bytes, int peer,
                                backends::cuda::Stream stream) {
  const int answer = functions_.send(at(from), bytes, kUint8, peer, comm_, stream);
  return answer == kOk || answer == kInProgress ? base::ok()
                                                : failed(functions_.error_text(answer));
}

base::Status Communicator::receive(backends::cuda::DevicePointer to, std::size_t bytes, int peer,
                                   backends::cuda::Stream stream) {
  const int answer = functions_.receive(at(to), bytes, kUint8, peer, comm_, stream);
  return answer == kOk || answer == kInProgress ? base::ok()
                                                : failed(functions_.error_text(answer));
}

base::Status Communicator::end_transfers() {
  return settled(functions_.group_end(), "send and receive");
}

}  // namespace egret::runtime::nccl
