// SPDX-License-Identifier: Apache-2.0
#include "runtime/mpi/world.h"

#include <array>
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
#include "base/system/rest.h"
#include "base/timer.h"
#include "runtime/mpi/mpi_status.h"
#endif

namespace egret::runtime {

bool MpiWorld::is_distributed() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

#ifdef EGRET_MPI

namespace {

// Of the standard, which orders them.
constexpr std::array<std::pair<std::string_view, int>, 4> kThreadLevels = {
    {{"single", MPI_THREAD_SINGLE},
     {"funneled", MPI_THREAD_FUNNELED},
     {"serialized", MPI_THREAD_SERIALIZED},
     {"multiple", MPI_THREAD_MULTIPLE}}};

base::Result<int> wanted_thread_level() {
  const char* name = std::getenv("EGRET_MPI_THREADS");
  if (name == nullptr || *name == 0) return MPI_THREAD_SERIALIZED;
  for (const auto& [known, level] : kThreadLevels) {
    if (known == name) return level;
  }
  return base::usage_error("EGRET_MPI_THREADS is single, funneled, serialized or multiple, not '" +
                           std::string(name) + "'");
}

base::Status rank_failed(std::string message) {
  return {base::StatusCode::kRankFailed, std::move(message)};
}

std::string names_of(std::span<const std::int64_t> group) {
  std::string text;
  for (const std::int64_t rank : group) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

}  // namespace

// Calls back unless it is destroyed in time.
class Watchdog {
 public:
  // MPI's own calls cannot be interrupted, so a thread of its own watches the time.
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

namespace {

constexpr int kTag = 0;

// One message to each other rank of a group and one from each, which says itself how long it is:
// all are on their way at once. Messages of two ranks stay in order, so those of the next exchange
// are not taken for these.
class Exchange {
 public:
  Exchange(MPI_Comm communicator, std::int64_t here, std::span<const std::int64_t> group,
           std::span<const std::vector<std::byte>> outgoing)
      : communicator_(communicator), outgoing_(outgoing), incoming_(group.size()) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (group[i] == here) {
        incoming_[i] = outgoing[i];
      } else {
        awaited_.push_back(i);
      }
    }
  }

  base::Status send() {
    for (const std::size_t i : awaited_) {
      const auto& bytes = outgoing_[i];
      requests_.push_back(MPI_REQUEST_NULL);
      EGRET_RETURN_IF_ERROR(
          mpi_status(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE,
                               static_cast<int>(i), kTag, communicator_, &requests_.back()),
                     "sending to a rank"));
    }
    return base::ok();
  }

  // Never blocks: begins to receive each message that has arrived, and asks whether all transfers
  // have ended.
  base::Result<bool> is_done() {
    for (std::size_t k = 0; k < awaited_.size();) {
      EGRET_ASSIGN_OR_RETURN(const bool begun, receive(awaited_[k]));
      if (begun) {
        awaited_.erase(awaited_.begin() + static_cast<std::ptrdiff_t>(k));
      } else {
        ++k;
      }
    }
    int done = 0;
    EGRET_RETURN_IF_ERROR(mpi_status(MPI_Testall(static_cast<int>(requests_.size()),
                                                 requests_.data(), &done, MPI_STATUSES_IGNORE),
                                     "an exchange of ranks"));
    return done != 0 && awaited_.empty();
  }

  std::vector<std::vector<std::byte>> incoming() { return std::move(incoming_); }

 private:
  // Begins to receive from the i-th rank if its message is here.
  base::Result<bool> receive(std::size_t i) {
    int is_here = 0;
    int size = 0;
    MPI_Status status;
    const int from = static_cast<int>(i);
    EGRET_RETURN_IF_ERROR(
        mpi_status(MPI_Iprobe(from, kTag, communicator_, &is_here, &status), "waiting for a rank"));
    if (is_here == 0) return false;
    MPI_Get_count(&status, MPI_BYTE, &size);
    incoming_[i].resize(static_cast<std::size_t>(size));
    requests_.push_back(MPI_REQUEST_NULL);
    EGRET_RETURN_IF_ERROR(mpi_status(MPI_Irecv(incoming_[i].data(), size, MPI_BYTE, from, kTag,
                                               communicator_, &requests_.back()),
                                     "receiving from a rank"));
    return true;
  }

  MPI_Comm communicator_;
  std::span<const std::vector<std::byte>> outgoing_;
  std::vector<std::vector<std::byte>> incoming_;
  std::vector<std::size_t> awaited_;  // ranks whose message is not here yet
  std::vector<MPI_Request> requests_;
};

}  // namespace

struct MpiWorld::Impl {
  double time_limit_s = 0;
  OnHang on_hang;
  std::map<std::vector<std::int64_t>, MPI_Comm> groups;
  int thread_level = MPI_THREAD_SINGLE;  // the least of all ranks

  // An agreement under way. MPI writes into it.
  MPI_Comm agreement = MPI_COMM_NULL;
  MPI_Request agreed = MPI_REQUEST_NULL;
  int own_stop = 0, any_stop = 0;

