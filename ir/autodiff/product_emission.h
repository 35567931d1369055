// SPDX-License-Identifier: Apache-2.0
// One sum of products on its way to a graph: the inside of ir/autodiff/sum_of_products.h.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/autodiff/bilinear.h"
#include "ir/autodiff/domain_reduction.h"
#include "ir/autodiff/sum_of_products.h"
#include "ir/autodiff/tensor_steps.h"

namespace egret::ir::autodiff {

using View = AxisView::Kind;

// Labels of window axes, beside the symbols of the nest.
inline constexpr int kFirstWindowLabel = 1 << 24;

// One tensor as it is looked at through the variables.
struct Seen {
  Shape shape;
  std::vector<Affine> axes;
  std::vector<AxisView> views{};
  Value tensor{};  // invalid for the target

  bool any(View kind) const {
    return std::ranges::any_of(views, [&](const AxisView& v) { return v.kind == kind; });
  }
};

class ProductEmission {
 public:
  ProductEmission(Emitter& emitter, const SumOfProducts& sum)
      : e_(emitter),
        b_(emitter.builder()),
        coefficient_(sum.coefficient),
        reduction_(emitter.nest(), domain_of(emitter, sum)) {
    for (const Factor& factor : sum.factors) factors_.push_back(seen(factor));
    for (const Factor& factor : sum.divisors) divisors_.push_back(seen(factor));
    target_ = {sum.target_shape, sum.target};
    for (const int guard : sum.guards) reduction_.assume(guard);
    for (const int guard : reduction_.opaque()) masks_.push_back(seen(e_.guard(guard)));
  }

  // nullopt: try again without divisions.
  std::optional<Value> run(bool divisions) {
    for (Seen* s : all()) {
      if (s != &target_) reduction_.track(s->axes);
    }
    reduction_.track_target(target_.axes);
    if (!reduction_.run(divisions)) return nothing();
    look();
    std::optional<Value> made;
    if (any_window()) made = through_windows();
    if (!made) made = without_windows();
    return made;
  }

 private:
  static Domain domain_of(Emitter& emitter, const SumOfProducts& sum) {
    Domain domain;
    for (const int var : sum.variables) domain[var] = {0, emitter.nest().extent(var) - 1};
    return domain;
  }
  Seen seen(const Factor& factor) const {
    return {.shape = shape_of(b_, factor.tensor), .axes = factor.axes, .tensor = factor.tensor};
  }
  Seen seen(const Labelled& x) const {
    Factor factor{x.value, {}};
    for (const int var : x.vars) factor.axes.push_back(Affine::of_symbol(var));
    return seen(factor);
  }
  std::vector<Seen*> all() {
    std::vector<Seen*> list{&target_};
    for (auto* group : {&factors_, &divisors_, &masks_}) {
      for (Seen& s : *group) list.push_back(&s);
    }
    return list;
  }

  void look() {
    for (Seen* s : all()) look(*s);
  }
  void look(Seen& s) const {
    s.views.clear();
    for (std::size_t i = 0; i < s.axes.size(); ++i) {
      s.views.push_back(view_of(s.axes[i], s.shape[i], reduction_.domain()));
    }
  }
  bool any_window() {
    return std::ranges::any_of(all(), [](const Seen* s) { return s->any(View::kWindow); });
  }

  Value nothing() { return zeros(b_, e_.real(), target_.shape); }
  std::int64_t size_of(int var) const { return extent(reduction_.domain().at(var)); }

  // ---- Tensors as they are seen

