// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "rules/language/rule_parser.h"

namespace egret::rules {

// The rule of a text such as "relu(relu(?x)) => relu(?x)".
inline Rule parsed(std::string_view text) {
  auto rules = parse_rules("test.rules", "rule test " + std::string(text));
  EXPECT_TRUE(rules.ok()) << rules.status().message();
  return rules->front();
}

}  // namespace egret::rules
