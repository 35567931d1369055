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
#include <cmath>
#include <cstring>
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

// Copies into shared memory that a thread has begun. They happen when the thread waits for them,
// and not before: what reads too early reads something else.
struct Copies {
  struct One {
    void* to;
    const void* from;  // nullptr: zeros
  };
  std::deque<std::vector<One>> groups;
  std::vector<One> open;
};

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
  // Of the running thread; they live as long as the block.
  static Copies& copies() { return current_->copies_[threadIdx.x]; }

 private:
  enum class State { kRuns, kAtWarp, kAtBlock, kDone };
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack{new char[kStack]};  // pages that are not touched take no memory
    State state = State::kRuns;
  };
  static constexpr std::size_t kStack = 256 << 10, kWarp = 32, kNone = ~std::size_t{0};

  Block(unsigned threads, WarpOrder order, const std::function<void()>& kernel)
      : kernel_(kernel), threads_(threads), order_(order), slots_(threads), copies_(threads) {}

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
  std::vector<Copies> copies_;
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

// ---- Tensor cores (backends/codegen/contractions/tensor_core_prelude.cc has the GPU's own)

static inline void __syncwarp() { Block::meet_in_warp(); }

static inline void copy_chunk(void* to, const void* from, bool in) {
  Block::copies().open.push_back({to, in ? from : nullptr});
}
static inline void commit_copies() {
  Copies& copies = Block::copies();
  copies.groups.push_back(std::move(copies.open));
  copies.open.clear();
}
template <int kNewest>
static void wait_for_copies() {
  constexpr std::size_t kBytes = 16;
  Copies& copies = Block::copies();
  for (; copies.groups.size() > kNewest; copies.groups.pop_front()) {
    for (const Copies::One& one : copies.groups.front()) {
      if (reinterpret_cast<std::size_t>(one.to) % kBytes != 0 ||
          reinterpret_cast<std::size_t>(one.from) % kBytes != 0)
        __builtin_trap();
      one.from == nullptr ? std::memset(one.to, 0, kBytes) : std::memcpy(one.to, one.from, kBytes);
    }
  }
}

// What thread `lane` of the running warp shows the others, between two meetings.
template <class T>
static const T& shown_by(unsigned lane) {
  const void* at;
  std::memcpy(&at, Block::slots() + threadIdx.x / 32 * 32 + lane, sizeof at);
  return *static_cast<const T*>(at);
}
static inline void show(const void* at) {
  std::memcpy(Block::slots() + threadIdx.x, &at, sizeof at);
  Block::meet_in_warp();
}

// ldmatrix: thread t has elements 2 * (t % 4) and the next of row t / 4 of each matrix; transposed,
// of column t / 4. The row r of matrix i lies where thread 8 * i + r says.
template <bool kTransposed>
static void load_four(unsigned (&to)[4], const void* row) {
  if (reinterpret_cast<std::size_t>(row) % 16 != 0) __builtin_trap();
  show(row);
  const unsigned t = threadIdx.x % 32, own = t / 4, first = t % 4 * 2;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned short pair[2];
    for (unsigned e = 0; e < 2; ++e) {
      const unsigned line = kTransposed ? first + e : own, at = kTransposed ? own : first + e;
      pair[e] = (&shown_by<unsigned short>(8 * i + line))[at];
    }
    std::memcpy(&to[i], pair, sizeof pair);
  }
  Block::meet_in_warp();
}
static inline void load_matrices(unsigned (&to)[4], const void* row) { load_four<false>(to, row); }
static inline void load_transposed(unsigned (&to)[4], const void* row) { load_four<true>(to, row); }

// Rounds to nearest, ties away from zero, to 10 bits of a mantissa.
static inline void round_to_tf32(unsigned (&bits)[4]) {
  for (unsigned& each : bits) {
    if ((each & 0x7f800000u) != 0x7f800000u) each = (each + 0x1000u) & ~0x1fffu;
  }
}

// The operands of mma.sync as the PTX manual states them: element i of a thread's fragment of A is
// at row group (or group + 8) and column in_group * n + ..., with n elements in a register.
template <class T>
struct MmaOperand {
  static constexpr unsigned kOf = 4 / sizeof(T);  // elements of a register
  struct Fragment {
    unsigned a[4], b[2];
  };
  static T element(const unsigned* registers, unsigned i) {
    T value;
    std::memcpy(&value, reinterpret_cast<const char*>(registers) + i * sizeof(T), sizeof value);
    return value;
  }
  // A's columns and B's rows come in halves of four threads' registers.
  static T a(unsigned row, unsigned column) {
    const unsigned half = column / (4 * kOf), thread = row % 8 * 4 + column / kOf % 4;
    return element(shown_by<Fragment>(thread).a, (half * 2 + row / 8) * kOf + column % kOf);
  }
  static T b(unsigned row, unsigned column) {
    const unsigned half = row / (4 * kOf), thread = column * 4 + row / kOf % 4;
    return element(shown_by<Fragment>(thread).b, half * kOf + row % kOf);
  }
};

// c[i]: row t / 4 (and 8 more for i >= 2), column 2 * (t % 4) + i % 2.
template <class A, class B, class Sum, class Product>
static void multiply_fragments(Sum (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                               Product product) {
  const typename MmaOperand<A>::Fragment own{{a[0], a[1], a[2], a[3]}, {b0, b1}};
  show(&own);
  const unsigned t = threadIdx.x % 32;
  for (unsigned k = 0; k < 8 * MmaOperand<A>::kOf; ++k) {
    const A rows[] = {MmaOperand<A>::a(t / 4, k), MmaOperand<A>::a(t / 4 + 8, k)};
    const B columns[] = {MmaOperand<B>::b(k, t % 4 * 2), MmaOperand<B>::b(k, t % 4 * 2 + 1)};
    for (unsigned i = 0; i < 4; ++i) c[i] += product(rows[i / 2], columns[i % 2]);
  }
  Block::meet_in_warp();
}

namespace {

struct Half {
  unsigned short bits;
  operator float() const {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const float sign = bits & 0x8000 ? -1.0f : 1.0f;
    if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
    return exponent == 0 ? sign * std::ldexp(static_cast<float>(mantissa), -24)
                         : sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
};
struct BrainFloat {
  unsigned short bits;
  operator float() const {
    const unsigned wide = static_cast<unsigned>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
};

}  // namespace

#define EGRET_MMA(name, A, B, Sum)                                                    \
  static inline void multiply_##name(Sum(&c)[4], const unsigned(&a)[4], unsigned b0,  \
                                     unsigned b1) {                                   \
    multiply_fragments<A, B>(c, a, b0, b1, [](A x, B y) { return Sum(x) * Sum(y); }); \
  }
EGRET_MMA(f16, Half, Half, float)
EGRET_MMA(bf16, BrainFloat, BrainFloat, float)
EGRET_MMA(tf32, float, float, float)
EGRET_MMA(s8_s8, signed char, signed char, int)
EGRET_MMA(s8_u8, signed char, unsigned char, int)
EGRET_MMA(u8_s8, unsigned char, signed char, int)
EGRET_MMA(u8_u8, unsigned char, unsigned char, int)
#undef EGRET_MMA

static bool launch(unsigned blocks, unsigned threads, const std::function<void()>& kernel,
                   WarpOrder order = WarpOrder::kFirstToLast) {
  gridDim.x = blocks;
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    if (!Block::run(threads, order, kernel)) return false;
  }
  return true;
}
