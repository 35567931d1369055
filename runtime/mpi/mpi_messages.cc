// SPDX-License-Identifier: Apache-2.0
#include "runtime/mpi/mpi_messages.h"

#ifdef EGRET_MPI
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <list>
#include <string>
#include <thread>

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

class MpiMessages final : public Messages {
 public:
  MpiMessages(MPI_Comm communicator, const MpiMessagesOptions& options)
      : communicator_(communicator), options_(options), traffic_(communicator, mailbox_) {
    MPI_Comm_rank(communicator, &rank_);
    if (options.overlap) thread_ = std::thread([this] { serve(); });
  }

  ~MpiMessages() override {
    stops_ = true;
    if (thread_.joinable()) {
      thread_.join();
    } else {
      drain();
    }
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
    if (!options_.overlap) return traffic_.send(to, tag, std::move(bytes));
    const std::lock_guard lock(mutex_);
    outgoing_.push_back({to, tag, std::move(bytes)});
    return base::ok();
  }

  base::Result<std::optional<MessageBytes>> take(std::int64_t from, std::int64_t tag) override {
    if (!options_.overlap) EGRET_RETURN_IF_ERROR(traffic_.move().status());
    return mailbox_.take(from, tag);
  }

  base::Result<MessageBytes> receive(std::int64_t from, std::int64_t tag) override {
    if (options_.overlap) return mailbox_.wait(from, tag, options_.limit_s);
    const base::Stopwatch watch;
    base::Rest rest = between_moves();
    while (true) {
      EGRET_ASSIGN_OR_RETURN(const bool moved, traffic_.move());
      EGRET_ASSIGN_OR_RETURN(std::optional<MessageBytes> bytes, mailbox_.take(from, tag));
      if (bytes) return std::move(*bytes);
      if (watch.seconds() > options_.limit_s) return Mailbox::none_within(from, options_.limit_s);
      rest.after(moved);
    }
  }

 private:
  struct Outgoing {
    std::int64_t to, tag;
    MessageBytes bytes;
  };

  // The thread. It ends when all messages are sent, or with the first error.
  void serve() {
    base::Rest rest = between_moves();
    while (!stops_) {
      const base::Result<bool> moved = step();
      if (!moved.ok()) return mailbox_.fail(moved.status());
      rest.after(*moved);
    }
    drain();
  }

  base::Result<bool> step() {
    std::vector<Outgoing> outgoing;
    {
      const std::lock_guard lock(mutex_);
      outgoing.swap(outgoing_);
    }
    for (Outgoing& message : outgoing)
      EGRET_RETURN_IF_ERROR(traffic_.send(message.to, message.tag, std::move(message.bytes)));
    EGRET_ASSIGN_OR_RETURN(const bool moved, traffic_.move());
    return moved || !outgoing.empty();
  }

  void drain() {
    const base::Stopwatch watch;
    base::Rest rest = between_moves();
    while (watch.seconds() < options_.limit_s) {
      const base::Result<bool> moved = step();
      if (!moved.ok() || traffic_.has_sent_all()) return;
      rest.after(*moved);
    }
  }

  MPI_Comm communicator_;
  const MpiMessagesOptions options_;
  int rank_ = 0;
  Mailbox mailbox_;
  Traffic traffic_;  // of the thread; without one, of the caller
  std::mutex mutex_;
  std::vector<Outgoing> outgoing_;
  std::atomic<bool> stops_ = false;
  std::thread thread_;  // last: the others exist when it starts
};

}  // namespace

base::Result<std::unique_ptr<Messages>> make_mpi_messages(const MpiMessagesOptions& options) {
  MPI_Comm communicator = MPI_COMM_NULL;
  EGRET_RETURN_IF_ERROR(
      mpi_status(MPI_Comm_dup(MPI_COMM_WORLD, &communicator), "messages between ranks"));
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  MpiMessagesOptions possible = options;
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_SERIALIZED) possible.overlap = false;
  return std::unique_ptr<Messages>(new MpiMessages(communicator, possible));
}

#else

base::Result<std::unique_ptr<Messages>> make_mpi_messages(const MpiMessagesOptions&) {
  return base::unavailable("built without MPI");
}

#endif

}  // namespace egret::runtime
