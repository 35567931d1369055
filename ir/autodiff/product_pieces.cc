// SPDX-License-Identifier: Apache-2.0
// The factors of a sum of products, made few enough to be multiplied.
#include "ir/autodiff/product_emission.h"

namespace egret::ir::autodiff {

// Emits the sum over a domain of a product of tensors, each indexed by affine forms. First the
// domain is simplified: conditions become ranges or eliminate variables. The remaining factors are
// multiplied in pairs, by matrix products or convolutions.
std::optional<Value> ProductEmission::run(bool divisions) {
  for (Seen* s : all()) {
    if (s != &target_) reduction_.track(s->axes);
  }
  reduction_.track_target(target_.axes);
  // An empty domain: the sum has no terms.
  if (!reduction_.run(divisions)) return nothing();
  look();
  std::optional<Value> made;
  // A convolution is preferred; the general form is always possible.
  if (any_window()) made = through_windows();
  if (!made) made = without_windows();
  return made;
}

Domain ProductEmission::domain_of(Emitter& emitter, const SumOfProducts& sum) {
  Domain domain;
  for (const int var : sum.variables) domain[var] = {0, emitter.nest().extent(var) - 1};
  return domain;
}

void ProductEmission::look() {
  for (Seen* s : all()) look(*s);
}

void ProductEmission::look(Seen& s) const {
  s.views.clear();
  for (std::size_t i = 0; i < s.axes.size(); ++i) {
    s.views.push_back(view_of(s.axes[i], s.shape[i], reduction_.domain()));
  }
}

// Reduces the factors to at most `most` pieces without a window: divisors and masks are applied to
// factors that already have their variables, and the rest is multiplied in pairs.
std::vector<ProductEmission::Piece> ProductEmission::pieces(std::span<const int> needed,
                                                            std::size_t most) {
  std::vector<Piece> list;
  for (Seen& s : factors_) {
    const bool windowed =
        std::ranges::any_of(s.axes, [&](const Affine& axis) { return windows_.contains(&axis); });
    const Labelled x = labelled(s);
    if (const auto number = constant_number(x)) {
      // Constant factors move out of the sum.
      coefficient_ *= *number;
    } else {
      list.push_back({x, windowed});
    }
  }
  for (Seen& s : divisors_) divide(list, labelled(s));
  for (Seen& s : masks_) mask(list, labelled(s));
  // Conditions that the domain could not absorb are masks.
  for (const Condition& condition : reduction_.conditions()) {
    mask(list, within_domain(condition.equality ? e_.zero(condition.form)
                                                : e_.not_positive(condition.form)));
  }
  while (static_cast<std::size_t>(std::ranges::count(list, false, &Piece::windowed)) > most) {
    merge_two(list, needed);
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    // A variable of one piece alone is summed before the product.
    if (!list[i].windowed) list[i].x = summed(b_, list[i].x, elsewhere(list, i, needed));
  }
  return list;
}

std::optional<double> ProductEmission::constant_number(const Labelled& x) const {
  const Node& node = b_.graph().node(x.value.id);
  if (node.kind != NodeKind::kConstant || node.type.rank() != 0) return std::nullopt;
  return node.data.f64_at(0);
}

std::vector<int> ProductEmission::elsewhere(std::span<const Piece> list, std::size_t i,
                                            std::span<const int> needed) {
  std::vector<int> vars(needed.begin(), needed.end());
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (k != i) vars = united(vars, list[k].x.vars);
  }
  return vars;
}

// The smallest piece that has all these variables: an operation with it creates no larger tensor.
ProductEmission::Piece* ProductEmission::covering(std::vector<Piece>& list,
                                                  std::span<const int> vars) {
  Piece* best = nullptr;
  for (Piece& piece : list) {
    if (piece.windowed || !piece.x.covers(vars)) continue;
    if (best == nullptr || piece.x.vars.size() < best->x.vars.size()) best = &piece;
  }
  return best;
}

void ProductEmission::divide(std::vector<Piece>& list, const Labelled& by) {
  if (Piece* piece = covering(list, by.vars); piece != nullptr) {
    piece->x = pointwise(b_, "div", piece->x, by);
  } else {
    list.push_back({pointwise(b_, "div", e_.scalar(e_.real(), 1), by)});
  }
}

