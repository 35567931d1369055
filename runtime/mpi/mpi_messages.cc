// SPDX-License-Identifier: Apache-2.0
#include "runtime/mpi/mpi_messages.h"

#ifdef EGRET_MPI
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "base/check.h"
#include "base/system/rest.h"
#include "base/timer.h"
#include "runtime/mpi/mailbox.h"
#include "runtime/mpi/mpi_status.h"
#endif

namespace egret::runtime {

#ifdef EGRET_MPI

namespace {

// Messages on their way. One thread at a time calls it.
class Traffic {
 public:
  Traffic(MPI_Comm communicator, Mailbox& mailbox)
      : communicator_(communicator), mailbox_(mailbox) {}

  base::Status send(std::int64_t to, std::int64_t tag, MessageBytes bytes) {
    Transfer& transfer = sending_.emplace_back();
    transfer.bytes = std::move(bytes);
    return mpi_status(
        MPI_Isend(transfer.bytes.data(), static_cast<int>(transfer.bytes.size()), MPI_BYTE,
                  static_cast<int>(to), static_cast<int>(tag), communicator_, &transfer.request),
        "sending to a rank");
  }

  // Never blocks. Whether anything has moved.
  base::Result<bool> move() {
    bool moved = false;
    int is_here = 0;
    MPI_Status found;
    MPI_Message message = MPI_MESSAGE_NULL;
    EGRET_RETURN_IF_ERROR(mpi_status(
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &is_here, &message, &found),
        "waiting for a rank"));
    if (is_here != 0) {
      moved = true;
      int size = 0;
      MPI_Get_count(&found, MPI_BYTE, &size);
      Transfer& transfer = receiving_.emplace_back();
      transfer.bytes.resize(static_cast<std::size_t>(size));
      transfer.from = found.MPI_SOURCE;
      transfer.tag = found.MPI_TAG;
      EGRET_RETURN_IF_ERROR(
          mpi_status(MPI_Imrecv(transfer.bytes.data(), size, MPI_BYTE, &message, &transfer.request),
                     "receiving from a rank"));
    }
    // In order, so that messages of one sender and tag keep theirs.
    while (!receiving_.empty()) {
      EGRET_ASSIGN_OR_RETURN(const bool done, is_done(receiving_.front()));
      if (!done) break;
      Transfer& transfer = receiving_.front();
      mailbox_.put(transfer.from, transfer.tag, std::move(transfer.bytes));
      receiving_.pop_front();
      moved = true;
    }
    for (auto at = sending_.begin(); at != sending_.end();) {
      EGRET_ASSIGN_OR_RETURN(const bool done, is_done(*at));
      at = done ? sending_.erase(at) : std::next(at);
      moved = moved || done;
    }
    return moved;
  }

  bool has_sent_all() const { return sending_.empty(); }

 private:
  struct Transfer {
    MessageBytes bytes;
    MPI_Request request = MPI_REQUEST_NULL;
    int from = 0;
    int tag = 0;
  };

  static base::Result<bool> is_done(Transfer& transfer) {
    int done = 0;
    EGRET_RETURN_IF_ERROR(
        mpi_status(MPI_Test(&transfer.request, &done, MPI_STATUS_IGNORE), "a message of ranks"));
    return done != 0;
  }

  MPI_Comm communicator_;
  Mailbox& mailbox_;
  std::list<Transfer> sending_, receiving_;
};

// Short naps: a message that arrives meanwhile waits for the end of one.
base::Rest between_moves() { return base::Rest(50, std::chrono::microseconds(20)); }

// Of the thread beside a computing rank, which needs the core more. Meanwhile sockets take what
// arrives.
constexpr auto kBesideComputing = std::chrono::microseconds(100);

class MpiMessages final : public Messages {
 public:
  MpiMessages(MPI_Comm communicator, const MpiMessagesOptions& options)
      : communicator_(communicator), limit_s_(options.limit_s), traffic_(communicator, mailbox_) {
    MPI_Comm_rank(communicator, &rank_);
    if (options.overlap) thread_ = std::thread([this] { serve(); });
  }

