// SPDX-License-Identifier: Apache-2.0
// Sums of products along windows, as convolutions.
#include "ir/autodiff/product_emission.h"
#include "ir/core/integer_arithmetic.h"

namespace egret::ir::autodiff {

std::optional<Value> ProductEmission::through_windows() {
  // Exactly one tensor has window axes: a factor (a gradient of w or y) or the target (a gradient
  // of x). Its other axes must be boxes with variables of their own.
  Seen* image = nullptr;
  for (Seen* s : all()) {
    if (!s->any(View::kWindow)) continue;
    const bool may =
        s == &target_ || (!factors_.empty() && s >= &factors_.front() && s <= &factors_.back());
    if (image != nullptr || !may) return std::nullopt;
    image = s;
  }
  std::vector<Window> windows;
  for (std::size_t i = 0; i < image->views.size(); ++i) {
    const AxisView& view = image->views[i];
    if (view.kind == View::kOther) return std::nullopt;
    if (view.kind == View::kWindow) {
      windows.push_back({i, view.vars[0], view.vars[1], view.factors[0], view.factors[1],
                         view.constant, image->shape[i]});
    }
    // Two axes that share a variable (a diagonal) are no convolution.
    for (std::size_t k = 0; k < i; ++k) {
      for (const int var : image->views[k].vars) {
        if (contains(view.vars, var)) return std::nullopt;
      }
    }
  }
  const std::vector<bool> direct = direct_axes(target_);
  const bool has_place = image == &target_ || std::ranges::find(direct, false) == direct.end();
  if (windows.size() > 3 || !has_place) return std::nullopt;

  // padded_with_zeros() and pieces() consume conditions and the coefficient; restore both on
  // failure.
  const std::vector<Condition> conditions = reduction_.conditions();
  const double coefficient = coefficient_;
  std::optional<Value> made;
  if (padded_with_zeros(*image, windows)) made = as_convolution(*image, windows);
  if (!made) {
    windows_.clear();
    reduction_.conditions() = conditions;
    coefficient_ = coefficient;
  }
  return made;
}

// Whether conditions exclude every element outside of the image. Those conditions are then removed:
// the padding of the convolution replaces them.
bool ProductEmission::padded_with_zeros(const Seen& image, std::span<const Window> windows) {
  std::vector<Condition>& conditions = reduction_.conditions();
  const auto use = [&](const Affine& form) {
    const auto found = std::ranges::find_if(conditions, [&](const Condition& condition) {
      return !condition.equality && condition.form == form;
    });
    if (found == conditions.end()) return false;
    conditions.erase(found);
    return true;
  };
  for (const Window& window : windows) {
    // The index must be provably inside, or a condition must exclude it: on each side one
    // condition, index >= 0 or index < size, in exactly this form.
    const Affine& form = image.axes[window.axis];
    const Range range = range_of(form, e_.nest(), reduction_.domain());
    if (range.low < 0 && !use(form * -1)) return false;
    if (range.high >= window.size && !use(form - Affine(window.size - 1))) return false;
  }
  return true;
}

namespace {

// Both variables of a window, of which one runs over positions (y), the other over taps (w).
struct Sides {
  int y, w;
  std::int64_t of_y, of_w;  // factors
};

}  // namespace

// The three gradients of a convolution are one pattern, sum of x[s * y + d * w + c] * second: the
// image is a factor (forward, or gradient of the weights) or the target (gradient of the image).
// Which of the two variables of a window is the position, and which the tap, follows from the
// tensors that have them.
std::optional<Value> ProductEmission::as_convolution(const Seen& image,
                                                     std::vector<Window> windows) {
  const bool onto_target = &image == &target_;
  std::vector<int> result;
  std::vector<int> of_windows;
  for (std::size_t i = 0; i < target_.axes.size(); ++i) {
    if (!onto_target || target_.views[i].kind == View::kBox) {
      result = united(result, variables_of(target_.axes[i]));
    }
  }
  for (const Window& window : windows) {
    const int label = kFirstWindowLabel + static_cast<int>(window.axis);
    windows_[&image.axes[window.axis]] = label;
    if (onto_target) result.push_back(label);
    of_windows = united(of_windows, std::vector<int>{window.u, window.v});
  }
  // A gradient of the image needs two pieces (output gradient and kernel). Otherwise the image is
  // one operand, and one more piece is the other.
  std::vector<Piece> list = pieces(united(result, of_windows), onto_target ? 2 : 1);
  std::stable_partition(list.begin(), list.end(), [](const Piece& p) { return p.windowed; });
  if (list.empty()) return std::nullopt;

  // The first operand of the convolution is the image, or the tensor that is spread over the image.
  // Of two pieces it is the one with more positions.
  // Decides for each window which variable is the position. nullopt if a tensor has both, or
  // neither fits.
  const auto sides_with = [&](const Labelled& first,
                              const Labelled* second) -> std::optional<std::vector<Sides>> {
    std::vector<Sides> sides;
    for (const Window& window : windows) {
      const auto has_position = [&](int var) {
        return onto_target ? first.has(var) : contains(result, var);
      };
      const bool u_is_y = has_position(window.u);
      const int y = u_is_y ? window.u : window.v;
      const int w = u_is_y ? window.v : window.u;
      if (!has_position(y) || has_position(w) || (second != nullptr && second->has(y)))
        return std::nullopt;
      sides.push_back({y, w, u_is_y ? window.a : window.b, u_is_y ? window.b : window.a});
    }
    return sides;
  };
  const auto positions = [&](const std::vector<Sides>& sides) {
    std::int64_t count = 1;
    for (const Sides& s : sides) count *= size_of(s.y);
    return count;
  };
  std::optional<std::vector<Sides>> sides =
      sides_with(list[0].x, list.size() > 1 ? &list[1].x : nullptr);
  if (onto_target && list.size() > 1) {
    const auto swapped = sides_with(list[1].x, &list[0].x);
    if (swapped && (!sides || positions(*swapped) > positions(*sides))) {
      std::swap(list[0], list[1]);
      sides = swapped;
    }
  }
  if (!sides) return std::nullopt;

  Labelled first = list[0].x;
  std::vector<int> taps;
  Shape tap_sizes;
  for (const Sides& s : *sides) {
    taps.push_back(s.w);
    tap_sizes.push_back(size_of(s.w));
  }
  // A sum over windows without a kernel (average pooling) is a convolution with ones.
  const Labelled ones{b_.add("fill", {},
                             {{"shape", Integers(tap_sizes.begin(), tap_sizes.end())},
                              {"value", 1.0},
                              {"dtype", std::string(to_string(e_.real()))}}),
                      taps};
  Labelled second = ones;
  if (list.size() > 1) {
    second = list[1].x.covers(taps) ? list[1].x : pointwise(b_, "mul", list[1].x, ones);
  }
  if (!onto_target)
    first = summed(b_, first, united(united(result, second.vars), [&] {
                     std::vector<int> labels;
                     for (const auto& [axis, label] : windows_) labels.push_back(label);
                     return labels;
                   }()));

  // A negative factor is a positive one on the reversed axis.
  const auto turned = [&](Labelled& x, int var) {
    const auto axis = std::ranges::find(x.vars, var) - x.vars.begin();
    x.value = reversed(b_, x.value, static_cast<int>(axis));
  };
  std::vector<WindowAxis> axes;
  std::vector<int> turned_results;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Sides& s = (*sides)[i];
    const Range y = reduction_.domain().at(s.y);
    const Range w = reduction_.domain().at(s.w);
    if (s.of_w < 0) turned(second, s.w);
    if (s.of_y < 0 && onto_target) turned(first, s.y);
    if (s.of_y < 0 && !onto_target) turned_results.push_back(s.y);
    // The offset takes in the low ends of both variables, or the high ends where a factor is
    // negative. Positions and taps then count from 0.
    axes.push_back({.x = windows_.at(&image.axes[windows[i].axis]),
                    .y = s.y,
                    .w = s.w,
                    .stride = std::abs(s.of_y),
                    .dilation = std::abs(s.of_w),
                    .offset = windows[i].constant + s.of_y * (s.of_y < 0 ? y.high : y.low) +
                              s.of_w * (s.of_w < 0 ? w.high : w.low),
                    .x_size = windows[i].size,
                    .y_size = extent(y),
                    .w_size = extent(w)});
  }
  auto made = onto_target ? convolved_back(b_, first, second, axes, result)
                          : convolved(b_, first, second, axes, result);
  if (!made) return std::nullopt;
  for (const int var : turned_results) turned(*made, var);

