// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/axis_view.h"

#include <algorithm>
#include <cstdlib>

namespace egret::ir::autodiff {

// Interval arithmetic. Variables of the domain have the narrowed range, others that of the nest.
Range range_of(const Affine& form, const LoopNest& nest, const Domain& domain) {
  Range range{form.constant, form.constant};
  for (const auto& part : form.parts) {
    const auto found = domain.find(part.symbol);
    const Range of = found != domain.end() ? found->second : nest.symbol(part.symbol).range;
    range = range + of * part.factor;
  }
  return range;
}

// Classifies an index that is affine in loop variables. Box: the variables are the digits of one
// arithmetic progression (each factor is the next one times its extent), and all places are inside,
// so a slice and a reshape read it. Window: two variables whose steps overlap, as position and tap
// of a convolution. All else needs a gather.
AxisView view_of(const Affine& form, std::int64_t size, const Domain& domain) {
  std::vector<Affine::Part> parts(form.parts.begin(), form.parts.end());
  const auto known = [&](const Affine::Part& part) { return domain.contains(part.symbol); };
  if (!std::ranges::all_of(parts, known)) return {};
  const auto range = [&](const Affine::Part& part) { return domain.at(part.symbol); };
  std::ranges::sort(
      parts, [](const auto& a, const auto& b) { return std::abs(a.factor) > std::abs(b.factor); });

  bool box = true;
  std::int64_t step = parts.empty() ? 1 : parts.back().factor;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    box = box && parts[i].factor == parts[i + 1].factor * extent(range(parts[i + 1]));
  }
  std::int64_t first = form.constant;
  std::int64_t last = form.constant;
  for (const auto& part : parts) {
    first += part.factor * range(part).low;
    last += part.factor * range(part).high;
  }
  box = box && std::min(first, last) >= 0 && std::max(first, last) < size;

  AxisView view;
  for (const auto& part : parts) view.vars.push_back(part.symbol);
  if (box) {
    view.kind = AxisView::Kind::kBox;
    view.start = first;
    view.step = step;
  } else if (parts.size() == 2) {
    view.kind = AxisView::Kind::kWindow;
    view.factors = {parts[0].factor, parts[1].factor};
    view.constant = form.constant;
  }
  return view;
}

}  // namespace egret::ir::autodiff
