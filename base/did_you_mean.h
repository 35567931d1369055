// SPDX-License-Identifier: Apache-2.0
// Suggestions for misspelt names: flags, keys, operators, models.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace egret::base {

// Fewest insertions, deletions, substitutions and swaps of neighbours that turn a into b, no
// substring edited twice ("optimal string alignment"). O(|a| |b|) time, O(|b|) memory.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to the word, or "" when none is near (at most a third of the word's length
// away, and at least one edit is always allowed). The first one wins a tie.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "; did you mean \"X\"?", or "" without a near candidate: to be appended to an error message.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// "; known are A, B" and what did_you_mean() adds, for few candidates. "" if there is none.
std::string known_names(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace egret::base
