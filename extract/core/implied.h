// SPDX-License-Identifier: Apache-2.0
// The classes that choosing a class implies: those contained in each of its terms (the dominators
// of extraction). It is the greatest solution of two rules: a class implies itself and what all its
// candidates imply; a candidate implies what its needs imply.
#pragma once

#include <span>
#include <vector>

#include "extract/core/core.h"

namespace egret::extract {

class Implied {
 public:
  // O(size times the length of the lists). If the lists would hold more than `limit` items in
  // total, indirect implications are dropped, which is sound for all uses.
  explicit Implied(const Core& core, std::size_t limit = 20'000'000);

  // Ascending, including the class itself.
  std::span<const ClassIndex> by(ClassIndex c) const { return lists_[c]; }
  bool implies(ClassIndex c, ClassIndex other) const;
  // Everything that a candidate's needs imply, ascending.
  std::vector<ClassIndex> by(const Candidate& candidate) const;

 private:
  bool update(const Core& core, ClassIndex c);

  std::vector<std::vector<ClassIndex>> lists_;
  std::vector<bool> known_;
  std::size_t items_ = 0;
};

}  // namespace egret::extract
