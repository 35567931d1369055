// SPDX-License-Identifier: Apache-2.0
// All operators by name: those of operators.def and those that a program registered.
#include <boost/unordered/unordered_flat_map.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph/operator.h"
#include "ir/graph/operator_registration.h"

namespace egret::ir {
namespace ops {

#define EGRET_OPERATOR(name) Operator name();
#include "ir/ops/operators.def"
#undef EGRET_OPERATOR

}  // namespace ops

namespace {

constexpr Operator (*kRows[])() = {
#define EGRET_OPERATOR(name) &ops::name,
#include "ir/ops/operators.def"
#undef EGRET_OPERATOR
};

struct Registry {
  std::vector<const Operator*> in_order;
  boost::unordered_flat_map<std::string_view, const Operator*> by_name;

  const Operator& add(Operator made) {
    const auto* op = new Operator(std::move(made));
    EGRET_CHECK(
        op->is_composite() ? static_cast<bool>(op->build_body()) : static_cast<bool>(op->define()),
        "an operator needs a definition or a body");
    EGRET_CHECK(by_name.emplace(op->name(), op).second, "two operators of one name");
    in_order.push_back(op);
    return *op;
  }
};

Registry& registry() {
  static Registry* const made = [] {
    auto* r = new Registry;  // immortal, like the operators in it
    for (Operator (*make)() : kRows) r->add(make());
    return r;
  }();
  return *made;
}

}  // namespace

const Operator* find_operator(std::string_view name) {
  const auto found = registry().by_name.find(name);
  return found != registry().by_name.end() ? found->second : nullptr;
}

const Operator& register_operator(Operator made) { return registry().add(std::move(made)); }

const Operator& get_operator(std::string_view name) {
  const Operator* op = find_operator(name);
  EGRET_CHECK(op != nullptr, "no such operator");
  return *op;
}

std::span<const Operator* const> all_operators() { return registry().in_order; }

}  // namespace egret::ir
