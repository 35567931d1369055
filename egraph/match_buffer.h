// SPDX-License-Identifier: Apache-2.0
// Matches of one pattern, flat: a row holds the classes of all variables, another the operators of
// all operator variables. Rows are 32-bit words, so that millions of matches are two allocations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "egraph/ids.h"
#include "egraph/pattern.h"

namespace egret::egraph {

class MatchBuffer {
 public:
  MatchBuffer() = default;
  MatchBuffer(std::size_t vars, std::size_t op_vars) : vars_(vars), op_vars_(op_vars) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Match operator[](std::size_t i) const {
    return {std::span(classes_).subspan(i * vars_, vars_),
            std::span(ops_).subspan(i * op_vars_, op_vars_)};
  }

  // The classes of rows from `begin` on, one row after the other; `count` rows or up to the end.
  std::span<const ClassId> classes(std::size_t begin, std::size_t count) const {
    begin = std::min(begin, size_);
    return std::span(classes_).subspan(begin * vars_, std::min(count, size_ - begin) * vars_);
  }

  void push(std::span<const ClassId> classes, std::span<const OpId> ops) {
    classes_.insert(classes_.end(), classes.begin(), classes.end());
    ops_.insert(ops_.end(), ops.begin(), ops.end());
    ++size_;
  }
  // A row made of some of these registers.
  void push(const ClassId* classes, std::span<const std::uint16_t> class_registers, const OpId* ops,
            std::span<const std::uint16_t> op_registers) {
    const std::size_t end = classes_.size();
    classes_.resize(end + class_registers.size());
    for (std::size_t i = 0; i < class_registers.size(); ++i) {
      classes_[end + i] = classes[class_registers[i]];
    }
    for (const std::uint16_t reg : op_registers) ops_.push_back(ops[reg]);
    ++size_;
  }
  // The rows of a buffer of the same pattern.
  void append(const MatchBuffer& other) {
    classes_.insert(classes_.end(), other.classes_.begin(), other.classes_.end());
    ops_.insert(ops_.end(), other.ops_.begin(), other.ops_.end());
    size_ += other.size_;
  }
  void clear() { classes_.clear(), ops_.clear(), size_ = 0; }
  // Keeps the first `size` rows.
  void truncate(std::size_t size) {
    classes_.resize(size * vars_);
    ops_.resize(size * op_vars_);
    size_ = size;
  }

  std::size_t row_bytes() const { return vars_ * sizeof(ClassId) + op_vars_ * sizeof(OpId); }
  std::size_t bytes() const {
    return classes_.capacity() * sizeof(ClassId) + ops_.capacity() * sizeof(OpId);
  }

 private:
  std::size_t vars_ = 0;
  std::size_t op_vars_ = 0;
  std::size_t size_ = 0;
  std::vector<ClassId> classes_;
  std::vector<OpId> ops_;
};

}  // namespace egret::egraph
