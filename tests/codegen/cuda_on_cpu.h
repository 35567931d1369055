// SPDX-License-Identifier: Apache-2.0
// Enough of CUDA to run the text of emitted kernels on a CPU: the blocks of a launch one after the
// other, the threads of a block as fibers that switch where they must meet. Threads of a warp meet
// at each shuffle, those of a block where it says so, and between that the warps run one after the
// other, in either order: where they share memory without meeting, results depend on the order. A
// block whose threads do not all meet (one ends while another waits) is an error, as it would be on
// a GPU.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
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

enum class WarpOrder { kFirstToLast, kLastToFirst };

class Block {
 public:
  // False when the threads do not meet.
  static bool run(unsigned threads, WarpOrder order, const std::function<void()>& kernel) {
    Block block(threads, order, kernel);
    current_ = &block;
    return block.run_to_end();
  }
  static void meet() { current_->wait_as(State::kAtBlock); }
  static void meet_in_warp() { current_->wait_as(State::kAtWarp); }
  static double* slots() { return current_->slots_.data(); }

 private:
  enum class State { kRuns, kAtWarp, kAtBlock, kDone };
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack{new char[kStack]};  // pages that are not touched take no memory
    State state = State::kRuns;
  };
  static constexpr std::size_t kStack = 256 << 10, kWarp = 32, kNone = ~std::size_t{0};

  Block(unsigned threads, WarpOrder order, const std::function<void()>& kernel)
      : kernel_(kernel), threads_(threads), order_(order), slots_(threads) {}

  // Kept from block to block, as stacks are large, and where they are, as contexts point into
  // themselves.
  static std::deque<Fiber>& fibers() {
    static std::deque<Fiber> all;
    return all;
  }

  void wait_as(State state) {
    if (is_alone_) {
      met_alone_ = true;
      return;
    }
    Fiber& fiber = fibers()[threadIdx.x];
    fiber.state = state;
    ::swapcontext(&fiber.context, &scheduler_);
  }

  static void enter() {
    current_->kernel_();
    fibers()[threadIdx.x].state = State::kDone;
  }

  void begin(std::size_t thread) {
    if (fibers().size() <= thread) fibers().resize(threads_);
    Fiber& fiber = fibers()[thread];
    fiber.state = State::kRuns;
    ::getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = &scheduler_;
    ::makecontext(&fiber.context, &Block::enter, 0);
  }

  State advance(std::size_t thread) {
    if (thread == tried_) {
      tried_ = kNone;
      return fibers()[thread].state;
    }
    threadIdx.x = static_cast<unsigned>(thread);
    ::swapcontext(&scheduler_, &fibers()[thread].context);
    return fibers()[thread].state;
  }

  // Until its threads all wait for the block's, or have all ended; kRuns where they do not meet.
  State run_warp(std::size_t warp) {
    const std::size_t first = warp * kWarp, end = std::min(first + kWarp, threads_);
    State state = State::kAtWarp;
    while (state == State::kAtWarp) {
      state = advance(first);
      for (std::size_t i = first + 1; i < end; ++i) {
        if (advance(i) != state) return State::kRuns;
      }
    }
    return state;
  }

  std::size_t warps() const { return (threads_ + kWarp - 1) / kWarp; }
  std::size_t warp(std::size_t turn) const {
    return order_ == WarpOrder::kFirstToLast ? turn : warps() - 1 - turn;
  }

  State run_warps() {
    const State state = run_warp(warp(0));
    for (std::size_t turn = 1; turn < warps(); ++turn) {
      if (run_warp(warp(turn)) != state) return State::kRuns;
    }
    return state;
  }

  // Where the first one to run meets nobody, none may, and no other needs a stack of its own.
  bool run_to_end() {
    const std::size_t first = warp(0) * kWarp;
    begin(first);
    if (advance(first) == State::kDone) return run_alone(first);
    tried_ = first;
    for (std::size_t i = 0; i < threads_; ++i) {
      if (i != first) begin(i);
    }
    State state = State::kAtBlock;
    while (state == State::kAtBlock) state = run_warps();
    return state == State::kDone;
  }

  bool run_alone(std::size_t done) {
    is_alone_ = true;
    for (std::size_t i = 0; i < threads_; ++i) {
      if (i == done) continue;
      threadIdx.x = static_cast<unsigned>(i);
      kernel_();
    }
    return !met_alone_;
  }

  inline static Block* current_ = nullptr;
  const std::function<void()>& kernel_;
  std::size_t threads_;
  WarpOrder order_;
  std::vector<double> slots_;  // 8 bytes a thread, for shuffles
  ucontext_t scheduler_{};
  std::size_t tried_ = kNone;  // it has come to where it meets others already
  bool is_alone_ = false, met_alone_ = false;
};

}  // namespace

static void __syncthreads() { Block::meet(); }

template <class T>
static T __shfl_xor_sync(unsigned, T value, int mask) {
  static_assert(sizeof(T) <= sizeof(double));
  T* mine = reinterpret_cast<T*>(Block::slots() + threadIdx.x);
  *mine = value;
  Block::meet_in_warp();
  const T other =
      *reinterpret_cast<T*>(Block::slots() + (threadIdx.x ^ static_cast<unsigned>(mask)));
  Block::meet_in_warp();
  return other;
}

static bool launch(unsigned blocks, unsigned threads, const std::function<void()>& kernel,
                   WarpOrder order = WarpOrder::kFirstToLast) {
  gridDim.x = blocks;
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    if (!Block::run(threads, order, kernel)) return false;
  }
  return true;
}
