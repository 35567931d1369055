// SPDX-License-Identifier: Apache-2.0
#include "ir/analysis/elementwise.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ir/analysis/function_text.h"

namespace egret::ir {
namespace {

// The sizes of operands that broadcast.
Shape broadcast_shape(std::span<const TensorType> operands) {
  Shape joint;
  for (const TensorType& type : operands) {
    const Shape own = type.shape();
    if (own.size() > joint.size()) joint.insert(joint.begin(), own.size() - joint.size(), 1);
    const std::size_t skipped = joint.size() - own.size();
    for (std::size_t i = 0; i < own.size(); ++i)
      joint[skipped + i] = std::max(joint[skipped + i], own[i]);
  }
  return joint;
}

// The function of the operator on operands of these types. An empty text: the operator refuses
// them. nullopt: it is not elementwise on them.
std::optional<std::string> function_of(const Operator& op, const Attrs& attrs,
                                       std::span<const TensorType> operands) {
  const auto expanded = application(op, attrs, operands);
  if (!expanded.ok()) return "";
  const auto& out = expanded->node(expanded->outputs().front().node).type;
  if (!operands.empty() && out.shape() != broadcast_shape(operands)) return std::nullopt;
  // All axes are left out, numbered from the last: broadcasting aligns them there.
  LeftOutAxes axes;
  for (const Node& node : expanded->nodes()) {
    const int rank = node.type.rank();
    std::vector<int>& own = axes.emplace_back();
    for (int axis = 0; axis < rank; ++axis) own.push_back(rank - 1 - axis);
  }
  return functions_text(*expanded, axes);
}

}  // namespace

// Compares the definitions' texts for ranks 0 to 3 and for broadcast operands. It is a test on
// samples of types and no proof for all ranks. The sizes are distinct primes, so axes cannot be
// confused.
bool is_elementwise(const Operator& op, const Attrs& attrs, std::span<const DType> dtypes) {
  static constexpr std::int64_t kSizes[] = {2, 3, 5};
  const auto type = [](DType dtype, std::size_t rank) {
    TensorType made(dtype, Dims());
    for (std::size_t axis = 3 - rank; axis < 3; ++axis) made.dims.push_back(kSizes[axis]);
    return made;
  };
  const auto all_of_rank = [&](std::size_t rank) {
    std::vector<TensorType> types;
    for (const DType dtype : dtypes) types.push_back(type(dtype, rank));
    return types;
  };
  const auto function = function_of(op, attrs, all_of_rank(0));
  if (!function || function->empty()) return false;
  if (dtypes.empty()) return true;
  for (const std::size_t rank : {1, 2, 3}) {
    if (function_of(op, attrs, all_of_rank(rank)) != function) return false;
  }
  if (dtypes.size() == 1) return true;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    for (const TensorType& other : {type(dtypes[i], 0), type(dtypes[i], 1),
                                    TensorType(dtypes[i], Dims{Index(1), Index(5)})}) {
      std::vector<TensorType> types = all_of_rank(2);
      types[i] = other;
      const auto mixed = function_of(op, attrs, types);
      if (!mixed || (!mixed->empty() && mixed != function)) return false;
    }
  }
  return true;
}

}  // namespace egret::ir
