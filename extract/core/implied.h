// SPDX-License-Identifier: Apache-2.0
// What choosing a class implies: the classes that each of its terms contains (the dominators of
// extraction). Greatest solution of: a class implies itself and what all of its candidates imply; a
// candidate implies what its needs imply.
#pragma once

#include <span>
#include <vector>

#include "extract/core/core.h"

namespace egret::extract {

class Implied {
 public:
  // O(size times the length of the lists); where lists would hold more than `limit` items in all,
  // what is implied indirectly is left out, which is sound for all uses.
  explicit Implied(const Core& core, std::size_t limit = 20'000'000);

  // Ascending; the class itself included.
  std::span<const ClassIndex> by(ClassIndex c) const { return lists_[c]; }
  bool implies(ClassIndex c, ClassIndex other) const;
  // All that a candidate's needs imply, ascending.
  std::vector<ClassIndex> by(const Candidate& candidate) const;

 private:
  bool update(const Core& core, ClassIndex c);

  std::vector<std::vector<ClassIndex>> lists_;
  std::vector<bool> known_;
  std::size_t items_ = 0;
};

}  // namespace egret::extract
