// SPDX-License-Identifier: Apache-2.0
// An append-only sequence of 32-bit words that can be truncated. It is written during a run and
// read on demand. It allocates blocks of a fixed size, so appending never copies and at most one
// block is partly unused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace egret::egraph {

class WordLog {
 public:
  void push(std::uint32_t word) {
    if (next_ == end_) start_block();
    *next_++ = word;
  }
  std::uint32_t operator[](std::size_t i) const { return blocks_[i >> kShift][i & kMask]; }
  std::size_t size() const {
    return (blocks_.size() << kShift) - static_cast<std::size_t>(end_ - next_);
  }
  // Keeps the first `size` words.
  void truncate(std::size_t size) {
    blocks_.resize((size + kMask) >> kShift);
    end_ = next_ = nullptr;
    if (blocks_.empty()) return;
    std::uint32_t* const block = blocks_.back().get();
    end_ = block + kBlock;
    next_ = block + (size - ((blocks_.size() - 1) << kShift));
  }
  std::size_t bytes() const {
    return (blocks_.size() << kShift) * sizeof(std::uint32_t) +
           blocks_.capacity() * sizeof(blocks_[0]);
  }

 private:
  static constexpr std::size_t kShift = 14;  // 64 KiB
  static constexpr std::size_t kBlock = std::size_t{1} << kShift;
  static constexpr std::size_t kMask = kBlock - 1;

  void start_block() {
    blocks_.push_back(std::make_unique_for_overwrite<std::uint32_t[]>(kBlock));
    next_ = blocks_.back().get();
    end_ = next_ + kBlock;
  }

  std::vector<std::unique_ptr<std::uint32_t[]>> blocks_;
  std::uint32_t* next_ = nullptr;
  std::uint32_t* end_ = nullptr;
};

}  // namespace egret::egraph
