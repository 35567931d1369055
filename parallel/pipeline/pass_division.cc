// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/pass_division.h"

#include <set>
#include <utility>

namespace egret::parallel {

PassDivision::PassDivision(std::vector<std::vector<std::size_t>> inputs, std::vector<bool> computed,
                           std::vector<std::vector<std::size_t>> outputs)
    : inputs_(std::move(inputs)),
      computed_(std::move(computed)),
      outputs_(std::move(outputs)),
      pass_(inputs_.size(), kNone) {
  for (std::size_t pass = 0; pass < outputs_.size(); ++pass) {
    for (const std::size_t node : outputs_[pass]) mark(node, pass);
  }
}

void PassDivision::mark(std::size_t node, std::size_t pass) {
  std::vector<std::size_t> waiting{node};
  while (!waiting.empty()) {
    const std::size_t at = waiting.back();
    waiting.pop_back();
    if (pass_[at] != kNone) continue;
    pass_[at] = pass;
    waiting.insert(waiting.end(), inputs_[at].begin(), inputs_[at].end());
  }
}

std::vector<std::size_t> PassDivision::computed(std::size_t pass) const {
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < pass_.size(); ++i) {
    if (pass_[i] == pass && computed_[i]) nodes.push_back(i);
  }
  return nodes;
}

// A value of this pass may be an output of a later one.
std::vector<std::size_t> PassDivision::results(std::size_t pass) const {
  std::set<std::size_t> results;
  const auto add = [&](std::size_t node) {
    if (pass_[node] == pass && computed_[node]) results.insert(node);
  };
  for (std::size_t later = pass; later < outputs_.size(); ++later) {
    for (const std::size_t node : outputs_[later]) add(node);
  }
  for (std::size_t i = 0; i < pass_.size(); ++i) {
    if (pass_[i] == kNone || pass_[i] <= pass || !computed_[i]) continue;
    for (const std::size_t input : inputs_[i]) add(input);
  }
  return {results.begin(), results.end()};
}

}  // namespace egret::parallel
