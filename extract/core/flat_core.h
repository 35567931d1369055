// SPDX-License-Identifier: Apache-2.0
// A core's candidates in one array, with an index of the candidates that need each class.
#pragma once

#include <numeric>
#include <span>
#include <vector>

#include "extract/core/core.h"

namespace egret::extract {

using CandidateIndex = std::uint32_t;

// A view: the core must outlive it and must not change.
struct FlatCore {
  std::vector<CandidateIndex> begin{0};   // per class; candidates of c are begin[c] .. begin[c+1]-1
  std::vector<ClassIndex> owner;          // per candidate
  std::vector<const Candidate*> content;  // per candidate
  std::vector<std::uint32_t> users_begin;
  std::vector<CandidateIndex> users;

  explicit FlatCore(const Core& core) : users_begin(core.classes.size() + 1, 0) {
    for (ClassIndex c = 0; c < core.classes.size(); ++c) {
      for (const Candidate& candidate : core.classes[c]) {
        owner.push_back(c);
        content.push_back(&candidate);
        for (const ClassIndex need : candidate.needs) ++users_begin[need + 1];
      }
      begin.push_back(static_cast<CandidateIndex>(owner.size()));
    }
    std::partial_sum(users_begin.begin(), users_begin.end(), users_begin.begin());
    users.resize(users_begin.back());
    std::vector<std::uint32_t> next(users_begin.begin(), users_begin.end() - 1);
    for (CandidateIndex k = 0; k < owner.size(); ++k) {
      for (const ClassIndex need : content[k]->needs) users[next[need]++] = k;
    }
  }

  std::size_t class_count() const { return begin.size() - 1; }
  std::size_t size() const { return owner.size(); }
  const std::vector<ClassIndex>& needs_of(CandidateIndex k) const { return content[k]->needs; }
  std::span<const CandidateIndex> users_of(ClassIndex c) const {
    return std::span(users).subspan(users_begin[c], users_begin[c + 1] - users_begin[c]);
  }
};

}  // namespace egret::extract
