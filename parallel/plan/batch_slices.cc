// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/batch_slices.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "parallel/laws/law_cache.h"

namespace egret::parallel {
namespace {

constexpr AxisPlacement kCopy{};

bool is_first_axis(AxisPlacement placement) { return placement == AxisPlacement::split(0); }

// COUNT, or the number of samples if that is 0; 1 where inputs and outputs cannot all be divided by
// it.
std::int64_t slices_of(const ir::Graph& whole, std::int64_t count) {
  const auto is_cut = [&](const ir::TensorType& type) {
    if (!type.is_concrete() || type.rank() == 0) return false;
    const std::int64_t rows = type.dims[0].constant();
    if (count == 0) count = rows;
    return count > 1 && rows % count == 0;
  };
  for (const ir::NodeId id : whole.inputs()) {
    if (!is_cut(whole.node(id).type)) return 1;
  }
  for (const auto& output : whole.outputs()) {
    if (!is_cut(whole.node(output.node).type)) return 1;
  }
  for (const ir::Node& node : whole.nodes()) {
    if (!node.type.is_concrete()) return 1;
  }
  return std::max<std::int64_t>(count, 1);
}

// Cuts the program along the batch by the placement laws, as if samples were devices: if a law
// exists for each operator without any exchange, slices are independent.
class Slicer {
 public:
  Slicer(const ir::Graph& whole, std::int64_t count) : whole_(whole), count_(count) {
    slice_.copy_header(whole);
  }

  std::optional<BatchSlices> slices() && {
    for (const ir::Node& node : whole_.nodes()) {
      if (!add(node)) return std::nullopt;
    }
    for (const auto& output : whole_.outputs()) {
      if (!is_first_axis(placed_[output.node.index()])) return std::nullopt;
      slice_.add_output(output.name, output.node);
    }
    return BatchSlices{std::move(slice_), count_};
  }

 private:
  bool add(const ir::Node& node) {
    ir::Node part = node;
    AxisPlacement placement = kCopy;
    if (node.kind == ir::NodeKind::kInput) placement = AxisPlacement::split(0);
    if (node.kind == ir::NodeKind::kOperator) {
      const Law* law = law_for(node);
      if (law == nullptr) return false;
      placement = law->output;
      part.attrs = law->attrs;
    }
    const auto type = part_type(node.type, placement, count_);
    if (!type) return false;
    part.type = *type;
    placed_.push_back(placement);
    slice_.append(std::move(part));
    return true;
  }

  // That of the placements which the operator's inputs have; what it gives is a copy or cut.
  const Law* law_for(const ir::Node& node) {
    const auto fits = [&](const Law& law) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (law.inputs[i] != placed_[node.inputs[i].index()]) return false;
      }
      return law.output == kCopy || (law.output.is_split() && !law.output.has_halo());
    };
    std::vector<ir::TensorType> types;
    for (const ir::NodeId input : node.inputs) types.push_back(whole_.node(input).type);
    const std::vector<Law>& laws = laws_.of(*node.op, node.attrs, types, count_);
    const auto law = std::ranges::find_if(laws, fits);
    return law != laws.end() ? &*law : nullptr;
  }

  const ir::Graph& whole_;
  const std::int64_t count_;
  ir::Graph slice_;
  std::vector<AxisPlacement> placed_;  // by node
  LawCache laws_;
};

}  // namespace

// Slices of one sample each: the count of samples takes the place of the number of devices.
std::optional<BatchSlices> batch_slices(const ir::Graph& whole) {
  const std::int64_t count = slices_of(whole, 0);
  if (count == 1) return std::nullopt;
  return Slicer(whole, count).slices();
}

std::optional<BatchSlices> batch_slices(const ir::Graph& whole, std::int64_t count) {
  if (count == 1) return BatchSlices{whole, 1};
  if (slices_of(whole, count) != count) return std::nullopt;
  return Slicer(whole, count).slices();
}

}  // namespace egret::parallel
