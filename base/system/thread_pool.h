// SPDX-License-Identifier: Apache-2.0
// Data parallelism over index ranges. The range is cut into pieces by its length and the grain
// alone, never by the number of threads, so results kept per piece are the same on every machine.
// Which thread runs a piece, and when, is left open.
#pragma once

#include <cstddef>
#include <memory>

#include "base/function_ref.h"

namespace egret::base {

class ThreadPool {
 public:
  // `threads` includes the calling thread, which takes pieces, too: 1 starts none. 0 means
  // default_threads().
  explicit ThreadPool(std::size_t threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t threads() const;

  // Calls body(begin, end) once for each piece [k*grain, min((k+1)*grain, count)), and returns when
  // all are done. Inside a body a further call runs inline; calls from several threads take turns.
  // Bodies must not throw. A failed EGRET_CHECK in one is passed to the caller after all pieces
  // ended, the one of the lowest piece, so that it does not depend on timing.
  void parallel_for(std::size_t count, std::size_t grain,
                    FunctionRef<void(std::size_t begin, std::size_t end)> body);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

// While it lives, loops that its thread begins run inline, as inside a body. This is for programs
// that have as many threads of their own as processors.
class SequentialLoops {
 public:
  SequentialLoops();
  ~SequentialLoops();
  SequentialLoops(const SequentialLoops&) = delete;
  SequentialLoops& operator=(const SequentialLoops&) = delete;

 private:
  bool outer_;
};

// EGRET_THREADS when it is a positive number, otherwise the processors this process may use.
std::size_t default_threads();

// The pool that libraries use unless they are given another; made on first use. The number of
// threads is taken from set_shared_threads() or default_threads(). Global because threads are a
// resource of the process.
ThreadPool& shared_pool();
// Before the first use of shared_pool() (checked), or the same number again; 0 means
// default_threads().
void set_shared_threads(std::size_t threads);

}  // namespace egret::base
