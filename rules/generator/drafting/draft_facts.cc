// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/drafting/draft_facts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "rules/generator/drafting/permuted_axes.h"
#include "rules/language/expression_parts.h"

namespace egret::rules::generator {

using ir::Integers;

namespace {

constexpr std::size_t kMostEqual = 3;  // quantities that an attribute is equal to
constexpr std::size_t kMostMiddles = 6;

// A number, or an element of another list.
bool is_of_lists(const Expr& expr) {
  return expr.kind == Expr::Kind::kLiteral ||
         (expr.kind == Expr::Kind::kCall && expr.function->name == "at");
}

void append(std::vector<Expr>& to, std::vector<Expr> from) {
  std::ranges::move(from, std::back_inserter(to));
}

// ?attribute == quantity; sizes and elements of lists before attribute variables.
std::vector<Expr> equal_quantities(int slot, const ByWorld& wanted, const Quantities& quantities) {
  std::vector<Expr> found;
  for (const bool attributes : {false, true}) {
    for (const Quantity& q : quantities) {
      if (found.size() == kMostEqual || q.values != wanted || mentions(q.expr, slot)) continue;
      if ((q.expr.kind == Expr::Kind::kAttribute) != attributes) continue;
      found.push_back(equal(attribute(slot), q.expr));
    }
  }
  return found;
}

// ?attribute * 2 == size, ?attribute * 3 == size.
std::vector<Expr> fractions_of_sizes(int slot, const ByWorld& wanted, const Quantities& quantities,
                                     std::size_t most) {
  std::vector<Expr> found;
  for (const Quantity& q : quantities) {
    if (q.is_attribute || mentions(q.expr, slot)) continue;
    for (const std::int64_t n : {2, 3}) {
      bool fits = found.size() < most;
      for (std::size_t w = 0; w < wanted.size() && fits; ++w) fits = q.values[w] == n * wanted[w];
      if (fits) found.push_back(equal(call("*", {attribute(slot), literal(n)}), q.expr));
    }
  }
  return found;
}

// ?attribute * 2 == before * 2 + halved: the middle of a tensor that follows another one in a
// concatenation. Sizes along an open axis where there is one.
std::vector<Expr> middles_of_sizes(int slot, const ByWorld& wanted, const LeftSide& left,
                                   const Quantities& quantities) {
  const bool open = std::ranges::find(left.open, "axis", &OpenAttribute::name) != left.open.end();
  const auto is_size_along = [&](const Quantity& q) {
    return !q.is_attribute && (q.expr.arguments[1].kind == Expr::Kind::kAttribute) == open;
  };
  const Expr two = literal(std::int64_t{2});
  std::vector<Expr> found;
  for (const Quantity& before : quantities) {
    for (const Quantity& halved : quantities) {
      if (!is_size_along(before) || !is_size_along(halved) || found.size() == kMostMiddles)
        continue;
      if (before.expr.arguments[0].slot == halved.expr.arguments[0].slot) continue;
      bool fits = true;
      for (std::size_t w = 0; w < wanted.size() && fits; ++w)
        fits = 2 * before.values[w] + halved.values[w] == 2 * wanted[w];
      if (!fits) continue;
      found.push_back(equal(call("*", {attribute(slot), two}),
                            call("+", {call("*", {before.expr, two}), halved.expr})));
    }
  }
  return found;
}

// The equations of an attribute that is one value in all worlds.
std::vector<Expr> constant_facts(const OpenAttribute& open, const LeftSide& left) {
  std::vector<Expr> ways;
  if (open.name == "perm") {
    if (auto composed = composed_permutation(left, open.values, open.slot))
      ways.push_back(equal(attribute(open.slot), *std::move(composed)));
  }
  ways.push_back(equal(attribute(open.slot), literal(open.values.front())));
  return ways;
}

std::vector<Expr> number_facts(const OpenAttribute& open, const LeftSide& left,
                               const Quantities& quantities) {
  ByWorld wanted;
  for (const ir::AttrValue& value : open.values) wanted.push_back(std::get<std::int64_t>(value));
  std::vector<Expr> ways = equal_quantities(open.slot, wanted, quantities);
  append(ways, fractions_of_sizes(open.slot, wanted, quantities, kMostEqual + 1 - ways.size()));
  append(ways, middles_of_sizes(open.slot, wanted, left, quantities));
  return ways;
}

// A list that differs from world to world, element by element; nullopt when some element is not
// determined. One equation of the whole list: random instances compute the attribute from it.
std::optional<Expr> elements_of(const OpenAttribute& open, const Quantities& quantities) {
  Expr list{.kind = Expr::Kind::kList};
  for (std::size_t i = 0; i < std::get<Integers>(open.values.front()).size(); ++i) {
    ByWorld wanted;
    for (const ir::AttrValue& value : open.values) wanted.push_back(std::get<Integers>(value)[i]);
    auto element = quantities.fit(wanted, open.slot);
    if (!element) return std::nullopt;
    list.arguments.push_back(*std::move(element));
  }
  return list;
}

}  // namespace

AttributeFacts attribute_facts(const LeftSide& left, const Quantities& quantities) {
  AttributeFacts facts;
  for (const OpenAttribute& open : left.open) {
    if (open.name == "dtype") continue;
    if (is_constant(open.values)) {
      facts.alternatives.push_back(constant_facts(open, left));
    } else if (std::holds_alternative<Integers>(open.values.front())) {
      std::optional<Expr> list = elements_of(open, quantities);
      if (!list) continue;
      if (std::ranges::all_of(list->arguments, is_of_lists))
        facts.first_world.push_back(equal(attribute(open.slot), literal(open.values.front())));
      facts.alternatives.push_back({equal(attribute(open.slot), *std::move(list))});
    } else if (std::holds_alternative<std::int64_t>(open.values.front())) {
      std::vector<Expr> ways = number_facts(open, left, quantities);
      if (!ways.empty()) facts.alternatives.push_back(std::move(ways));
    }
  }
  return facts;
}

std::vector<Expr> same_type_facts(const TermTable& terms, const LeftSide& left) {
  std::vector<Expr> facts;
  for (auto a = left.slots.begin(); a != left.slots.end(); ++a) {
    for (auto b = std::next(a); b != left.slots.end(); ++b) {
      if (terms.type_of_start(a->first) != terms.type_of_start(b->first)) continue;
      facts.push_back(call("same_type", {tensor(a->second), tensor(b->second)}));
      break;  // the next tensor of this type is compared with b
    }
  }
  return facts;
}

std::vector<Expr> size_facts(const TermTable& terms, const LeftSide& left) {
  std::vector<Expr> facts;
  std::map<ByWorld, Expr> first;  // the first size that differs from world to world like this
  std::set<TypeId> seen;          // the sizes of a type are those of its first variable
  for (const auto& [start, slot] : left.slots) {
    if (!seen.insert(terms.type_of_start(start)).second) continue;
    for (int axis = 0; axis < rank_of_start(terms, start); ++axis) {
      const ByWorld sizes = sizes_of_start(terms, start, axis);
      Expr here = call("dim", {tensor(slot), literal(std::int64_t{axis})});
      if (std::ranges::all_of(sizes, [&](std::int64_t n) { return n == sizes.front(); })) {
        facts.push_back(equal(std::move(here), literal(sizes.front())));
        continue;
      }
      const auto found = first.find(sizes);
      if (found == first.end()) {
        first.emplace(sizes, std::move(here));
      } else {
        facts.push_back(equal(std::move(here), found->second));
      }
    }
  }
  return facts;
}

std::vector<Expr> distinct_axes(const LeftSide& left) {
  std::vector<Expr> facts;
  const auto axes = constant_attributes<std::int64_t>(left, "axis");
  const auto lists = constant_attributes<Integers>(left, "axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto& [slot, axis] = axes[i];
    for (std::size_t j = i + 1; j < axes.size(); ++j) {
      if (axes[j].second != axis)
        facts.push_back(call("!=", {attribute(slot), attribute(axes[j].first)}));
    }
    for (const auto& [list_slot, list] : lists) {
      if (std::ranges::find(list, axis) == list.end())
        facts.push_back(call("not", {call("contains", {attribute(list_slot), attribute(slot)})}));
    }
  }
  return facts;
}

}  // namespace egret::rules::generator
