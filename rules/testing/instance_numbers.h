// SPDX-License-Identifier: Apache-2.0
// The numbers of an instance by name: sizes, attributes and constants. What they do not contain
// (ranks, element types, texts, list lengths, signs) is the instance's structure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "ir/core/symbol_values.h"
#include "rules/language/rule.h"
#include "rules/testing/instance.h"

namespace egret::rules {

// The numbers of an instance, by the names of the symbols that represent them in its families.
struct Numbers {
  ir::SymbolValues integers;  // sizes too, other than 0
  std::map<std::string, double, std::less<>> reals;
  // Ranks, element types, texts, list lengths, and integers that stay numbers: sizes of 0 are among
  // them.
  std::string structure;
};
Numbers numbers_of(const Rule& rule, const Instance& instance);
// The sizes alone, other than 0.
ir::SymbolValues sizes_of(const Rule& rule, const Choice& choice);
// The choice with the named sizes and integer attributes replaced.
Choice with_integers(const Rule& rule, Choice choice, const ir::SymbolValues& integers);

// Attributes of different sources that must be equal, because one variable or capture stands for
// them: from the name of each to that of the first.
std::map<std::string, std::string> equal_attributes(const Rule& rule);
// Adds the integers of attributes that equal others.
void add_equal_attributes(const std::map<std::string, std::string>& equal,
                          ir::SymbolValues& integers);

// The equalities among the reals, and the values of those that are known or not finite. It is the
// same for all members of a family.
std::string structure_of_reals(const Numbers& numbers, const std::set<std::string>& unknown);

// The names of the numbers. A number is not negative: a negative attribute is minus the number of
// its name with "-" before it. Markers such as the least integer ("to the end") have no name.
inline constexpr std::int64_t kLeastNamed = -(std::int64_t{1} << 40);
inline bool is_negated(std::int64_t value) { return value < 0 && value >= kLeastNamed; }
std::string number_name(const std::string& name, std::int64_t value);
std::string size_name(const Rule& rule, int slot, std::size_t axis);
bool is_empty_size(const ir::Index& size);            // 0: it stays a number in families
std::string element_name(const std::string& tensor);  // of a constant's integer element

}  // namespace egret::rules