  ~MpiMessages() override {
    stops_ = true;
    if (thread_.joinable()) thread_.join();
    drain();
    // A communicator with messages of a lost rank cannot be freed without waiting for it.
    if (traffic_.has_sent_all()) MPI_Comm_free(&communicator_);
  }

  base::Status send(std::int64_t to, std::int64_t tag, MessageBytes bytes) override {
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      return base::unsupported("a message of more than 2 GiB");
    if (to == rank_) {
      mailbox_.put(rank_, tag, std::move(bytes));
      return base::ok();
    }
    const std::lock_guard lock(mpi_);
    return traffic_.send(to, tag, std::move(bytes));
  }

  base::Result<std::optional<MessageBytes>> take(std::int64_t from, std::int64_t tag) override {
    EGRET_RETURN_IF_ERROR(move().status());
    return mailbox_.take(from, tag);
  }

  base::Result<MessageBytes> receive(std::int64_t from, std::int64_t tag) override {
    const Waiting waiting(waits_);
    const base::Stopwatch watch;
    base::Rest rest = between_moves();
    while (true) {
      EGRET_ASSIGN_OR_RETURN(std::optional<MessageBytes> bytes, mailbox_.take(from, tag));
      if (bytes) return std::move(*bytes);
      EGRET_ASSIGN_OR_RETURN(const bool moved, move());
      if (watch.seconds() > limit_s_) return Mailbox::none_within(from, limit_s_);
      rest.after(moved);
    }
  }

 private:
  // While the rank waits, the thread leaves MPI to it.
  class Waiting {
   public:
    explicit Waiting(std::atomic<bool>& waits) : waits_(waits) { waits_ = true; }
    ~Waiting() { waits_ = false; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    std::atomic<bool>& waits_;
  };

  base::Result<bool> move() {
    const std::lock_guard lock(mpi_);
    return traffic_.move();
  }

  // The thread. It ends with the first error.
  void serve() {
    while (!stops_) {
      if (!waits_) {
        const base::Result<bool> moved = move();
        if (!moved.ok()) return mailbox_.fail(moved.status());
        if (*moved) continue;
      }
      std::this_thread::sleep_for(kBesideComputing);
    }
  }

  // Until all messages are sent.
  void drain() {
    const base::Stopwatch watch;
    base::Rest rest = between_moves();
    while (watch.seconds() < limit_s_) {
      const base::Result<bool> moved = move();
      if (!moved.ok() || traffic_.has_sent_all()) return;
      rest.after(*moved);
    }
  }

  MPI_Comm communicator_;
  const double limit_s_;
  int rank_ = 0;
  Mailbox mailbox_;
  Traffic traffic_;
  std::mutex mpi_;  // one call of MPI at a time; held in all uses of traffic_ while thread_ runs
  std::atomic<bool> stops_ = false;
  std::atomic<bool> waits_ = false;
  std::thread thread_;  // last: the others exist when it starts
};

}  // namespace

base::Result<std::unique_ptr<Messages>> make_mpi_messages(const MpiMessagesOptions& options) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  EGRET_CHECK(!options.overlap || level >= MPI_THREAD_SERIALIZED, "MPI permits no second thread");
  MPI_Comm communicator = MPI_COMM_NULL;
  EGRET_RETURN_IF_ERROR(
      mpi_status(MPI_Comm_dup(MPI_COMM_WORLD, &communicator), "messages between ranks"));
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  return std::unique_ptr<Messages>(new MpiMessages(communicator, options));
}

#else

base::Result<std::unique_ptr<Messages>> make_mpi_messages(const MpiMessagesOptions&) {
  return base::unavailable("built without MPI");
}

#endif

}  // namespace egret::runtime
