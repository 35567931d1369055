// SPDX-License-Identifier: Apache-2.0
// Sums of products along windows, as convolutions.
#include "ir/autodiff/product_emission.h"

namespace egret::ir::autodiff {

std::optional<Value> ProductEmission::through_windows() {
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
    for (std::size_t k = 0; k < i; ++k) {
      for (const int var : image->views[k].vars) {
        if (contains(view.vars, var)) return std::nullopt;
      }
    }
  }
  const std::vector<bool> direct = direct_axes(target_);
  const bool has_place = image == &target_ || std::ranges::find(direct, false) == direct.end();
  if (windows.size() > 3 || !has_place) return std::nullopt;

  const std::vector<Condition> conditions = reduction_.conditions();
  std::optional<Value> made;
  if (padded_with_zeros(*image, windows)) made = as_convolution(*image, windows);
  if (!made) {
    windows_.clear();
    reduction_.conditions() = conditions;
  }
  return made;
}

// Whether what lies outside of the image is excluded by conditions, which then have been used.
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
  std::vector<Piece> list = pieces(united(result, of_windows), onto_target ? 2 : 1);
  std::ranges::stable_partition(list, &Piece::windowed);
  if (list.empty()) return std::nullopt;

  // The first operand of the convolution is the image, or what is spread over the image: of two
  // pieces that which has more positions.
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

  // Backward steps are forward ones of a reversed axis.
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

}  // namespace egret::ir::autodiff
