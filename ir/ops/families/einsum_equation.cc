// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/einsum_equation.h"

#include <algorithm>
#include <array>
#include <string>

namespace egret::ir {
namespace {

constexpr int kEllipsis = 52;
constexpr int kMaxRank = 64;

int label_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  return -1;
}

// The labels of one term. `ellipsis` yields the width of an ellipsis, given how many letters there
// are.
template <typename EllipsisWidth>
base::Result<std::vector<int>> term_labels(std::string_view term, int total_width,
                                           const EllipsisWidth& ellipsis) {
  std::vector<int> labels;
  const auto letters =
      static_cast<int>(std::ranges::count_if(term, [](char c) { return label_of(c) >= 0; }));
  bool has_ellipsis = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.substr(i, 3) == "...") {
      if (has_ellipsis) return base::bad_input("two ellipses in one term");
      has_ellipsis = true;
      const int width = ellipsis(letters);
      for (int k = total_width - width; k < total_width; ++k) labels.push_back(kEllipsis + k);
      i += 2;
    } else if (label_of(term[i]) >= 0) {
      labels.push_back(label_of(term[i]));
    } else {
      return base::bad_input("'" + std::string(1, term[i]) +
                             "' is not valid in an einsum equation");
    }
  }
  return labels;
}

}  // namespace

// Gives each axis a number: letters are 0 to 51, and the axes of an ellipsis follow, aligned at the
// last one. Without an arrow, the output has the ellipsis and the letters that occur once, in
// alphabetical order (upper case first), as NumPy defines it.
base::Result<EinsumEquation> parse_einsum(std::string_view equation, std::span<const int> ranks) {
  std::string text(equation);
  std::erase(text, ' ');
  const auto arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::vector<std::string> terms{""};
  for (const char c : left) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  if (terms.size() != ranks.size()) {
    return base::bad_input("equation '" + text + "' has " + std::to_string(terms.size()) +
                           " operands, but the operator has " + std::to_string(ranks.size()));
  }
  int width = 0;  // of the widest ellipsis
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool has = terms[i].find("...") != std::string::npos;
    const auto letters = static_cast<int>(terms[i].size()) - (has ? 3 : 0);
    if (ranks[i] > kMaxRank || (has ? ranks[i] < letters : ranks[i] != letters)) {
      return base::bad_input("term '" + terms[i] + "' does not fit an operand of rank " +
                             std::to_string(ranks[i]));
    }
    if (has) width = std::max(width, ranks[i] - letters);
  }

  EinsumEquation result;
  std::array<int, kEllipsis> uses{};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    EGRET_ASSIGN_OR_RETURN(
        auto labels, term_labels(terms[i], width, [&](int letters) { return ranks[i] - letters; }));
    for (const int label : labels) {
      if (label < kEllipsis) ++uses[static_cast<std::size_t>(label)];
    }
    result.operands.push_back(std::move(labels));
  }
  if (arrow == std::string::npos) {
    for (int k = 0; k < width; ++k) result.output.push_back(kEllipsis + k);
    for (int label = 0; label < kEllipsis; ++label) {
      if (uses[static_cast<std::size_t>(label)] == 1) result.output.push_back(label);
    }
  } else {
    EGRET_ASSIGN_OR_RETURN(result.output,
                           term_labels(text.substr(arrow + 2), width, [&](int) { return width; }));
  }
  const auto in_output = [&](int label) {
    return std::ranges::find(result.output, label) != result.output.end();
  };
  for (const int label : result.output) {
    const bool known = label >= kEllipsis || uses[static_cast<std::size_t>(label)] > 0;
    if (!known || std::ranges::count(result.output, label) != 1) {
      return base::bad_input("the output of '" + text + "' repeats an axis or has a new one");
    }
  }
  for (const auto& labels : result.operands) {
    for (const int label : labels) {
      const bool listed = std::ranges::find(result.contracted, label) != result.contracted.end();
      if (!in_output(label) && !listed) result.contracted.push_back(label);
    }
  }
  return result;
}

}  // namespace egret::ir
