// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/index_arithmetic.h"

#include <algorithm>

namespace egret::parallel {
namespace {

// A number on every device: a variable whose block is one element is a constant there, and still
// moves.
bool is_number(const IndexForm& form) { return form.sum.is_constant() && form.moves == 0; }

// An operator of which nothing is known.
IndexForm opaque_form(FormTable& table, const char* name, const IndexForm& a, const IndexForm& b) {
  if (a.moves != 0 || b.moves != 0) throw NotCut{};
  return atom_form(table, name + ("(" + a.sum.text() + "," + b.sum.text() + ")"), {}, {});
}

Interval quotient(Interval range, std::int64_t by) {
  return {range.low <= -kFar ? -kFar : floor_div(range.low, by),
          range.high >= kFar ? kFar : floor_div(range.high, by)};
}

enum class Extremum : bool { kLeast, kLargest };

IndexForm extremum_form(FormTable& table, Extremum which, const IndexForm& a, const IndexForm& b) {
  const bool least = which == Extremum::kLeast;
  // One of them is it wherever the variable is.
  if (a.global.high <= b.global.low) return least ? a : b;
  if (b.global.high <= a.global.low) return least ? b : a;
  if (a.moves != b.moves) throw NotCut{};
  const auto pick = [&](Interval x, Interval y) {
    return least ? Interval{std::min(x.low, y.low), std::min(x.high, y.high)}
                 : Interval{std::max(x.low, y.low), std::max(x.high, y.high)};
  };
  IndexForm form =
      atom_form(table, (least ? "min(" : "max(") + a.sum.text() + "," + b.sum.text() + ")",
                pick(a.local, b.local), pick(a.global, b.global));
  form.moves = a.moves;
  return form;
}

}  // namespace

IndexForm constant_form(std::int64_t value) {
  IndexForm form;
  form.sum.constant = value;
  form.local = form.global = {bounded(value), bounded(value)};
  return form;
}

IndexForm atom_form(FormTable& table, const std::string& text, Interval local, Interval global) {
  IndexForm form;
  form.sum.factors[table.intern(text)] = 1;
  form.local = local;
  form.global = global;
  return form;
}

IndexForm sum_form(const IndexForm& a, const IndexForm& b) {
  IndexForm form = a;
  form.sum.add(b.sum, 1);
  form.local = sum(a.local, b.local);
  form.global = sum(a.global, b.global);
  form.moves += b.moves;
  return form;
}

// Equal atoms cancel in the sum. The intervals do not know of this, so they may be wider than the
// difference.
IndexForm difference_form(const IndexForm& a, const IndexForm& b) {
  const auto minus = [](Interval range) { return Interval{-range.high, -range.low}; };
  IndexForm form = a;
  form.sum.add(b.sum, -1);
  form.local = sum(a.local, minus(b.local));
  form.global = sum(a.global, minus(b.global));
  form.moves -= b.moves;
  return form;
}

// A product with a number stays linear. A product of two variables is opaque: it has bounds and a
// name, but no known structure.
IndexForm product_form(FormTable& table, const IndexForm& a, const IndexForm& b) {
  if (!is_number(a) && is_number(b)) return product_form(table, b, a);
  IndexForm form;
  form.local = product(a.local, b.local);
  form.global = product(a.global, b.global);
  if (is_number(a)) {
    form.sum.add(b.sum, a.sum.constant);
    form.moves = b.moves * a.sum.constant;
    return form;
  }
  if (a.moves != 0 || b.moves != 0) throw NotCut{};
  return atom_form(table, "(" + a.sum.text() + ")*(" + b.sum.text() + ")", form.local, form.global);
}

// (a + r*m) / by = a / by + r * (m / by) where `by` divides m. Where the local part is between 0
// and by - 1, its own quotient is 0 and only that of the moving part remains.
IndexForm quotient_form(FormTable& table, const IndexForm& a, const IndexForm& b) {
  if (!is_number(b)) return opaque_form(table, "div", a, b);
  const std::int64_t by = b.sum.constant;
  if (by <= 0) throw NotCut{};
  // The dividend is smaller than the divisor everywhere.
  if (a.global.within(0, by - 1)) return {{}, {0, 0}, {0, 0}, 0};
  if (a.moves % by != 0) throw NotCut{};
  IndexForm form;
  if (a.local.within(0, by - 1)) {
    form = {{}, {0, 0}, quotient(a.global, by), 0};
  } else if (by == 1) {
    form = a;
  } else {
    form = atom_form(table, "div(" + a.sum.text() + "," + std::to_string(by) + ")",
                     quotient(a.local, by), quotient(a.global, by));
  }
  form.moves = a.moves / by;
  return form;
}

// (a + r*m) mod by = a mod by where `by` divides m.
IndexForm remainder_form(FormTable& table, const IndexForm& a, const IndexForm& b) {
  if (!is_number(b)) return opaque_form(table, "mod", a, b);
  const std::int64_t by = b.sum.constant;
  if (by <= 0) throw NotCut{};
  if (a.global.within(0, by - 1)) return a;
  if (a.moves % by != 0) throw NotCut{};
  if (a.local.within(0, by - 1)) return {a.sum, a.local, {0, by - 1}, 0};
  return atom_form(table, "mod(" + a.sum.text() + "," + std::to_string(by) + ")", {0, by - 1},
                   {0, by - 1});
}

IndexForm minimum_form(FormTable& table, const IndexForm& a, const IndexForm& b) {
  return extremum_form(table, Extremum::kLeast, a, b);
}

IndexForm maximum_form(FormTable& table, const IndexForm& a, const IndexForm& b) {
  return extremum_form(table, Extremum::kLargest, a, b);
}

}  // namespace egret::parallel
