// SPDX-License-Identifier: Apache-2.0
// The memory of an order of computation, step by step: the evaluation of the search.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "extract/recompute/schedule.h"

namespace egret::extract {

class OrderProfile {
 public:
  OrderProfile(const RecomputeProblem& problem, std::int64_t limit)
      : problem_(problem), limit_(limit), made_(problem.size(), -1), left_(problem.size(), false) {}

  // The order is valid: every input is computed before it is read. It may copy values back
  // (schedule.h). O(steps and inputs).
  void evaluate(std::span<const int> order);

  double cost() const { return cost_; }
  std::int64_t peak() const { return peak_; }
  // Over all steps, the sum of memory beyond the limit, in bytes.
  double excess() const { return excess_; }
  std::size_t fullest() const { return fullest_; }                     // the first step of the peak
  const std::vector<std::int64_t>& memory() const { return memory_; }  // by step
  // By step: the last step that reads its value; the step itself where none does.
  const std::vector<int>& last() const { return last_; }
  // By task: its latest step. -1: none.
  const std::vector<int>& made() const { return made_; }
  // By task: whether its value is copied out.
  const std::vector<bool>& left() const { return left_; }

 private:
  const RecomputeProblem& problem_;
  std::int64_t limit_;
  std::vector<int> made_, last_;
  std::vector<bool> left_;
  std::vector<std::int64_t> memory_;
  double cost_ = 0, excess_ = 0;
  std::int64_t peak_ = 0;
  std::size_t fullest_ = 0;
};

}  // namespace egret::extract