  // Axes whose variables occur nowhere else in the tensor, and that are boxes, are direct.
  std::vector<bool> direct_axes(const Seen& s) const {
    std::vector<bool> direct;
    for (const AxisView& view : s.views) direct.push_back(view.kind == View::kBox);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < direct.size(); ++i) {
        if (!direct[i]) continue;
        for (std::size_t k = 0; k < direct.size() && direct[i]; ++k) {
          if (k == i) continue;
          const std::vector<int> others = variables_of(s.axes[k]);
          const bool shared =
              std::ranges::any_of(s.views[i].vars, [&](int var) { return contains(others, var); });
          if (shared) {
            direct[i] = false;
            changed = true;
          }
        }
      }
    }
    return direct;
  }

  // Loop variables, through the symbols that a form names; promoted symbols as themselves.
  std::vector<int> variables_of(const Affine& form) const {
    std::vector<int> found;
    VariableSet set = 0;
    for (const auto& part : form.parts) {
      if (reduction_.domain().contains(part.symbol)) {
        found = united(found, std::vector<int>{part.symbol});
      } else {
        set |= e_.nest().symbol(part.symbol).depends;
      }
    }
    for (const int var : e_.variables(set)) {
      found =
          united(found, reduction_.domain().contains(var) ? std::vector<int>{var}
                                                          : variables_of(reduction_.replaced(var)));
    }
    return found;
  }

  // The tensor over its variables. Window axes keep their elements, under labels of their own.
  Labelled labelled(const Seen& s) {
    const std::vector<bool> direct = direct_axes(s);
    for (std::size_t i = 0; i < direct.size(); ++i) {
      if (!direct[i] && !windows_.contains(s.axes.data() + i)) return gathered(s, direct);
    }
    return boxes(s.tensor, s);
  }

  Labelled boxes(Value x, const Seen& s) {
    Labelled made;
    Shape shape;
    for (std::size_t i = 0; i < s.views.size(); ++i) {
      const auto window = windows_.find(s.axes.data() + i);
      if (window != windows_.end()) {
        made.vars.push_back(window->second);
        shape.push_back(s.shape[i]);
        continue;
      }
      const AxisView& view = s.views[i];
      std::int64_t count = 1;
      for (const int var : view.vars) {
        made.vars.push_back(var);
        shape.push_back(size_of(var));
        count *= size_of(var);
      }
      x = sliced(b_, x, static_cast<int>(i), view.start, count, view.step);
    }
    made.value = reshaped(b_, x, shape);
    return made;
  }

  // Where elements lie on the axes that are not direct, counted over these axes alone; and those
  // axes' sizes together.
  struct Places {
    Labelled at;
    std::int64_t count = 1;
  };
  Places places(const Seen& s, const std::vector<bool>& direct) {
    Places result;
    std::vector<int> vars;
    for (std::size_t i = 0; i < direct.size(); ++i) {
      if (direct[i]) continue;
      const std::int64_t size = s.shape[i];
      Labelled at = e_.index(s.axes[i]);
      const Range range = range_of(s.axes[i], e_.nest(), reduction_.domain());
      if (range.low < 0) at = pointwise(b_, "max", at, e_.scalar(DType::kI64, 0));
      if (range.high >= size) {
        at = pointwise(b_, "min", at, e_.scalar(DType::kI64, static_cast<double>(size - 1)));
      }
      if (result.at.value.valid()) {
        const Labelled before =
            pointwise(b_, "mul", result.at, e_.scalar(DType::kI64, static_cast<double>(size)));
        at = pointwise(b_, "add", before, at);
      }
      result.at = at;
      result.count *= size;
    }
    result.at = within_domain(result.at);
    return result;
  }

  // A tensor over whole variables, over what is left of their ranges.
  Labelled within_domain(const Labelled& x) {
    Seen s = seen(x);
    for (std::size_t i = 0; i < x.vars.size(); ++i) {
      if (!reduction_.domain().contains(x.vars[i])) s.axes[i] = reduction_.replaced(x.vars[i]);
    }
    look(s);
    return labelled(s);
  }

  static std::vector<int> indirect_first(const std::vector<bool>& direct) {
    std::vector<int> order;
    for (const bool wanted : {false, true}) {
      for (std::size_t i = 0; i < direct.size(); ++i) {
        if (direct[i] == wanted) order.push_back(static_cast<int>(i));
      }
    }
    return order;
  }

  // What is left of s when the axes that are not direct are one axis in front.
  Seen flattened(const Seen& s, const std::vector<bool>& direct, std::int64_t count) const {
    Seen flat;
    flat.shape.push_back(count);
    flat.axes.emplace_back(0);
    flat.views.push_back({.kind = View::kBox});
    for (std::size_t i = 0; i < direct.size(); ++i) {
      if (!direct[i]) continue;
      flat.shape.push_back(s.shape[i]);
      flat.axes.push_back(s.axes[i]);
      flat.views.push_back(s.views[i]);
    }
    return flat;
  }

  Labelled gathered(const Seen& s, const std::vector<bool>& direct) {
    const Places where = places(s, direct);
    Seen flat = flattened(s, direct, where.count);
    const std::vector<int> order = indirect_first(direct);
    const Value x = b_.add(
        "gather", {reshaped(b_, transposed(b_, s.tensor, order), flat.shape), where.at.value},
        {{"axis", std::int64_t{0}}});
    // The gathered axes are as the places say, the direct ones are still to be cut out.
    const auto added = where.at.vars.size();
    Seen rest;
    const Shape shape = shape_of(b_, x);
    for (std::size_t i = 0; i < added; ++i) {
      rest.shape.push_back(shape[i]);
      rest.axes.push_back(Affine::of_symbol(where.at.vars[i]));
      rest.views.push_back({.kind = View::kBox, .vars = {where.at.vars[i]}});
    }
    for (std::size_t i = 1; i < flat.views.size(); ++i) {
      rest.shape.push_back(flat.shape[i]);
      rest.axes.push_back(flat.axes[i]);
      rest.views.push_back(flat.views[i]);
    }
    return boxes(x, rest);
  }

  // ---- The product

  struct Piece {
    Labelled x;
    bool windowed = false;
  };

  // Factors over their variables, divided and masked; `most` pieces are left at most.
  std::vector<Piece> pieces(std::span<const int> needed, std::size_t most) {
    std::vector<Piece> list;
    for (Seen& s : factors_) {
      const bool windowed =
          std::ranges::any_of(s.axes, [&](const Affine& axis) { return windows_.contains(&axis); });
      const Labelled x = labelled(s);
      if (const auto number = constant_number(x)) {
        coefficient_ *= *number;
      } else {
        list.push_back({x, windowed});
      }
    }
    for (Seen& s : divisors_) divide(list, labelled(s));
    for (Seen& s : masks_) mask(list, labelled(s));
    for (const Condition& condition : reduction_.conditions()) {
      mask(list, within_domain(condition.equality ? e_.zero(condition.form)
                                                  : e_.not_positive(condition.form)));
    }
    while (static_cast<std::size_t>(std::ranges::count(list, false, &Piece::windowed)) > most) {
      merge_two(list, needed);
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].windowed) list[i].x = summed(b_, list[i].x, elsewhere(list, i, needed));
    }
    return list;
  }

  std::optional<double> constant_number(const Labelled& x) const {
    const Node& node = b_.graph().node(x.value.id);
    if (node.kind != NodeKind::kConstant || node.type.rank() != 0) return std::nullopt;
    return node.data.f64_at(0);
  }

  // The variables that something but piece i needs.
  static std::vector<int> elsewhere(std::span<const Piece> list, std::size_t i,
                                    std::span<const int> needed) {
    std::vector<int> vars(needed.begin(), needed.end());
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (k != i) vars = united(vars, list[k].x.vars);
    }
    return vars;
  }

  static Piece* covering(std::vector<Piece>& list, std::span<const int> vars) {
    Piece* best = nullptr;
    for (Piece& piece : list) {
      if (piece.windowed || !piece.x.covers(vars)) continue;
      if (best == nullptr || piece.x.vars.size() < best->x.vars.size()) best = &piece;
    }
    return best;
  }

  void divide(std::vector<Piece>& list, const Labelled& by) {
    if (Piece* piece = covering(list, by.vars); piece != nullptr) {
      piece->x = pointwise(b_, "div", piece->x, by);
    } else {
      list.push_back({pointwise(b_, "div", e_.scalar(e_.real(), 1), by)});
    }
  }

  // Zeros where the mask does not hold. What is excluded may be infinite, so a product is made
  // before it is masked where that costs nothing.
  void mask(std::vector<Piece>& list, const Labelled& mask) {
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

  // The two whose product is smallest become one.
  void merge_two(std::vector<Piece>& list, std::span<const int> needed) {
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
    std::vector<int> of_a = united(c.vars, result);
    std::vector<int> of_c = united(a.vars, result);
    list.push_back({product_sum(b_, summed(b_, a, of_a), summed(b_, c, of_c), result)});
  }

  // Variables that are summed over though nothing depends on them count as often as they run.
  void count_idle(std::span<const int> used) {
    for (const auto& [var, range] : reduction_.domain()) {
      if (!contains(used, var)) coefficient_ *= static_cast<double>(extent(range));
    }
  }

  std::optional<Value> without_windows() {
    for (const auto& [var, range] : reduction_.domain()) {
      if (reduction_.promoted().contains(var) && !usable_as_variable(var)) return std::nullopt;
    }
    const std::vector<bool> direct = direct_axes(target_);
    std::vector<int> needed;
    for (const Affine& axis : target_.axes) needed = united(needed, variables_of(axis));
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

  // A division that became a variable can only be a label: no tensor is computed of it.
  bool usable_as_variable(int symbol) {
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

  // The target's tensor of a product over the variables of its (direct) axes.
  Value placed(const Labelled& product, const Seen& s) {
    std::vector<int> order;
    Shape digits;
    Shape merged;
    for (std::size_t i = 0; i < s.views.size(); ++i) {
      const auto window = windows_.find(s.axes.data() + i);
      if (window != windows_.end()) {
        order.push_back(window->second);
        digits.push_back(s.shape[i]);
        merged.push_back(s.shape[i]);
        continue;
      }
      std::int64_t count = 1;
      for (const int var : s.views[i].vars) {
        order.push_back(var);
        digits.push_back(size_of(var));
        count *= size_of(var);
      }
      merged.push_back(count);
    }
    Value x = reshaped(b_, broadcast_to(b_, spread(b_, product, order), digits), merged);
    for (std::size_t i = 0; i < s.views.size(); ++i) {
      if (windows_.contains(s.axes.data() + i)) continue;
      x = unsliced(b_, x, static_cast<int>(i), s.views[i].start, s.views[i].step, s.shape[i]);
    }
    return x;
  }

  Value scattered(const Labelled& product, const std::vector<bool>& direct,
                  std::span<const int> needed) {
    const Places where = places(target_, direct);
    const Seen flat = flattened(target_, direct, where.count);
    // Updates [places.., direct axes..].
    Seen updates;
    std::vector<int> of_places;
    for (const int var : needed) {
      const bool in_direct = std::ranges::any_of(
          flat.views, [&](const AxisView& view) { return contains(view.vars, var); });
      if (!in_direct) of_places.push_back(var);
    }
    Shape places_shape;
    for (const int var : of_places) {
      updates.shape.push_back(size_of(var));
      updates.axes.push_back(Affine::of_symbol(var));
      updates.views.push_back({.kind = View::kBox, .vars = {var}});
      places_shape.push_back(size_of(var));
    }
    if (of_places.empty()) {  // a single place
      updates.shape.push_back(1);
      updates.axes.emplace_back(0);
      updates.views.push_back({.kind = View::kBox});
      places_shape.push_back(1);
    }
    for (std::size_t i = 1; i < flat.views.size(); ++i) {
      updates.shape.push_back(flat.shape[i]);
      updates.axes.push_back(flat.axes[i]);
      updates.views.push_back(flat.views[i]);
    }
    const Value moved = placed(product, updates);
    Value at = broadcast_to(b_, spread(b_, where.at, of_places), places_shape);
    places_shape.push_back(1);
    at = reshaped(b_, at, places_shape);
    Value x = b_.add("scatter_nd", {zeros(b_, e_.real(), flat.shape), at, moved},
                     {{"reduction", std::string("add")}});
    // Back to the target's axes.
    const std::vector<int> order = indirect_first(direct);
    Shape shape;
    std::vector<int> back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      shape.push_back(target_.shape[static_cast<std::size_t>(order[i])]);
      back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
    }
    return transposed(b_, reshaped(b_, x, shape), back);
  }

  // ---- Windows

  struct Window {
    std::size_t axis;  // of the tensor that has them
    int u, v;
    std::int64_t a, b, constant, size;
  };

  std::optional<Value> through_windows();
  // Onto windows of the target, tap by tap: for what depends on position and tap together.
  std::optional<Value> unrolled(const Labelled& product);
  std::optional<Value> as_convolution(const Seen& image, std::vector<Window> windows);
  bool padded_with_zeros(const Seen& image, std::span<const Window> windows);

  Emitter& e_;
  GraphBuilder& b_;
  double coefficient_;
  DomainReduction reduction_;
  std::vector<Seen> factors_, divisors_, masks_;
  Seen target_;
  std::map<const Affine*, int> windows_;  // labels of window axes
};

}  // namespace egret::ir::autodiff
