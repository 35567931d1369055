// SPDX-License-Identifier: Apache-2.0
// What operators accept, found by trial: ranks and element types of operands, and which of their
// sizes are equal, or 1, in accepted calls where as few are as possible. Random instances of rules
// (rules/testing/instantiation.h) draw operands like these, which saves most of their tries.
//
// Learned per operator and number of operands, from a fixed seed: what is known of an operator does
// not depend on which rules were looked at before. Threads may share one object.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/core/tensor_type.h"
#include "ir/graph/operator.h"

namespace egret::rules {

struct Signature {
  struct Axis {
    std::size_t input, axis;
    friend auto operator<=>(const Axis&, const Axis&) = default;
  };
  struct Equal {
    std::optional<Axis> first;  // none: the number 1
    Axis second;                // after the first
    friend auto operator<=>(const Equal&, const Equal&) = default;
  };
  std::vector<std::pair<int, ir::DType>> inputs;  // rank and element type
  std::vector<Equal> equal;                       // sorted
};

class KnownSignatures {
 public:
  // Empty when no accepted call was found.
  const std::vector<Signature>& of(const ir::Operator& op, std::size_t operands);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::size_t>, std::vector<Signature>, std::less<>> learned_;
};

}  // namespace egret::rules
