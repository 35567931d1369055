// SPDX-License-Identifier: Apache-2.0
#include "backends/mpi/world.h"

#include <cstdlib>

#ifdef EGRET_MPI
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "base/stop.h"
#include "base/timer.h"
#endif

namespace egret::backends {

bool MpiWorld::is_distributed() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

#ifdef EGRET_MPI

namespace {

base::Status rank_failed(std::string message) {
  return {base::StatusCode::kRankFailed, std::move(message)};
}

base::Status status_of(int code, const char* what) {
  if (code == MPI_SUCCESS) return base::ok();
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return rank_failed(std::string(what) + ": " +
                     std::string(text, static_cast<std::size_t>(length)));
}

std::string names_of(std::span<const std::int64_t> group) {
  std::string text;
  for (const std::int64_t rank : group) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

}  // namespace

// Calls back when it is not gone in time.
class Watchdog {
 public:
  Watchdog(double seconds, const MpiWorld::OnHang& on_hang, const char* what)
      : thread_([=, this] {
          std::unique_lock lock(mutex_);
          const auto limit = std::chrono::duration<double>(seconds);
          if (!changed_.wait_for(lock, limit, [&] { return done_; }))
            on_hang(std::string(what) + " within " + std::to_string(seconds) + " s");
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;  // last: the others exist when it starts
};

struct MpiWorld::Impl {
  double time_limit_s = 0;
  OnHang on_hang;
  std::map<std::vector<std::int64_t>, MPI_Comm> groups;

  base::Result<MPI_Comm> communicator(std::span<const std::int64_t> ranks) {
    const std::vector<std::int64_t> key(ranks.begin(), ranks.end());
    const auto known = groups.find(key);
    if (known != groups.end()) return known->second;
    const std::vector<int> members(ranks.begin(), ranks.end());
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(members.size()), members.data(), &group);
    const int code = MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &made);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    EGRET_RETURN_IF_ERROR(status_of(code, "a group of ranks"));
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    groups[key] = made;
    return made;
  }

  // Polls, so that neither a lost rank nor a signal is waited for in vain.
  base::Status wait(MPI_Request& request, std::span<const std::int64_t> group) const {
    const base::Stopwatch watch;
    for (std::int64_t polls = 0;; ++polls) {
      int done = 0;
      EGRET_RETURN_IF_ERROR(
          status_of(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "an exchange of ranks"));
      if (done != 0) return base::ok();
      if (base::stop_requested()) return rank_failed("stopped while waiting for other ranks");
      if (watch.seconds() > time_limit_s) {
        return rank_failed("no answer within " + std::to_string(time_limit_s) +
                           " s from all of the ranks " + names_of(group));
      }
      // Busy at first, because most answers are there at once.
      polls < 1000 ? std::this_thread::yield()
                   : std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
};

MpiWorld::MpiWorld(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

base::Result<std::unique_ptr<MpiWorld>> MpiWorld::join(double time_limit_s, OnHang on_hang) {
  const Watchdog watchdog(time_limit_s, on_hang, "the ranks did not all start");
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return base::unavailable("MPI does not start");
  auto impl = std::make_unique<Impl>();
  impl->time_limit_s = time_limit_s;
  impl->on_hang = std::move(on_hang);
  return std::unique_ptr<MpiWorld>(new MpiWorld(std::move(impl)));
}

MpiWorld::~MpiWorld() {
  const Watchdog watchdog(impl_->time_limit_s, impl_->on_hang, "the ranks did not all end");
  for (auto& [ranks, communicator] : impl_->groups) MPI_Comm_free(&communicator);
  MPI_Finalize();
}

base::Result<std::vector<std::vector<std::byte>>> MpiWorld::exchange(
    std::span<const std::int64_t> group, std::span<const std::vector<std::byte>> outgoing) {
  EGRET_CHECK(group.size() == outgoing.size(), "bytes for each rank of the group");
  EGRET_ASSIGN_OR_RETURN(const MPI_Comm communicator, impl_->communicator(group));
  const std::size_t count = group.size();
  std::vector<std::int64_t> sent(count), received(count);
  for (std::size_t i = 0; i < count; ++i) sent[i] = static_cast<std::int64_t>(outgoing[i].size());
  MPI_Request request = MPI_REQUEST_NULL;
  EGRET_RETURN_IF_ERROR(status_of(MPI_Ialltoall(sent.data(), 1, MPI_INT64_T, received.data(), 1,
                                                MPI_INT64_T, communicator, &request),
                                  "an exchange of sizes"));
  EGRET_RETURN_IF_ERROR(impl_->wait(request, group));

  std::vector<int> send_counts(count), send_at(count), receive_counts(count), receive_at(count);
  std::int64_t send_total = 0;
  std::int64_t receive_total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::max(send_total + sent[i], receive_total + received[i]) >
        std::numeric_limits<int>::max()) {
      return base::unsupported("an exchange of more than 2 GiB");
    }
    send_counts[i] = static_cast<int>(sent[i]);
    receive_counts[i] = static_cast<int>(received[i]);
    send_at[i] = static_cast<int>(send_total);
    receive_at[i] = static_cast<int>(receive_total);
    send_total += sent[i];
    receive_total += received[i];
  }
  std::vector<std::byte> send_bytes;
  send_bytes.reserve(static_cast<std::size_t>(send_total));
  for (const auto& bytes : outgoing)
    send_bytes.insert(send_bytes.end(), bytes.begin(), bytes.end());
  std::vector<std::byte> receive_bytes(static_cast<std::size_t>(receive_total));
  EGRET_RETURN_IF_ERROR(
      status_of(MPI_Ialltoallv(send_bytes.data(), send_counts.data(), send_at.data(), MPI_BYTE,
                               receive_bytes.data(), receive_counts.data(), receive_at.data(),
                               MPI_BYTE, communicator, &request),
                "an exchange"));
  EGRET_RETURN_IF_ERROR(impl_->wait(request, group));
  std::vector<std::vector<std::byte>> incoming;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = receive_bytes.begin() + receive_at[i];
    incoming.emplace_back(begin, begin + receive_counts[i]);
  }
  return incoming;
}

void MpiWorld::abort(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

#else  // without MPI

struct MpiWorld::Impl {};

MpiWorld::MpiWorld(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

base::Result<std::unique_ptr<MpiWorld>> MpiWorld::join(double, OnHang) {
  return base::unavailable(
      "Egret was built without MPI: apt install libopenmpi-dev openmpi-bin, then build again");
}

MpiWorld::~MpiWorld() = default;

base::Result<std::vector<std::vector<std::byte>>> MpiWorld::exchange(
    std::span<const std::int64_t>, std::span<const std::vector<std::byte>>) {
  return base::unavailable("built without MPI");
}

void MpiWorld::abort(int code) { std::_Exit(code); }

#endif

}  // namespace egret::backends
