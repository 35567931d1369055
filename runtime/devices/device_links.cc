// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/device_links.h"

#include <algorithm>
#include <utility>

#include "base/stop.h"
#include "base/system/rest.h"
#include "base/timer.h"
#include "runtime/devices/device_moves.h"

namespace egret::runtime {
namespace {

using backends::cuda::DevicePointer;

constexpr std::int64_t kAlignment = 256;

std::size_t aligned(std::int64_t bytes) {
  return static_cast<std::size_t>((std::max<std::int64_t>(bytes, 1) + kAlignment - 1) / kAlignment *
                                  kAlignment);
}

class DeviceTransport final : public LinkTransport {
 public:
  DeviceTransport(std::shared_ptr<backends::cuda::Device> device, const parallel::Mesh& mesh,
                  std::int64_t rank, AxisCommunicators communicators, double time_limit_s)
      : device_(std::move(device)),
        mesh_(mesh),
        rank_(rank),
        communicators_(std::move(communicators)),
        time_limit_s_(time_limit_s) {}
  ~DeviceTransport() override {
    (void)device_->enter();
    communicators_.clear();
  }

  base::Result<Run> collective(const parallel::Collective& collective,
                               const ir::TensorType& local) override {
    const std::int64_t p = mesh_.size(collective.axis);
    // No collective makes more of a value than all of it.
    return run_of(device_moves(collective, p, mesh_.coordinate(rank_, collective.axis), local),
                  collective.axis, local.bytes(), p * local.bytes());
  }

  base::Result<Run> message(int axis, std::int64_t bytes) override {
    const std::int64_t p = mesh_.size(axis), here = mesh_.coordinate(rank_, axis);
    nccl::Moves moves;
    moves.call = nccl::Moves::Call::kTransfers;
    moves.transfers = {{{nccl::Buffer::kFrom}, bytes, static_cast<int>((here + 1) % p), true},
                       {{nccl::Buffer::kTo}, bytes, static_cast<int>((here + p - 1) % p), false}};
    return run_of(std::move(moves), axis, bytes, bytes);
  }

 private:
  // The buffers live as long as the run.
  struct Prepared {
    nccl::Moves moves;
    backends::cuda::Owned<DevicePointer> memory;
    nccl::Addresses addresses;
    backends::cuda::Owned<backends::cuda::Event> done;
    nccl::Communicator* communicator = nullptr;
  };

  base::Result<Run> run_of(nccl::Moves moves, int axis, std::int64_t from, std::int64_t to) {
    EGRET_RETURN_IF_ERROR(device_->enter());
    auto prepared = std::make_shared<Prepared>();
    const std::size_t sizes[] = {aligned(from), aligned(to), aligned(moves.outgoing_bytes),
                                 aligned(moves.incoming_bytes)};
    std::size_t bytes = 0;
    for (const std::size_t size : sizes) bytes += size;
    EGRET_ASSIGN_OR_RETURN(prepared->memory, device_->allocate(bytes));
    EGRET_ASSIGN_OR_RETURN(prepared->done, device_->event(backends::cuda::kEventWithoutTiming));
    DevicePointer at = prepared->memory.get();
    DevicePointer* places[] = {&prepared->addresses.from, &prepared->addresses.to,
                               &prepared->addresses.outgoing, &prepared->addresses.incoming};
    for (std::size_t i = 0; i < std::size(places); ++i) {
      *places[i] = at;
      at += static_cast<DevicePointer>(sizes[i]);
    }
    prepared->moves = std::move(moves);
    prepared->communicator = communicators_[static_cast<std::size_t>(axis)].get();
    return Run([this, prepared] { return run(*prepared); });
  }

  base::Status run(const Prepared& prepared) {
    EGRET_RETURN_IF_ERROR(nccl::enqueue(prepared.moves, prepared.addresses, *device_,
                                        prepared.communicator, device_->stream()));
    EGRET_RETURN_IF_ERROR(
        device_->check(device_->driver().event_record(prepared.done.get(), device_->stream()),
                       "recording an event"));
    // Polls, because a kernel that waits for a dead rank never ends by itself.
    const base::Stopwatch watch;
    for (base::Rest rest;; rest.pause()) {
      EGRET_ASSIGN_OR_RETURN(const bool done, device_->is_done(prepared.done.get()));
      if (done) return base::ok();
      EGRET_RETURN_IF_ERROR(prepared.communicator->check());
      if (base::stop_requested() || watch.seconds() > time_limit_s_) {
        prepared.communicator->abort();
        return {base::StatusCode::kRankFailed,
                "no answer within " + std::to_string(time_limit_s_) + " s from all ranks"};
      }
    }
  }

  std::shared_ptr<backends::cuda::Device> device_;
  const parallel::Mesh mesh_;
  const std::int64_t rank_;
  AxisCommunicators communicators_;
  const double time_limit_s_;
};

}  // namespace

std::unique_ptr<LinkTransport> make_device_transport(std::shared_ptr<backends::cuda::Device> device,
                                                     const parallel::Mesh& mesh, std::int64_t rank,
                                                     AxisCommunicators communicators,
                                                     double time_limit_s) {
  return std::make_unique<DeviceTransport>(std::move(device), mesh, rank, std::move(communicators),
                                           time_limit_s);
}

base::Result<LinkProfile> profile_device_links(const RankPlace& place,
                                               const LinkProfileOptions& options,
                                               const nccl::Library& nccl,
                                               std::shared_ptr<backends::cuda::Device> device,
                                               double time_limit_s) {
  const auto make =
      [&](const parallel::Mesh& mesh) -> base::Result<std::unique_ptr<LinkTransport>> {
    EGRET_RETURN_IF_ERROR(all_have_nccl(nccl, *device, mesh, place.exchange));
    EGRET_ASSIGN_OR_RETURN(AxisCommunicators communicators,
                           join_axes(nccl, mesh, place.rank, place.exchange, time_limit_s));
    return make_device_transport(std::move(device), mesh, place.rank, std::move(communicators),
                                 time_limit_s);
  };
  return profile_links(place, options, make);
}

}  // namespace egret::runtime
