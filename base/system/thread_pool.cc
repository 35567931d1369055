// SPDX-License-Identifier: Apache-2.0
#include "base/system/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/check.h"
#include "base/formats/units.h"

namespace egret::base {
namespace {

// Set while this thread runs a piece of any pool: nested loops run inline.
thread_local bool inside_piece = false;

constexpr std::size_t kMostThreads = 1024;

// Spins for some tens of microseconds before the thread sleeps: jobs often follow one another
// within microseconds, and waking up takes longer. It neither sleeps nor yields, which on a busy
// processor would give it away for much longer.
template <typename Done>
void await_shortly(Done done) {
  constexpr int kLooks = 2000;
  for (int i = 0; i < kLooks && !done(); ++i) {
#ifdef __SSE2__
    _mm_pause();
#endif
  }
}

// One call of parallel_for. Threads take pieces from a counter until none is left.
struct Job {
  FunctionRef<void(std::size_t, std::size_t)> body;
  std::size_t count;
  std::size_t grain;
  std::size_t pieces;
  std::atomic<std::size_t> next{0};
  std::mutex failure_mutex;
  std::exception_ptr failure;
  std::size_t failed_piece = std::numeric_limits<std::size_t>::max();

  void work() {
    const bool outer = std::exchange(inside_piece, true);
    for (std::size_t piece = next++; piece < pieces; piece = next++) {
      try {
        body(piece * grain, std::min(count, (piece + 1) * grain));
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        if (piece < failed_piece) {
          failed_piece = piece;
          failure = std::current_exception();
        }
      }
    }
    inside_piece = outer;
  }
};

}  // namespace

struct ThreadPool::Shared {
  std::mutex turn;  // one job at a time

  std::mutex mutex;  // guards what follows
  std::condition_variable wake;
  std::condition_variable idle;
  Job* job = nullptr;
  // Changed under the mutex, but looked at without it as well.
  std::atomic<std::uint64_t> round{0};  // counts jobs, so that a worker joins each at most once
  std::atomic<std::size_t> busy{0};
  std::atomic<bool> stopping{false};

  std::vector<std::thread> workers;

  void worker() {
    std::uint64_t seen = 0;
    while (true) {
      await_shortly([&] { return stopping || round != seen; });
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return stopping || (job != nullptr && round != seen); });
      if (stopping) return;
      seen = round;
      Job* const mine = job;
      ++busy;
      lock.unlock();
      mine->work();
      lock.lock();
      if (--busy == 0) idle.notify_all();
    }
  }
};

ThreadPool::ThreadPool(std::size_t threads) : shared_(std::make_unique<Shared>()) {
  if (threads == 0) threads = default_threads();
  threads = std::min(threads, kMostThreads);
  for (std::size_t i = 1; i < threads; ++i) {
    try {
      shared_->workers.emplace_back([shared = shared_.get()] { shared->worker(); });
    } catch (const std::system_error&) {
      break;  // the machine grants no more threads; fewer do the same work
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->wake.notify_all();
  for (std::thread& worker : shared_->workers) worker.join();
}

std::size_t ThreadPool::threads() const { return shared_->workers.size() + 1; }

// The caller takes pieces like the workers and returns when the pieces have run out and no worker
// is busy: the job lives on its stack.
void ThreadPool::parallel_for(std::size_t count, std::size_t grain,
                              FunctionRef<void(std::size_t, std::size_t)> body) {
  EGRET_CHECK(grain > 0, "parallel_for needs a positive grain");
  if (count == 0) return;
  Job job{body, count, grain, (count - 1) / grain + 1, {}, {}, {}};
  const bool alone = inside_piece || job.pieces == 1 || shared_->workers.empty();
  if (alone) {
    job.work();
  } else {
    const std::lock_guard turn(shared_->turn);
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->job = &job;
      ++shared_->round;
    }
    shared_->wake.notify_all();
    job.work();
    std::unique_lock lock(shared_->mutex);
    shared_->job = nullptr;  // late workers find nothing
    lock.unlock();
    await_shortly([&] { return shared_->busy == 0; });
    lock.lock();
    shared_->idle.wait(lock, [&] { return shared_->busy == 0; });
  }
  if (job.failure) std::rethrow_exception(job.failure);
}

SequentialLoops::SequentialLoops() : outer_(std::exchange(inside_piece, true)) {}
SequentialLoops::~SequentialLoops() { inside_piece = outer_; }

std::size_t default_threads() {
  if (const char* text = std::getenv("EGRET_THREADS")) {
    const Result<std::int64_t> number = parse_integer(text);
    if (number.ok() && *number > 0) {
      return std::min(static_cast<std::size_t>(*number), kMostThreads);
    }
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

namespace {

std::atomic<std::size_t> wanted_threads{0};
std::atomic<bool> shared_made{false};

}  // namespace

ThreadPool& shared_pool() {
  static ThreadPool pool([] {
    shared_made = true;
    return wanted_threads.load();
  }());
  return pool;
}

void set_shared_threads(std::size_t threads) {
  // A program may call several verbs with the same --threads.
  if (shared_made && wanted_threads == threads) return;
  EGRET_CHECK(!shared_made, "set_shared_threads() after the pool was made");
  wanted_threads = threads;
}

}  // namespace egret::base
