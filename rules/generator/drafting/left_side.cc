// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/drafting/left_side.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "rules/language/expression_parts.h"

namespace egret::rules::generator {
namespace {

// Axes, permutations and flags: they decide how an operator's definition reads, and sizes do not.
bool is_structure(const ir::AttrSpec& spec) {
  if (spec.kind == ir::AttrKind::kText || spec.kind == ir::AttrKind::kReal) return true;
  static const std::set<std::string, std::less<>> names{
      "axis", "axes", "perm", "keepdims", "k", "step", "causal", "count_include_pad", "ceil_mode"};
  return names.contains(spec.name);
}

// Laws hold for particular whole numbers (0, 1, 2). Other reals are parameters, such as the epsilon
// of a normalization.
bool is_whole_real(const ir::AttrValue& value) {
  const double* number = std::get_if<double>(&value);
  return number != nullptr && *number == std::round(*number);
}

bool stays_literal(const StepAttr& attr, Openness openness) {
  if (!is_constant(attr.values) || attr.spec.name == "dtype") return false;
  // An empty default list, such as pads between elements, means that there is no such thing.
  const auto* list = std::get_if<ir::Integers>(&attr.values.front());
  if (attr.is_default && list != nullptr && list->empty()) return true;
  const bool structure = is_structure(attr.spec);
  return is_whole_real(attr.values.front()) || (attr.is_default && structure) ||
         (openness == Openness::kSizes && (structure || attr.is_default));
}

// The axes that operators of a term have as a number named "axis".
std::set<std::int64_t> axes_of(TermTable& terms, TermId term) {
  std::set<std::int64_t> axes;
  for (const TermId part : terms.applications(term)) {
    for (const std::vector<ir::Attrs>& attrs : step_attrs(terms, part)) {
      const ir::AttrValue* axis = attrs.front().find("axis");
      if (axis != nullptr && std::holds_alternative<std::int64_t>(*axis))
        axes.insert(std::get<std::int64_t>(*axis));
    }
  }
  return axes;
}

class LeftWriter {
 public:
  LeftWriter(TermTable& terms, Openness openness, std::set<std::int64_t> right_axes)
      : terms_(terms), openness_(openness), right_axes_(std::move(right_axes)) {
    left_.tensors.emplace_back("out");
  }

  LeftSide run(TermId term) {
    left_.term = write(term);
    return std::move(left_);
  }

 private:
  Term write(TermId term) {
    if (terms_.is_start(term))
      return {.kind = Term::Kind::kTensor, .slot = variable(terms_.start_number(term))};
    return *expand(
        terms_, term, [&](TermId operand) { return std::optional(write(operand)); },
        [&](const StepAttr& attr) { return std::optional(write(attr)); });
  }

  Expr write(const StepAttr& attr) {
    if (stays_literal(attr, openness_)) return literal(attr.values.front());
    // The right side has this axis as a number: the list is written with a variable for it.
    const auto axis = single_axis(attr.spec.name, attr.values);
    if (axis && right_axes_.contains(*axis)) {
      const AttrValues values(attr.values.size(), ir::AttrValue(*axis));
      return Expr{.kind = Expr::Kind::kList, .arguments = {open("axis", values)}};
    }
    return open(attr.spec.name, attr.values);
  }

  // The tensor variable of a start tensor, a new one at its first occurrence.
  int variable(std::size_t start) {
    const auto [entry, is_new] =
        left_.slots.try_emplace(start, static_cast<int>(left_.tensors.size()));
    if (is_new) left_.tensors.push_back("?" + terms_.space().starts[start].name);
    return entry->second;
  }

  // The attribute variable of this name that has these values: axis, axis2, ...
  Expr open(std::string_view of, const AttrValues& values) {
    if (const OpenAttribute* known = find_open(left_, of, values)) return attribute(known->slot);
    std::vector<std::string>& names = left_.attributes;
    const int slot = static_cast<int>(names.size());
    std::string name(of);
    for (int i = 2; std::ranges::find(names, name) != names.end(); ++i)
      name = std::string(of) + std::to_string(i);
    names.push_back(name);
    left_.open.push_back({std::string(of), values, slot});
    return attribute(slot);
  }

  TermTable& terms_;
  const Openness openness_;
  const std::set<std::int64_t> right_axes_;
  LeftSide left_;
};

}  // namespace

LeftSide write_left_side(TermTable& terms, const Equality& equality, Openness openness) {
  return LeftWriter(terms, openness, axes_of(terms, equality.right)).run(equality.left);
}

const OpenAttribute* find_open(const LeftSide& left, std::string_view name,
                               const AttrValues& values) {
  for (const OpenAttribute& open : left.open) {
    if (open.name == name && open.values == values) return &open;
  }
  return nullptr;
}

std::optional<std::int64_t> single_axis(std::string_view name, const AttrValues& values) {
  const auto* axes = std::get_if<ir::Integers>(&values.front());
  if (name != "axes" || axes == nullptr || axes->size() != 1 || !is_constant(values))
    return std::nullopt;
  return axes->front();
}

int rank_of_start(const TermTable& terms, std::size_t start) {
  return terms.types(terms.type_of_start(start)).front().rank();
}

ByWorld sizes_of_start(const TermTable& terms, std::size_t start, int axis) {
  ByWorld sizes;
  for (const ir::TensorType& type : terms.types(terms.type_of_start(start)))
    sizes.push_back(type.dims[static_cast<std::size_t>(axis)].constant());
  return sizes;
}

}  // namespace egret::rules::generator
