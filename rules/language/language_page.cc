// SPDX-License-Identifier: Apache-2.0
#include "rules/language/language_page.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "rules/language/expression.h"

namespace egret::rules {
namespace {

using Row = std::pair<std::string_view, std::string_view>;

constexpr Row kParts[] = {
    {"rule NAME \"doc\" [tags]", "begins a rule; doc and tags are optional"},
    {"SOURCES", "one or several terms; `p = TERM` names one"},
    {"where CONDITION", "a condition of the rule, on sizes, ranks, element types, attributes"},
    {"heuristic CONDITION", "when the rule is worth applying; not part of its meaning"},
    {"let NAME = TERM", "a value for the targets"},
    {"let ?NAME = EXPRESSION", "an attribute for the targets"},
    {"=> TARGETS", "one term for each source, by its name"},
    {"<=> TARGETS", "two rules, one for each direction"},
    {"# ...", "a comment"},
};

constexpr Row kTerms[] = {
    {"?x", "any tensor"},
    {"op{a=1, b=?b, *c}(?x)", "an application; `egret ops` lists operators"},
    {"a=1", "requires this value (source), or gives it (target)"},
    {"b=?b", "binds the attribute ?b"},
    {"b=[?m, ?n]", "binds the elements of a list"},
    {"*c", "captures the other attributes (source), or inserts them (target)"},
    {"*", "ignores the other attributes (source)"},
    {"0.5", "a tensor whose elements are all this number"},
};

constexpr Row kForms[] = {
    {"1, 0.5, \"text\", inf, nan", "literals"},
    {"?a", "an attribute"},
    {"c.strides", "an attribute of the capture *c"},
    {"[a, b]", "a list"},
    {"[for i < n: e]", "the list of e for i = 0 to n - 1"},
    {"if(c, a, b)", "a if the condition holds, else b"},
    {"a and b", "both hold"},
    {"a or b", "one holds"},
};

std::string row(std::string_view left, std::string_view right) {
  constexpr std::size_t kColumn = 28;
  std::string line = "  " + std::string(left);
  line += line.size() < kColumn ? std::string(kColumn - line.size(), ' ') : "  ";
  return line + std::string(right) + "\n";
}

template <std::size_t n>
std::string rows(const Row (&table)[n]) {
  std::string text;
  for (const auto& [left, right] : table) text += row(left, right);
  return text;
}

// How a function or operator is written.
std::string spelling(const ExprFunction& function) {
  if (function.name == "negative") return "-a";
  if (function.name == "at") return "l[i]";
  if (function.name == "not") return "not a";
  const bool is_word = std::isalpha(static_cast<unsigned char>(function.name.front())) != 0;
  if (!is_word) return "a " + std::string(function.name) + " b";
  static constexpr std::string_view kTensors[] = {"?x", "?y"};
  static constexpr std::string_view kValues[] = {"a", "b", "c"};
  std::string arguments;
  const auto add = [&](std::string_view argument) {
    arguments += (arguments.empty() ? "" : ", ") + std::string(argument);
  };
  for (int i = 0; i < function.tensors; ++i) add(kTensors[i]);
  for (int i = 0; i < std::max(1, function.arguments) && function.arguments != 0; ++i)
    add(kValues[i]);
  if (function.arguments < 0) add("...");
  return std::string(function.name) + "(" + arguments + ")";
}

}  // namespace

std::string language_page() {
  std::string text = "The rule language\n\nParts of a rule:\n" + rows(kParts);
  text += "\nTerms:\n" + rows(kTerms);
  text += "\nExpressions, of conditions and attributes:\n" + rows(kForms);
  for (const ExprFunction& function : functions()) text += row(spelling(function), function.help);
  text +=
      "\nAn expression has no value if a part has none, such as the size of an axis that does not\n"
      "exist. A condition without a value does not hold.\n";
  return text;
}

}  // namespace egret::rules
