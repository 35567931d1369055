// SPDX-License-Identifier: Apache-2.0
// A cache of laws_of(): programs repeat their operators.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parallel/laws/laws.h"

namespace egret::parallel {

class LawCache {
 public:
  const std::vector<Law>& of(const ir::Operator& op, const ir::Attrs& attrs,
                             std::span<const ir::TensorType> types, std::int64_t devices) {
    std::string key = op.name() + to_string(attrs) + std::to_string(devices);
    for (const ir::TensorType& type : types) key += " " + ir::to_string(type);
    const auto [known, is_new] = laws_.try_emplace(std::move(key));
    if (is_new) known->second = laws_of(op, attrs, types, devices);
    return known->second;
  }

 private:
  std::map<std::string, std::vector<Law>> laws_;
};

}  // namespace egret::parallel