  // One communicator for each group of ranks, made on first use. Creating one is collective over
  // its members, which all ask for the same groups in the same order.
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
    EGRET_RETURN_IF_ERROR(mpi_status(code, "a group of ranks"));
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    groups[key] = made;
    return made;
  }

  // Asks again and again, so that neither a lost rank nor a signal is waited for in vain.
  base::Status wait(const std::function<base::Result<bool>()>& is_done,
                    std::span<const std::int64_t> group, bool ends_on_stop) const {
    const base::Stopwatch watch;
    for (base::Rest rest;; rest.pause()) {
      EGRET_ASSIGN_OR_RETURN(const bool done, is_done());
      if (done) return base::ok();
      if (ends_on_stop && base::stop_requested())
        return rank_failed("stopped while waiting for other ranks");
      if (watch.seconds() > time_limit_s) {
        return rank_failed("no answer within " + std::to_string(time_limit_s) +
                           " s from all of the ranks" + (group.empty() ? "" : " ") +
                           names_of(group));
      }
    }
  }

  base::Status finish_agreement() {
    return wait(
        [this]() -> base::Result<bool> {
          int done = 0;
          EGRET_RETURN_IF_ERROR(
              mpi_status(MPI_Test(&agreed, &done, MPI_STATUS_IGNORE), "an agreement of ranks"));
          return done != 0;
        },
        {}, false);
  }
};

MpiWorld::MpiWorld(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

base::Result<std::unique_ptr<MpiWorld>> MpiWorld::join(double time_limit_s, OnHang on_hang) {
  const Watchdog watchdog(time_limit_s, on_hang, "the ranks did not all start");
  EGRET_ASSIGN_OR_RETURN(const int wanted, wanted_thread_level());
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, wanted, &provided) != MPI_SUCCESS)
    return base::unavailable("MPI failed to start");
  auto impl = std::make_unique<Impl>();
  // Ranks do the same only if they agree on what is possible.
  if (MPI_Allreduce(&provided, &impl->thread_level, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) !=
      MPI_SUCCESS)
    return base::unavailable("the ranks cannot reach each other through MPI");
  impl->time_limit_s = time_limit_s;
  impl->on_hang = std::move(on_hang);
  return std::unique_ptr<MpiWorld>(new MpiWorld(std::move(impl)));
}

MpiWorld::~MpiWorld() {
  const Watchdog watchdog(impl_->time_limit_s, impl_->on_hang, "the ranks did not all end");
  if (impl_->agreement != MPI_COMM_NULL && impl_->finish_agreement().ok())
    MPI_Comm_free(&impl_->agreement);
  for (auto& [ranks, communicator] : impl_->groups) MPI_Comm_free(&communicator);
  MPI_Finalize();
}

std::string_view MpiWorld::thread_level() const {
  std::string_view granted = kThreadLevels.front().first;
  for (const auto& [name, level] : kThreadLevels) {
    if (impl_->thread_level >= level) granted = name;
  }
  return granted;
}

bool MpiWorld::has_threads() const { return impl_->thread_level >= MPI_THREAD_SERIALIZED; }

base::Result<bool> MpiWorld::stop_agreed() {
  Impl& impl = *impl_;
  if (impl.agreement == MPI_COMM_NULL) {
    EGRET_RETURN_IF_ERROR(
        mpi_status(MPI_Comm_dup(MPI_COMM_WORLD, &impl.agreement), "an agreement of ranks"));
    MPI_Comm_set_errhandler(impl.agreement, MPI_ERRORS_RETURN);
  } else {
    EGRET_RETURN_IF_ERROR(impl.finish_agreement());
  }
  const bool stops = impl.any_stop != 0;
  impl.own_stop = base::stop_requested() ? 1 : 0;
  EGRET_RETURN_IF_ERROR(mpi_status(MPI_Iallreduce(&impl.own_stop, &impl.any_stop, 1, MPI_INT,
                                                  MPI_MAX, impl.agreement, &impl.agreed),
                                   "an agreement of ranks"));
  return stops;
}

base::Result<std::vector<std::vector<std::byte>>> MpiWorld::exchange(
    std::span<const std::int64_t> group, std::span<const std::vector<std::byte>> outgoing,
    bool ends_on_stop) {
  EGRET_CHECK(group.size() == outgoing.size(), "bytes for each rank of the group");
  for (const auto& bytes : outgoing) {
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      return base::unsupported("an exchange of more than 2 GiB");
  }
  EGRET_ASSIGN_OR_RETURN(const MPI_Comm communicator, impl_->communicator(group));
  auto exchange = std::make_unique<Exchange>(communicator, rank_, group, outgoing);
  base::Status failure = exchange->send();
  if (failure.ok()) failure = impl_->wait([&] { return exchange->is_done(); }, group, ends_on_stop);
  if (failure.ok()) return exchange->incoming();
  // MPI may still write into the buffers of receives that did not complete, so they stay.
  static_cast<void>(exchange.release());
  return failure;
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

std::string_view MpiWorld::thread_level() const { return "single"; }
bool MpiWorld::has_threads() const { return false; }

base::Result<bool> MpiWorld::stop_agreed() { return base::unavailable("built without MPI"); }

base::Result<std::vector<std::vector<std::byte>>> MpiWorld::exchange(
    std::span<const std::int64_t>, std::span<const std::vector<std::byte>>, bool) {
  return base::unavailable("built without MPI");
}

void MpiWorld::abort(int code) { std::_Exit(code); }

#endif

}  // namespace egret::runtime
