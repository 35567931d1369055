// SPDX-License-Identifier: Apache-2.0
// Spaces that have a name, each with the number of operators it is searched to. `egret rules
// generate --space NAME` runs one of them, `--space default` all, in this order: each starts from
// what those before it found (rules/generator/default_set.h).
#pragma once

#include <span>
#include <string_view>

#include "rules/generator/spaces/space.h"

namespace egret::rules::generator {

struct NamedSpace {
  std::string_view name;
  std::string_view help;
  std::size_t most_operators;
  Space (*make)();
};

std::span<const NamedSpace> named_spaces();
const NamedSpace* find_named_space(std::string_view name);  // null: there is none

}  // namespace egret::rules::generator