// Selects instead of multiplying, since an excluded element may be infinite or NaN. All factors
// that fit in the piece are multiplied first, so that the select covers them too.
void ProductEmission::mask(std::vector<Piece>& list, const Labelled& mask) {
  Piece* piece = covering(list, mask.vars);
  if (piece == nullptr) {
    list.push_back({{cast_to(b_, mask.value, e_.real()), mask.vars}});
    return;
  }
  Labelled product = piece->x;
  std::vector<Piece> others;
  for (Piece& other : list) {
    if (&other == piece) continue;
    if (!other.windowed && product.covers(other.x.vars)) {
      product = pointwise(b_, "mul", product, other.x);
    } else {
      others.push_back(other);
    }
  }
  const Labelled choices[] = {mask, product, e_.scalar(e_.real(), 0)};
  others.push_back({pointwise(b_, "where", choices)});
  list = std::move(others);
}

void ProductEmission::merge_two(std::vector<Piece>& list, std::span<const int> needed) {
  // The greedy order of a contraction: of all pairs the one with the smallest joint iteration
  // space.
  std::size_t first = 0;
  std::size_t second = 0;
  double least = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (std::size_t k = i + 1; k < list.size(); ++k) {
      if (list[i].windowed || list[k].windowed) continue;
      double size = 1;
      for (const int var : united(list[i].x.vars, list[k].x.vars)) {
        size *= static_cast<double>(size_of(var));
      }
      if (second == 0 || size < least) {
        first = i;
        second = k;
        least = size;
      }
    }
  }
  const Labelled a = list[first].x;
  const Labelled c = list[second].x;
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(second));
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(first));
  std::vector<int> result;
  const std::vector<int> others = elsewhere(list, list.size(), needed);
  for (const int var : united(a.vars, c.vars)) {
    if (contains(others, var)) result.push_back(var);
  }
  // Variables that the other factor and the result lack are summed first, in each factor by itself.
  std::vector<int> of_a = united(c.vars, result);
  std::vector<int> of_c = united(a.vars, result);
  list.push_back({product_sum(b_, summed(b_, a, of_a), summed(b_, c, of_c), result)});
}

// A variable that nothing depends on repeats each term: the sum is multiplied by its extent.
void ProductEmission::count_idle(std::span<const int> used) {
  for (const auto& [var, range] : reduction_.domain()) {
    if (!contains(used, var)) coefficient_ *= static_cast<double>(extent(range));
  }
}

// Reads the factors by slices or gathers, contracts them, and puts the result at its place: by a
// slice's adjoint if the target is a box, tap by tap if it is a window, and by a scatter otherwise.
std::optional<Value> ProductEmission::without_windows() {
  for (const auto& [var, range] : reduction_.domain()) {
    if (reduction_.promoted().contains(var) && !usable_as_variable(var)) return std::nullopt;
  }
  const std::vector<bool> direct = direct_axes(target_);
  std::vector<int> needed;
  for (const Affine& axis : target_.axes) needed = united(needed, variables_of(axis));
  // Two pieces suffice: a matrix product takes both.
  const std::vector<Piece> list = pieces(needed, 2);
  std::vector<int> used = needed;
  for (const Seen* s : all()) {
    for (const Affine& axis : s->axes) used = united(used, variables_of(axis));
  }
  for (const Condition& c : reduction_.conditions()) used = united(used, variables_of(c.form));
  count_idle(used);
  Labelled product;
  if (list.size() == 1) product = list[0].x;
  if (list.size() == 2) product = product_sum(b_, list[0].x, list[1].x, needed);
  if (list.empty()) {
    product = e_.scalar(e_.real(), coefficient_);
  } else {
    product.value = scaled(b_, product.value, coefficient_);
  }
  if (std::ranges::find(direct, false) != direct.end()) {
    if (auto made = unrolled(product)) return made;
    return scattered(product, direct, needed);
  }
  return placed(product, target_);
}

// A promoted quotient has no value in the graph. It is usable only as an axis of a box, and not
// inside a gathered index or a mask.
bool ProductEmission::usable_as_variable(int symbol) {
  for (const Seen* s : all()) {
    const std::vector<bool> direct = direct_axes(*s);
    for (std::size_t i = 0; i < direct.size(); ++i) {
      if (!direct[i] && s->axes[i].factor(symbol) != 0) return false;
    }
  }
  return std::ranges::all_of(reduction_.conditions(), [&](const Condition& condition) {
    return condition.form.factor(symbol) == 0;
  });
}

}  // namespace egret::ir::autodiff
