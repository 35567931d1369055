// SPDX-License-Identifier: Apache-2.0
// Enough of CUDA to run the text of emitted kernels on a CPU: the blocks of a launch one after the
// other, the threads of a block as fibers that switch where all of them must meet. A block whose
// threads do not all meet (one ends while another waits) is an error, as it would be on a GPU.
#pragma once

#include <ucontext.h>

#include <deque>
#include <functional>
#include <vector>

#define __global__ static
#define __launch_bounds__(threads)
#define __device__
#define __shared__ static
#define __forceinline__ inline

struct Position {
  unsigned x = 0;
};
static Position threadIdx, blockIdx, blockDim, gridDim;

// Of each library of kernels alone: what several shared would be gone when the one that made it is
// closed.
namespace {

class Block {
 public:
  // False when the threads do not meet.
  static bool run(unsigned threads, const std::function<void()>& kernel) {
    Block block(threads, kernel);
    current_ = &block;
    return block.run_to_end();
  }
  static void meet() {
    if (current_->is_alone_) {
      current_->met_alone_ = true;
      return;
    }
    ::swapcontext(&fibers()[threadIdx.x].context, &current_->scheduler_);
  }
  static double* slots() { return current_->slots_.data(); }

 private:
  struct Fiber {
    ucontext_t context{};
    std::vector<char> stack = std::vector<char>(64 << 10);
    bool done = false;
  };

  Block(unsigned threads, const std::function<void()>& kernel)
      : kernel_(kernel), threads_(threads), slots_(threads) {}

  // Kept from block to block, as stacks are large, and where they are, as contexts point into
  // themselves.
  static std::deque<Fiber>& fibers() {
    static std::deque<Fiber> all;
    return all;
  }

  static void enter() {
    current_->kernel_();
    fibers()[threadIdx.x].done = true;
  }

  void begin(std::size_t thread) {
    if (fibers().size() <= thread) fibers().resize(threads_);
    Fiber& fiber = fibers()[thread];
    fiber.done = false;
    ::getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = &scheduler_;
    ::makecontext(&fiber.context, &Block::enter, 0);
  }

  bool advance(std::size_t thread) {
    threadIdx.x = static_cast<unsigned>(thread);
    ::swapcontext(&scheduler_, &fibers()[thread].context);
    return fibers()[thread].done;
  }

  // Where the first thread meets nobody, none may, and no other needs a stack of its own.
  bool run_to_end() {
    begin(0);
    if (advance(0)) return run_alone(1);
    for (std::size_t i = 1; i < threads_; ++i) {
      begin(i);
      if (advance(i)) return false;
    }
    for (;;) {
      std::size_t done = 0;
      for (std::size_t i = 0; i < threads_; ++i) done += advance(i) ? 1 : 0;
      if (done == threads_) return true;
      if (done != 0) return false;
    }
  }

  bool run_alone(std::size_t first) {
    is_alone_ = true;
    for (std::size_t i = first; i < threads_; ++i) {
      threadIdx.x = static_cast<unsigned>(i);
      kernel_();
    }
    return !met_alone_;
  }

  inline static Block* current_ = nullptr;
  const std::function<void()>& kernel_;
  std::size_t threads_;
  std::vector<double> slots_;  // 8 bytes a thread, for shuffles
  ucontext_t scheduler_{};
  bool is_alone_ = false, met_alone_ = false;
};

}  // namespace

static void __syncthreads() { Block::meet(); }

// All threads of the block meet, not those of a warp alone: emitted kernels shuffle in step.
template <class T>
static T __shfl_xor_sync(unsigned, T value, int mask) {
  static_assert(sizeof(T) <= sizeof(double));
  T* mine = reinterpret_cast<T*>(Block::slots() + threadIdx.x);
  *mine = value;
  Block::meet();
  const T other =
      *reinterpret_cast<T*>(Block::slots() + (threadIdx.x ^ static_cast<unsigned>(mask)));
  Block::meet();
  return other;
}

static bool launch(unsigned blocks, unsigned threads, const std::function<void()>& kernel) {
  gridDim.x = blocks;
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    if (!Block::run(threads, kernel)) return false;
  }
  return true;
}
