// SPDX-License-Identifier: Apache-2.0
// The ranks and sizes for which a rule is proven. A rule runs only where its limit admits the
// tensors that its variables match.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace egret::rules {

struct RuleLimit {
  static constexpr int kAnyRank = -1;

  int rank = kAnyRank;  // the largest of a variable
  // Ranks of the variables, in the order of the rule, for which the families are not known to
  // contain all sizes and attributes. Sorted, each once.
  std::vector<std::vector<int>> open{};
  // Whether the proof is about instances in which some size of a variable is 0. All others are
  // about sizes of at least 1.
  bool of_empty = false;

  bool is_none() const { return rank == kAnyRank && open.empty() && !of_empty; }
  bool admits(std::span<const int> ranks, bool has_empty) const;
  friend bool operator==(const RuleLimit&, const RuleLimit&) = default;
};

// "any rank", "rank <= 4", or "rank <= 4 but not (4, 1), (4, 4)" with at most three named; then
// ", only with a size of 0".
std::string to_string(const RuleLimit& limit);

// Ranks as text, "4,1", and back. Errors: bad_input for other texts.
std::string text_of_ranks(std::span<const int> ranks);
base::Result<std::vector<int>> parse_ranks(std::string_view text);

}  // namespace egret::rules
