// SPDX-License-Identifier: Apache-2.0
#include "base/did_you_mean.h"

#include <algorithm>
#include <numeric>

namespace egret::base {
namespace {

// Words beyond this are never typing mistakes, and a hostile file must not buy quadratic time.
constexpr std::size_t kLongestWord = 128;

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: a swap looks two rows back.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kLongestWord) return "";
  const std::size_t allowed = std::max<std::size_t>(1, word.size() / 3);
  std::size_t best_distance = allowed + 1;
  const std::string* best = nullptr;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > word.size() + allowed) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? "" : *best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string found = nearest(word, candidates);
  return found.empty() ? "" : "; did you mean \"" + found + "\"?";
}

std::string known_names(std::string_view word, const std::vector<std::string>& candidates) {
  std::string text;
  for (const std::string& candidate : candidates)
    text += (text.empty() ? "; known are " : ", ") + candidate;
  return text + did_you_mean(word, candidates);
}

}  // namespace egret::base
