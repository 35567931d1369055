// SPDX-License-Identifier: Apache-2.0
#include "rules/records/rule_limit.h"

#include <algorithm>
#include <charconv>

namespace egret::rules {

bool RuleLimit::admits(std::span<const int> ranks, bool has_empty) const {
  if (has_empty != of_empty) return false;
  if (rank != kAnyRank && std::ranges::any_of(ranks, [&](int one) { return one > rank; }))
    return false;
  return std::ranges::none_of(
      open, [&](const std::vector<int>& excluded) { return std::ranges::equal(excluded, ranks); });
}

std::string to_string(const RuleLimit& limit) {
  constexpr std::size_t kNamed = 3;
  std::string text =
      limit.rank == RuleLimit::kAnyRank ? "any rank" : "rank <= " + std::to_string(limit.rank);
  for (std::size_t i = 0; i < std::min(limit.open.size(), kNamed); ++i)
    text += (i == 0 ? " but not (" : ", (") + text_of_ranks(limit.open[i]) + ")";
  if (limit.open.size() > kNamed)
    text += " and " + std::to_string(limit.open.size() - kNamed) + " more";
  if (limit.of_empty) text += ", only with a size of 0";
  return text;
}

std::string text_of_ranks(std::span<const int> ranks) {
  std::string text;
  for (const int rank : ranks) text += (text.empty() ? "" : ",") + std::to_string(rank);
  return text;
}

base::Result<std::vector<int>> parse_ranks(std::string_view text) {
  std::vector<int> ranks;
  while (!text.empty()) {
    int rank = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    const std::size_t read = static_cast<std::size_t>(end - text.data());
    const bool more = read < text.size();
    if (error != std::errc() || rank < 0 ||
        (more && (text[read] != ',' || read + 1 == text.size())))
      return base::bad_input("'" + std::string(text) + "' is no list of ranks");
    ranks.push_back(rank);
    text.remove_prefix(more ? read + 1 : read);
  }
  return ranks;
}

}  // namespace egret::rules
