// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/drafting/quantities.h"

#include <algorithm>

#include "rules/language/expression_parts.h"

namespace egret::rules::generator {

bool mentions(const Expr& expr, int attribute_slot) {
  bool found = false;
  for_each_part(expr, [&](const Expr& part) {
    found = found || (part.kind == Expr::Kind::kAttribute && part.slot == attribute_slot);
  });
  return found;
}

std::optional<Expr> Quantities::fit(const ByWorld& wanted, int without,
                                    const std::optional<ListPlace>& place) const {
  if (std::ranges::all_of(wanted, [&](std::int64_t n) { return n == wanted.front(); }))
    return literal(wanted.front());
  if (without >= 0) {
    for (const Quantity& q : all_) {
      if (q.values == wanted && q.expr.kind == Expr::Kind::kAttribute && q.expr.slot != without)
        return q.expr;
    }
  }
  return fit_any(wanted, without, place);
}

std::optional<Expr> Quantities::fit_any(const ByWorld& wanted, int without,
                                        const std::optional<ListPlace>& place) const {
  for (const Quantity& q : all_) {
    if (q.values == wanted && !mentions(q.expr, without)) return q.expr;
  }
  if (place) {
    if (auto sum = sum_in_place(wanted, *place)) return sum;
  }
  struct Form {
    std::string_view function;
    std::int64_t (*value)(std::int64_t, std::int64_t);
  };
  static constexpr Form kForms[] = {
      {"+", [](std::int64_t a, std::int64_t b) { return a + b; }},
      {"-", [](std::int64_t a, std::int64_t b) { return a - b; }},
      {"*", [](std::int64_t a, std::int64_t b) { return a * b; }},
      {"/", [](std::int64_t a, std::int64_t b) { return b > 0 && a >= 0 ? a / b : -1; }}};
  const auto try_pair = [&](const Expr& a, const ByWorld& x, const Expr& b,
                            const ByWorld& y) -> std::optional<Expr> {
    for (const Form& form : kForms) {
      bool fits = true;
      for (std::size_t w = 0; w < worlds_ && fits; ++w) fits = form.value(x[w], y[w]) == wanted[w];
      if (fits) return call(form.function, {a, b});
    }
    return std::nullopt;
  };
  const auto try_pairs = [&](bool with_attribute) -> std::optional<Expr> {
    for (const Quantity& a : all_) {
      for (const Quantity& b : all_) {
        if (with_attribute && a.is_attribute == b.is_attribute) continue;
        if (mentions(a.expr, without) || mentions(b.expr, without)) continue;
        if (auto found = try_pair(a.expr, a.values, b.expr, b.values)) return found;
      }
    }
    return std::nullopt;
  };
  // A part of what is open and not half of a size that happens to be as large.
  if (attributes_first_) {
    if (auto found = try_pairs(true)) return found;
  }
  for (const Quantity& a : all_) {
    if (mentions(a.expr, without)) continue;
    for (const std::int64_t n : {1, 2, 3}) {
      if (auto found = try_pair(a.expr, a.values, literal(n), ByWorld(worlds_, n))) return found;
    }
  }
  return try_pairs(false);
}

std::optional<Expr> Quantities::sum_in_place(const ByWorld& wanted, const ListPlace& place) const {
  for (const bool both : {true, false}) {
    for (const Quantity& here : all_) {
      if (here.place != place) continue;
      for (const Quantity& more : all_) {
        if (&more == &here || !more.place || (both && more.place != place)) continue;
        bool fits = true;
        for (std::size_t w = 0; w < worlds_ && fits; ++w)
          fits = more.values[w] + here.values[w] == wanted[w];
        if (fits) return call("+", {more.expr, here.expr});
      }
    }
  }
  return std::nullopt;
}

}  // namespace egret::rules::generator
