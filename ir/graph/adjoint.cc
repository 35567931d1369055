// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/adjoint.h"

#include <algorithm>
#include <map>
#include <string>

namespace egret::ir {
namespace {

// Immortal, as operators are. Written only while operators are constructed.
std::map<std::string, Differentiate>& gradients_by_name() {
  static auto* const made = new std::map<std::string, Differentiate>;
  return *made;
}

// As above.
std::map<std::string, std::vector<int>>& measured_by_name() {
  static auto* const made = new std::map<std::string, std::vector<int>>;
  return *made;
}

}  // namespace

Operator differentiated_by(Operator op, Differentiate differentiate) {
  gradients_by_name()[op.name()] = std::move(differentiate);
  return op;
}

const Differentiate* own_gradient(const Operator& op) {
  const auto found = gradients_by_name().find(op.name());
  return found != gradients_by_name().end() ? &found->second : nullptr;
}

Operator measured_inputs(Operator op, std::vector<int> inputs) {
  measured_by_name()[op.name()] = std::move(inputs);
  return op;
}

bool is_measured_input(const Operator& op, std::size_t input) {
  const auto found = measured_by_name().find(op.name());
  return found != measured_by_name().end() &&
         std::ranges::find(found->second, static_cast<int>(input)) != found->second.end();
}

}  // namespace egret::ir
