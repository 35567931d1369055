// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/attribute_sampler.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

namespace egret::rules {

using base::Random;
using ir::AttrValue;
using ir::Integers;

namespace {

struct Context {
  const ir::AttrSpec& spec;
  const ir::Attrs& so_far;
  std::span<const ir::TensorType> inputs;
  Random& random;

  ir::Shape shape() const { return inputs.empty() ? ir::Shape{} : inputs[0].shape(); }
  std::int64_t rank() const { return static_cast<std::int64_t>(shape().size()); }
  std::int64_t spatial() const { return std::max<std::int64_t>(0, rank() - 2); }
  std::int64_t known(std::string_view name, std::int64_t otherwise) const {
    const AttrValue* value = so_far.find(name);
    const auto* integer = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
    return integer != nullptr ? *integer : otherwise;
  }
  std::int64_t axis_size() const {
    const std::int64_t axis = known("axis", 0);
    return axis >= 0 && axis < rank() ? shape()[static_cast<std::size_t>(axis)] : 1;
  }
};

template <typename T, std::size_t n>
const T& one_of(const T (&choices)[n], Random& random) {
  return choices[random.below(n)];
}

Integers many(std::int64_t n, Random& random, std::int64_t low, std::int64_t high) {
  Integers list;
  for (std::int64_t i = 0; i < n; ++i) list.push_back(random.between(low, high));
  return list;
}

AttrValue axis(Context& c) { return c.random.between(0, std::max<std::int64_t>(0, c.rank() - 1)); }

AttrValue axes(Context& c) {
  Integers list;
  for (std::int64_t i = 0; i < c.rank(); ++i) {
    if (c.random.chance(0.5)) list.push_back(i);
  }
  // Often the trailing axes, as in normalizations.
  if (c.rank() > 0 && c.random.chance(0.4)) {
    const std::int64_t first = c.random.between(0, c.rank() - 1);
    list.resize(static_cast<std::size_t>(c.rank() - first));
    std::iota(list.begin(), list.end(), first);
  }
  return list;
}

AttrValue permutation(Context& c) {
  Integers perm(static_cast<std::size_t>(c.rank()));
  std::iota(perm.begin(), perm.end(), 0);
  for (std::size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[c.random.below(i)]);
  return perm;
}

AttrValue window_steps(Context& c) {
  if (c.random.chance(0.4)) return Integers(static_cast<std::size_t>(c.spatial()), 1);
  return many(c.spatial(), c.random, 1, 2);
}

AttrValue window_pads(Context& c) {
  if (c.random.chance(0.4)) return Integers(static_cast<std::size_t>(2 * c.spatial()), 0);
  return many(2 * c.spatial(), c.random, 0, 2);
}

AttrValue window_kernel(Context& c) {
  if (c.random.chance(0.15)) return Integers(static_cast<std::size_t>(c.spatial()), 1);
  const ir::Shape shape = c.shape();
  if (shape.size() > 2 && c.random.chance(0.4)) return Integers(shape.begin() + 2, shape.end());
  return many(c.spatial(), c.random, 1, 3);
}

AttrValue group(Context& c) {
  if (c.random.chance(0.6)) return std::int64_t{1};
  const ir::Shape shape = c.shape();
  if (shape.size() > 1 && c.random.chance(0.5)) return shape[1];
  return std::int64_t{2};
}

AttrValue pad_amounts(Context& c) {
  if (c.random.chance(0.2)) return Integers(static_cast<std::size_t>(c.rank()), 0);
  Integers amounts = many(c.rank(), c.random, 0, 2);
  if (c.random.chance(0.5)) {
    for (std::size_t i = 0; i < std::min<std::size_t>(2, amounts.size()); ++i) amounts[i] = 0;
  }
  return amounts;
}

// Sometimes one amount is negative: it removes elements.
AttrValue signed_pad_amounts(Context& c) {
  AttrValue amounts = pad_amounts(c);
  Integers& all = std::get<Integers>(amounts);
  if (!all.empty() && c.random.chance(0.2)) all[c.random.below(all.size())] = -1;
  return amounts;
}

// Mostly none.
AttrValue inner_pad_amounts(Context& c) {
  return c.random.chance(0.7) ? AttrValue(Integers{}) : pad_amounts(c);
}

// A random regrouping of the elements: multiplies sizes together, splits them and inserts ones.
AttrValue shape(Context& c) {
  if (c.inputs.empty()) return many(c.random.between(0, 3), c.random, 1, 3);
  const ir::Shape from = c.shape();
  if (c.random.chance(0.15)) return Integers(from.begin(), from.end());
  Integers to;
  for (const std::int64_t size : from) {
    if (size == 1 && c.random.chance(0.4)) continue;
    if (!to.empty() && c.random.chance(0.4)) {
      to.back() *= size;
    } else if (size % 2 == 0 && size > 0 && c.random.chance(0.3)) {
      to.insert(to.end(), {2, size / 2});
    } else {
      to.push_back(size);
    }
    if (c.random.chance(0.1)) to.push_back(1);
  }
  return to;
}

AttrValue slice_step(Context& c) {
  static constexpr std::int64_t kSteps[] = {1, 1, 1, 2, -1};
  return one_of(kSteps, c.random);
}
AttrValue slice_start(Context& c) {
  if (c.random.chance(0.25)) return std::int64_t{0};
  return c.random.between(0, std::max<std::int64_t>(0, c.axis_size() - 1));
}
AttrValue slice_size(Context& c) {
  const std::int64_t start = c.known("start", 0);
  const std::int64_t step = c.known("step", 1);
  const std::int64_t room = step > 0 ? (c.axis_size() - start + step - 1) / step
                                     : start / std::max<std::int64_t>(1, -step) + 1;
  if (c.random.chance(0.4)) return std::max<std::int64_t>(0, room);
  return c.random.between(0, std::max<std::int64_t>(0, room));
}

// Mostly element types that instances have, and rarely another one. Types that round more than f32
// are excluded, because proofs are about reals.
AttrValue dtype(Context& c) {
  static constexpr const char* kTypes[] = {"f32", "f32", "i64", "bool"};
  static constexpr const char* kOthers[] = {"f64", "i8", "i16", "i32", "u8", "u16", "u32", "u64"};
  return std::string(c.random.chance(0.2) ? one_of(kOthers, c.random) : one_of(kTypes, c.random));
}

// One of the texts that the operator accepts, often the default.
AttrValue text(Context& c) {
  const auto& usual = c.spec.default_value;
  const auto& texts = c.spec.texts;
  if (texts.empty()) return usual.value_or(AttrValue(std::string()));
  if (usual && c.random.chance(0.4)) return *usual;
  return texts[c.random.below(texts.size())];
}

// Labels are numbered in the order of their first use, so that equations that differ in names alone
// are one. Axes of equal sizes often share a label.
AttrValue equation(Context& c) {
  std::string text;
  std::vector<std::int64_t> sizes;  // by label
  for (const ir::TensorType& input : c.inputs) {
    if (&input != &c.inputs.front()) text += ',';
    for (const std::int64_t size : input.shape()) {
      std::vector<std::size_t> alike;
      for (std::size_t label = 0; label < sizes.size(); ++label) {
        if (sizes[label] == size) alike.push_back(label);
      }
      std::size_t label = sizes.size();
      if (!alike.empty() && c.random.chance(0.6)) {
        label = alike[c.random.below(alike.size())];
      } else {
        sizes.push_back(size);
      }
      text += static_cast<char>('a' + label);
    }
  }
  std::string output;
  for (std::size_t label = 0; label < sizes.size(); ++label) {
    if (!c.random.chance(0.6)) continue;
    const bool in_order = c.random.chance(0.7);
    const std::size_t place = in_order ? output.size() : c.random.below(output.size() + 1);
    output.insert(place, 1, static_cast<char>('a' + label));
  }
  return text + "->" + output;
}
AttrValue epsilon(Context& c) { return 0x1p-10 * static_cast<double>(c.random.between(1, 8)); }

// An integer attribute of an operator without operands is a size, often equal to an earlier one (a
// square).
AttrValue size_of_none(Context& c) {
  for (const auto& [name, value] : c.so_far.entries()) {
    if (std::holds_alternative<std::int64_t>(value) && c.random.chance(0.5)) return value;
  }
  return c.random.between(1, 4);
}

AttrValue by_kind(Context& c) {
  static constexpr double kReals[] = {0.0, 0.5, 1.0, -1.0, 2.0, 0.25};
  if (c.inputs.empty() && c.spec.kind == ir::AttrKind::kInteger && !c.spec.default_value)
    return size_of_none(c);
  switch (c.spec.kind) {
    case ir::AttrKind::kInteger: return c.random.between(0, 1);
    case ir::AttrKind::kReal: return one_of(kReals, c.random);
    case ir::AttrKind::kText: return text(c);
    case ir::AttrKind::kIntegers: return many(c.rank(), c.random, 1, 2);
  }
  return std::int64_t{0};
}

struct Row {
  std::string_view name;
  ir::AttrKind kind;
  AttrValue (*sample)(Context&);
};

// The rows are in sampling order.
using Kind = ir::AttrKind;
constexpr Row kRows[] = {
    {"axis", Kind::kInteger, axis},
    {"axes", Kind::kIntegers, axes},
    {"perm", Kind::kIntegers, permutation},
    {"kernel", Kind::kIntegers, window_kernel},
    {"strides", Kind::kIntegers, window_steps},
    {"dilations", Kind::kIntegers, window_steps},
    {"pads", Kind::kIntegers, window_pads},
    {"group", Kind::kInteger, group},
    {"before", Kind::kIntegers, signed_pad_amounts},
    {"after", Kind::kIntegers, signed_pad_amounts},
    {"interior", Kind::kIntegers, inner_pad_amounts},
    {"shape", Kind::kIntegers, shape},
    {"step", Kind::kInteger, slice_step},
    {"start", Kind::kInteger, slice_start},
    {"size", Kind::kInteger, slice_size},
    {"activation", Kind::kText, text},
    {"mode", Kind::kText, text},
    {"equation", Kind::kText, equation},
    {"to", Kind::kText, dtype},
    {"dtype", Kind::kText, dtype},
    {"epsilon", Kind::kReal, epsilon},
};

const Row* row_of(const ir::AttrSpec& spec) {
  const auto found = std::ranges::find_if(
      kRows, [&](const Row& row) { return row.name == spec.name && row.kind == spec.kind; });
  return found != std::end(kRows) ? found : nullptr;
}

}  // namespace

AttrValue sample_attr(const ir::AttrSpec& spec, const ir::Attrs& so_far,
                      std::span<const ir::TensorType> inputs, Random& random) {
  Context context{spec, so_far, inputs, random};
  const Row* row = row_of(spec);
  return row != nullptr ? row->sample(context) : by_kind(context);
}

std::vector<const ir::AttrSpec*> sampling_order(const ir::Operator& op) {
  std::vector<std::pair<std::ptrdiff_t, const ir::AttrSpec*>> ranked;
  for (const ir::AttrSpec& spec : op.attrs()) {
    const Row* row = row_of(spec);
    ranked.emplace_back(row != nullptr ? row - kRows : std::ssize(kRows), &spec);
  }
  // Insertion sort: the lists are short, and the sort is stable.
  std::vector<const ir::AttrSpec*> order;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    for (std::size_t j = i; j > 0 && ranked[j].first < ranked[j - 1].first; --j)
      std::swap(ranked[j], ranked[j - 1]);
  }
  for (const auto& [rank, spec] : ranked) order.push_back(spec);
  return order;
}

}  // namespace egret::rules
