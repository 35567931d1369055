// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "rules/testing/instantiation.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {

// A rule with an instance to start from: the first that random attempts make. Throws after a
// thousand attempts, which fails the test.
struct RuleWithInstance {
  explicit RuleWithInstance(const std::string& text)
      : rule(parsed(text)), instantiator(rule, known), instance(first()) {}

  const Rule rule;
  KnownOperators known;
  Instantiator instantiator;
  const Instance instance;

 private:
  Instance first() {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      if (auto made = instantiator.attempt(base::Random(1).split(i))) return *std::move(made);
    }
    throw std::runtime_error("no instance");
  }
};

}  // namespace egret::rules
