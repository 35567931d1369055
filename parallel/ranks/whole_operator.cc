// SPDX-License-Identifier: Apache-2.0
#include "parallel/ranks/whole_operator.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace egret::parallel {
namespace {

// The attributes with one integer multiplied, for each integer that they have.
std::vector<ir::Attrs> enlarged(const ir::Attrs& attrs, std::int64_t factor) {
  std::vector<ir::Attrs> found;
  const auto larger = [&](std::int64_t value, std::int64_t& result) {
    return value > 0 && !__builtin_mul_overflow(value, factor, &result);
  };
  for (const auto& [name, value] : attrs.entries()) {
    std::int64_t product = 0;
    if (const auto* number = std::get_if<std::int64_t>(&value);
        number && larger(*number, product)) {
      found.push_back(attrs);
      found.back().set(name, product);
    }
    const auto* numbers = std::get_if<ir::Integers>(&value);
    for (std::size_t i = 0; numbers != nullptr && i < numbers->size(); ++i) {
      if (!larger((*numbers)[i], product)) continue;
      ir::Integers all = *numbers;
      all[i] = product;
      found.push_back(attrs);
      found.back().set(name, std::move(all));
    }
  }
  return found;
}

// A mesh of many axes and an operator with many sizes have more combinations than a program needs.
constexpr int kMostTrials = 1 << 16;

class Search {
 public:
  Search(const ir::Operator& op, const ir::Attrs& part_attrs,
         std::span<const ir::TensorType> wholes, std::span<const Placement> placements,
         const ir::TensorType& part, const Mesh& mesh, LawCache& laws)
      : op_(op),
        part_attrs_(part_attrs),
        wholes_(wholes),
        placements_(placements),
        part_(part),
        mesh_(mesh),
        laws_(laws) {}

  std::vector<WholeOperator> run() {
    enlarge(part_attrs_, mesh_.axis_count());
    return std::move(found_);
  }

 private:
  bool all_copies(int axis) const {
    return std::ranges::all_of(
        placements_, [&](const Placement& placement) { return placement.along(axis).is_copy(); });
  }

  // Attributes on wholes from those on parts, the last axis first.
  void enlarge(const ir::Attrs& attrs, int axes) {
    if (++trials_ > kMostTrials) return;
    if (axes == 0) return add(attrs);
    const int axis = axes - 1;
    enlarge(attrs, axis);
    if (mesh_.size(axis) == 1 || all_copies(axis)) return;
    for (const ir::Attrs& larger : enlarged(attrs, mesh_.size(axis))) enlarge(larger, axis);
  }

  void add(const ir::Attrs& attrs) {
    const auto type = ir::infer_type(op_, attrs, wholes_);
    if (!type.ok()) return;
    const auto placement =
        follow(attrs, {wholes_.begin(), wholes_.end()}, Placement(mesh_.axis_count()), 0);
    if (!placement) return;
    const auto part = local_type(*type, *placement, mesh_);
    if (part.ok() && *part == part_) found_.push_back({attrs, *type, *placement});
  }

  // The placement to which laws along the axes from `axis` on lead, if they end with the part's
  // attributes.
  std::optional<Placement> follow(const ir::Attrs& attrs, const std::vector<ir::TensorType>& types,
                                  const Placement& output, int axis) {
    if (++trials_ > kMostTrials) return std::nullopt;
    if (axis == mesh_.axis_count())
      return attrs == part_attrs_ ? std::optional(output) : std::nullopt;
    if (mesh_.size(axis) == 1) return follow(attrs, types, output, axis + 1);
    // A copy: the cache may grow below.
    const std::vector<Law> laws = laws_.of(op_, attrs, types, mesh_.size(axis));
    for (const Law& law : laws) {
      if (!std::ranges::equal(law.inputs, placements_, {}, {},
                              [&](const Placement& one) { return one.along(axis); }))
        continue;
      std::vector<ir::TensorType> parts;
      for (std::size_t i = 0; i < types.size(); ++i) {
        const auto cut = part_type(types[i], law.inputs[i], mesh_.size(axis));
        if (!cut) return std::nullopt;
        parts.push_back(*cut);
      }
      const auto found = follow(law.attrs, parts, output.with(axis, law.output), axis + 1);
      if (found) return found;
    }
    return std::nullopt;
  }

  const ir::Operator& op_;
  const ir::Attrs& part_attrs_;
  const std::span<const ir::TensorType> wholes_;
  const std::span<const Placement> placements_;
  const ir::TensorType& part_;
  const Mesh& mesh_;
  LawCache& laws_;
  std::vector<WholeOperator> found_;
  int trials_ = 0;
};

}  // namespace

std::vector<WholeOperator> whole_operators(const ir::Operator& op, const ir::Attrs& part_attrs,
                                           std::span<const ir::TensorType> wholes,
                                           std::span<const Placement> placements,
                                           const ir::TensorType& part, const Mesh& mesh,
                                           LawCache& laws) {
  return Search(op, part_attrs, wholes, placements, part, mesh, laws).run();
}

}  // namespace egret::parallel