  std::vector<int> used = united(result, of_windows);
  for (const Seen* s : all()) {
    for (const Affine& axis : s->axes) used = united(used, variables_of(axis));
  }
  count_idle(used);
  made->value = scaled(b_, made->value, coefficient_);
  return placed(*made, target_);
}

namespace {

// The low and high of position with 0 <= of_position * position + rest < size, of_position not 0.
Range inside(std::int64_t of_position, std::int64_t rest, std::int64_t size) {
  if (of_position < 0) {
    const Range mirrored = inside(-of_position, rest, size);
    return {-mirrored.high, -mirrored.low};
  }
  return {-euclidean_div(rest, of_position), euclidean_div(size - 1 - rest, of_position)};
}

}  // namespace

// Where no convolution fits: one slice and one placed copy for each combination of taps, summed.
// The number of combinations bounds the size of the graph.
std::optional<Value> ProductEmission::unrolled(const Labelled& product) {
  constexpr std::int64_t kMostTaps = 64;
  struct Axis {
    std::size_t axis;
    int position, tap;
    std::int64_t of_position, of_tap;
  };
  std::vector<Axis> axes;
  std::vector<int> seen_vars;
  std::int64_t taps = 1;
  for (std::size_t i = 0; i < target_.views.size(); ++i) {
    const AxisView& view = target_.views[i];
    for (const int var : view.vars) {
      if (contains(seen_vars, var)) return std::nullopt;
      seen_vars.push_back(var);
    }
    if (view.kind == View::kOther) return std::nullopt;
    if (view.kind == View::kBox) continue;
    // The variable with fewer values is unrolled.
    const std::size_t tap = size_of(view.vars[0]) < size_of(view.vars[1]) ? 0 : 1;
    axes.push_back(
        {i, view.vars[1 - tap], view.vars[tap], view.factors[1 - tap], view.factors[tap]});
    taps *= size_of(view.vars[tap]);
    if (taps > kMostTaps) return std::nullopt;
  }

  std::vector<int> order;
  Shape full;
  for (const int var : seen_vars) {
    order.push_back(var);
    full.push_back(size_of(var));
  }
  const Value whole = broadcast_to(b_, spread(b_, product, order), full);
  Value sum;
  for (std::int64_t number = 0; number < taps; ++number) {
    Seen at = target_;
    Value x = whole;
    bool empty = false;
    std::int64_t rest = number;
    for (const Axis& a : axes) {
      const Range tap_range = reduction_.domain().at(a.tap);
      const Range range = reduction_.domain().at(a.position);
      const std::int64_t tap = rest % extent(tap_range);
      rest /= extent(tap_range);
      const auto axis_of = [&](int var) {
        return static_cast<int>(std::ranges::find(order, var) - order.begin());
      };
      const std::int64_t constant =
          target_.views[a.axis].constant + a.of_tap * (tap_range.low + tap);
      // Positions that this tap maps outside of the target contribute nothing and are sliced away.
      const Range fits = inside(a.of_position, constant, target_.shape[a.axis]);
      const std::int64_t low = std::max(fits.low, range.low);
      const std::int64_t high = std::min(fits.high, range.high);
      empty = empty || low > high;
      if (empty) break;
      x = sliced(b_, x, axis_of(a.tap), tap, 1);
      x = sliced(b_, x, axis_of(a.position), low - range.low, high - low + 1);
      at.views[a.axis] = {.kind = View::kBox,
                          .start = constant + a.of_position * low,
                          .step = a.of_position,
                          .vars = {}};
    }
    if (empty) continue;
    // One axis for each of the target's, then each where it belongs.
    Shape merged;
    std::size_t next = 0;
    const Shape sizes = shape_of(b_, x);
    for (const AxisView& view : target_.views) {
      std::int64_t count = 1;
      for (std::size_t k = 0; k < view.vars.size(); ++k) count *= sizes[next++];
      merged.push_back(count);
    }
    x = reshaped(b_, x, merged);
    for (std::size_t i = 0; i < at.views.size(); ++i) {
      x = unsliced(b_, x, static_cast<int>(i), at.views[i].start, at.views[i].step,
                   target_.shape[i]);
    }
    sum = sum.valid() ? b_.add("add", {sum, x}) : x;
  }
  return sum.valid() ? sum : nothing();
}

}  // namespace egret::ir::autodiff
