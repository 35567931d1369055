// SPDX-License-Identifier: Apache-2.0
// The left side of a rule, written from a term: start tensors become tensor variables, attributes
// become literals or attribute variables. Attributes of one name that agree in all worlds become
// one variable.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "rules/generator/drafting/openness.h"
#include "rules/generator/drafting/quantities.h"
#include "rules/generator/drafting/term_expansion.h"
#include "rules/generator/spaces/enumeration.h"

namespace egret::rules::generator {

// An attribute variable of the left side.
struct OpenAttribute {
  std::string name;  // of the attribute; the variable may be called otherwise
  AttrValues values;
  int slot;
};

struct LeftSide {
  Term term;
  std::vector<std::string> tensors;     // names of the rule: the output, then the variables
  std::vector<std::string> attributes;  // names of the attribute variables
  std::map<std::size_t, int> slots;     // of the variables, by start tensor
  std::vector<OpenAttribute> open;      // by slot
};

LeftSide write_left_side(TermTable& terms, const Equality& equality, Openness openness);

const OpenAttribute* find_open(const LeftSide& left, std::string_view name,
                               const AttrValues& values);

// The axis of a list named "axes" that holds one axis, the same in all worlds.
std::optional<std::int64_t> single_axis(std::string_view name, const AttrValues& values);

// The attribute variables of a name and kind whose value is the same in all worlds: slot, value.
template <typename T>
std::vector<std::pair<int, T>> constant_attributes(const LeftSide& left, std::string_view name) {
  std::vector<std::pair<int, T>> found;
  for (const OpenAttribute& open : left.open) {
    if (open.name == name && is_constant(open.values) &&
        std::holds_alternative<T>(open.values.front()))
      found.emplace_back(open.slot, std::get<T>(open.values.front()));
  }
  return found;
}

int rank_of_start(const TermTable& terms, std::size_t start);
// The size of a start tensor along an axis, by world.
ByWorld sizes_of_start(const TermTable& terms, std::size_t start, int axis);

}  // namespace egret::rules::generator
