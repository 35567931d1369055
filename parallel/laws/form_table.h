// SPDX-License-Identifier: Apache-2.0
// Expressions of several denotations by number: equal numbers mean equal elements for all inputs
// and all variables within their extents.
#pragma once

#include <map>
#include <string>

namespace egret::parallel {

class FormTable {
 public:
  int intern(const std::string& form) {
    return numbers_.try_emplace(form, static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, int> numbers_;
};

}  // namespace egret::parallel
