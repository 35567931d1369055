// SPDX-License-Identifier: Apache-2.0
// Signatures that operators accept, found by trial: the ranks and element types of the operands,
// and the sizes that must be equal or 1. Only accepted calls with minimal sets of equalities are
// kept. Random instances of rules (rules/testing/instantiation.h) draw operands accordingly, which
// saves most of their attempts.
//
// They are determined per operator and number of operands from a fixed seed, so they do not depend
// on the rules seen before. Thread-safe.
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
  // Empty if no accepted call was found. `rank`: only calls with an operand of this rank.
  const std::vector<Signature>& of(const ir::Operator& op, std::size_t operands,
                                   std::optional<int> rank = std::nullopt);

 private:
  std::mutex mutex_;
  struct Key {
    std::string op;
    std::size_t operands;
    std::optional<int> rank;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, std::vector<Signature>> learned_;
};

}  // namespace egret::rules
