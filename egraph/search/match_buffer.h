// SPDX-License-Identifier: Apache-2.0
// The matches of one pattern in flat arrays. A row holds the classes of all variables; a second row
// holds the operators of all operator variables. Millions of matches need only two allocations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "egraph/core/flat_array.h"
#include "egraph/core/ids.h"
#include "egraph/core/pattern.h"

namespace egret::egraph {

class MatchBuffer {
 public:
  MatchBuffer() = default;
  MatchBuffer(std::size_t vars, std::size_t op_vars) : vars_(vars), op_vars_(op_vars) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Match operator[](std::size_t i) const {
    return {classes_.span().subspan(i * vars_, vars_), ops_.span().subspan(i * op_vars_, op_vars_)};
  }

  // The classes of `count` rows (or fewer at the end) from row `begin` on, concatenated.
  std::span<const ClassId> classes(std::size_t begin, std::size_t count) const {
    begin = std::min(begin, size_);
    return classes_.span().subspan(begin * vars_, std::min(count, size_ - begin) * vars_);
  }

  // Gives an empty buffer room for `rows` rows.
  void reserve(std::size_t rows) {
    classes_.extend(rows * vars_);
    ops_.extend(rows * op_vars_);
    clear();
  }
  void push(std::span<const ClassId> classes, std::span<const OpId> ops) {
    classes_.append(classes);
    ops_.append(ops);
    ++size_;
  }
  // Appends a row that is gathered from registers.
  void push(const ClassId* classes, std::span<const std::uint16_t> class_registers, const OpId* ops,
            std::span<const std::uint16_t> op_registers) {
    ClassId* row = classes_.extend(class_registers.size());
    for (const std::uint16_t reg : class_registers) *row++ = classes[reg];
    for (const std::uint16_t reg : op_registers) ops_.push_back(ops[reg]);
    ++size_;
  }
  // Writes up to `most` rows without operators in place. Writing a row may overwrite up to `beyond`
  // words after the row's beginning.
  class Rows {
   public:
    Rows(MatchBuffer& buffer, std::size_t most, std::size_t beyond = 0)
        : buffer_(buffer),
          begin_(buffer.classes_.extend(most * buffer.vars_ + beyond)),
          row_(begin_),
          vars_(buffer.vars_) {}
    ClassId* next() { return std::exchange(row_, row_ + vars_); }
    // Ends the writing; returns the number of rows written.
    std::size_t finish() {
      const auto words = static_cast<std::size_t>(row_ - begin_);
      const auto before = static_cast<std::size_t>(begin_ - buffer_.classes_.data());
      buffer_.classes_.truncate(before + words);
      const std::size_t count = (before + words) / vars_ - buffer_.size_;
      buffer_.size_ += count;
      return count;
    }

   private:
    MatchBuffer& buffer_;
    ClassId* const begin_;
    ClassId* row_;
    const std::size_t vars_;
  };
  // Appends `count` rows, from `begin` on, of a buffer of the same pattern.
  void append(const MatchBuffer& other, std::size_t begin, std::size_t count) {
    classes_.append(other.classes(begin, count));
    ops_.append(other.ops_.span().subspan(begin * op_vars_, count * op_vars_));
    size_ += count;
  }
  // Empties the buffer and sets the row format of the other buffer's pattern. Keeps the memory.
  void reset(const MatchBuffer& other) { reset(other.vars_, other.op_vars_); }
  void reset(std::size_t vars, std::size_t op_vars) {
    clear();
    vars_ = vars;
    op_vars_ = op_vars;
  }
  void clear() { classes_.clear(), ops_.clear(), size_ = 0; }
  // Copies row `from` over row `to`, where to <= from.
  void move_row(std::size_t from, std::size_t to) {
    std::copy_n(classes_.begin() + from * vars_, vars_, classes_.begin() + to * vars_);
    std::copy_n(ops_.begin() + from * op_vars_, op_vars_, ops_.begin() + to * op_vars_);
  }
  // Keeps at most the first `size` rows.
  void truncate(std::size_t size) {
    if (size >= size_) return;
    classes_.truncate(size * vars_);
    ops_.truncate(size * op_vars_);
    size_ = size;
  }

  std::size_t row_bytes() const { return vars_ * sizeof(ClassId) + op_vars_ * sizeof(OpId); }
  std::size_t bytes() const { return classes_.bytes() + ops_.bytes(); }

 private:
  std::size_t vars_ = 0;
  std::size_t op_vars_ = 0;
  std::size_t size_ = 0;
  FlatArray<ClassId> classes_;
  FlatArray<OpId> ops_;
};

}  // namespace egret::egraph
