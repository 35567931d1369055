// SPDX-License-Identifier: Apache-2.0
// Tensors as a sum of products sees them, and its target put together.
#include "ir/autodiff/product_emission.h"

namespace egret::ir::autodiff {

std::vector<bool> ProductEmission::direct_axes(const Seen& s) const {
  std::vector<bool> direct;
  for (const AxisView& view : s.views) direct.push_back(view.kind == View::kBox);
  // An axis that shares a variable with another axis (a diagonal) cannot be cut out by itself.
  // Removing one axis may leave the other one free of sharing, hence the loop.
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

// The variables on which a form depends after replacement: variables that the reduction has
// eliminated count as those of the forms that replace them.
std::vector<int> ProductEmission::variables_of(const Affine& form) const {
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

// Slices and reshapes if every axis is a box or a window; one gather otherwise.
Labelled ProductEmission::labelled(const Seen& s) {
  const std::vector<bool> direct = direct_axes(s);
  for (std::size_t i = 0; i < direct.size(); ++i) {
    if (!direct[i] && !windows_.contains(s.axes.data() + i)) return gathered(s, direct);
  }
  return boxes(s.tensor, s);
}

Labelled ProductEmission::boxes(Value x, const Seen& s) {
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
    // A box axis is an arithmetic progression, row-major over its variables: a slice and a reshape.
    x = sliced(b_, x, static_cast<int>(i), view.start, count, view.step);
  }
  made.value = reshaped(b_, x, shape);
  return made;
}

// Where gathered axes read: their indices flattened into one, in row-major order.
ProductEmission::Places ProductEmission::places(const Seen& s, const std::vector<bool>& direct) {
  Places result;
  std::vector<int> vars;
  for (std::size_t i = 0; i < direct.size(); ++i) {
    if (direct[i]) continue;
    const std::int64_t size = s.shape[i];
    Labelled at = e_.index(s.axes[i]);
    const Range range = range_of(s.axes[i], e_.nest(), reduction_.domain());
    // Excluded elements may have indices out of range. Clamping keeps the gather valid; a mask
    // removes their values.
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

// A tensor over the nest's variables, restricted to the narrowed ranges and read at the forms that
// replace eliminated variables.
Labelled ProductEmission::within_domain(const Labelled& x) {
  Seen s = seen(x);
  for (std::size_t i = 0; i < x.vars.size(); ++i) {
    if (!reduction_.domain().contains(x.vars[i])) s.axes[i] = reduction_.replaced(x.vars[i]);
  }
  look(s);
  return labelled(s);
}

// The permutation that moves the axes to gather to the front and keeps the order within both
// groups.
std::vector<int> ProductEmission::indirect_first(const std::vector<bool>& direct) {
  std::vector<int> order;
  for (const bool wanted : {false, true}) {
    for (std::size_t i = 0; i < direct.size(); ++i) {
      if (direct[i] == wanted) order.push_back(static_cast<int>(i));
    }
  }
  return order;
}

Seen ProductEmission::flattened(const Seen& s, const std::vector<bool>& direct,
                                std::int64_t count) const {
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

// Moves the axes that no slice can express to the front, flattens them into one, and gathers along
// it.
Labelled ProductEmission::gathered(const Seen& s, const std::vector<bool>& direct) {
  const Places where = places(s, direct);
  Seen flat = flattened(s, direct, where.count);
  const std::vector<int> order = indirect_first(direct);
  const Value x =
      b_.add("gather", {reshaped(b_, transposed(b_, s.tensor, order), flat.shape), where.at.value},
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

// The reverse of boxes(): reshapes the product to the target's axes and puts each axis into place.
Value ProductEmission::placed(const Labelled& product, const Seen& s) {
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

// The adjoint of gathered(): adds each element of the product at its place. Several elements may
// have the same place, hence the reduction "add".
Value ProductEmission::scattered(const Labelled& product, const std::vector<bool>& direct,
                                 std::span<const int> needed) {
  const Places where = places(target_, direct);
  const Seen flat = flattened(target_, direct, where.count);
  // Updates [places.., direct axes..].
  Seen updates;
  // The variables of the indirect axes index the updates; the direct axes are whole rows of an
  // update.
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

}  // namespace egret::ir::autodiff
