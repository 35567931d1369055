// SPDX-License-Identifier: Apache-2.0
#include "parallel/ranks/value_readings.h"

#include <algorithm>
#include <span>

namespace egret::parallel {
namespace {

using Kind = PlacedNode::Kind;

constexpr int kMostTrials = 256;
constexpr int kMostDepth = 32;
constexpr std::int64_t kMostUniform = 1 << 24;                 // elements that are compared
constexpr std::int64_t kMostEnlarged = std::int64_t{1} << 30;  // bytes of all larger constants

std::span<const std::byte> element(const ir::Tensor& tensor, std::size_t i) {
  const std::size_t size = ir::byte_size(tensor.dtype());
  return tensor.data().subspan(i * size, size);
}

// By bytes: f64 does not tell all integers apart.
bool elements_are_equal(const ir::Tensor& tensor) {
  if (tensor.elements() < 1 || tensor.elements() > kMostUniform) return false;
  for (std::size_t i = 1; i < static_cast<std::size_t>(tensor.elements()); ++i) {
    if (!std::ranges::equal(element(tensor, i), element(tensor, 0))) return false;
  }
  return true;
}

std::int64_t bytes_of(const ir::TensorType& type) {
  return type.elements() * static_cast<std::int64_t>(ir::byte_size(type.dtype));
}

ir::Tensor filled_as(const ir::TensorType& type, const ir::Tensor& uniform) {
  ir::Tensor tensor = ir::Tensor::unfilled(type);
  const auto one = element(uniform, 0);
  const auto bytes = tensor.mutable_data();
  for (std::size_t i = 0; i < bytes.size(); i += one.size())
    std::ranges::copy(one, bytes.subspan(i).begin());
  return tensor;
}

}  // namespace

std::string ValueReadings::text_of(const ir::Operator& op, const ir::Attrs& attrs) {
  return op.name() + ir::to_string(attrs);
}

std::optional<WholeOperator> ValueReadings::whole_of(const ir::Node& node,
                                                     std::vector<std::size_t>& operands) {
  auto found = fitting(*node.op, node.attrs, node.type, operands);
  if (found) return found;
  const std::size_t before = placed_.nodes.size();
  trials_ = 0;
  found = with_blocks(node, operands, 0, 0);
  if (!found) drop_from(before);
  return found;
}

// One of the preferred operators, if several fit.
std::optional<WholeOperator> ValueReadings::fitting(const ir::Operator& op,
                                                    const ir::Attrs& part_attrs,
                                                    const ir::TensorType& part,
                                                    const std::vector<std::size_t>& operands,
                                                    const Placement* output) {
  std::vector<ir::TensorType> wholes;
  std::vector<Placement> placements;
  for (const std::size_t operand : operands) {
    wholes.push_back(placed_.nodes[operand].whole);
    placements.push_back(placed_.nodes[operand].placement);
  }
  const std::vector<WholeOperator> found =
      whole_operators(op, part_attrs, wholes, placements, part, placed_.mesh, laws_, output);
  if (found.empty()) return std::nullopt;
  const auto preferred = std::ranges::find_if(
      found, [&](const WholeOperator& one) { return preferred_.contains(text_of(op, one.attrs)); });
  return preferred != found.end() ? *preferred : found.front();
}

// Reads operands from `which` on as blocks along the axes from `axis` on, along which others are
// blocks. The first choice is to leave an operand as it is.
std::optional<WholeOperator> ValueReadings::with_blocks(const ir::Node& node,
                                                        std::vector<std::size_t>& operands,
                                                        std::size_t which, int axis) {
  if (axis == placed_.mesh.axis_count()) {
    if (++trials_ > kMostTrials) return std::nullopt;
    return fitting(*node.op, node.attrs, node.type, operands);
  }
  const bool has_blocks = std::ranges::any_of(operands, [&](std::size_t operand) {
    return placed_.nodes[operand].placement.along(axis).is_split();
  });
  if (which == operands.size() || !has_blocks) return with_blocks(node, operands, 0, axis + 1);
  if (auto found = with_blocks(node, operands, which + 1, axis)) return found;
  const std::size_t own = operands[which];
  for (int dim = 0; dim < placed_.nodes[own].type.rank() && trials_ < kMostTrials; ++dim) {
    const auto blocks = as_blocks(own, axis, dim, 0);
    if (!blocks) continue;
    operands[which] = *blocks;
    if (auto found = with_blocks(node, operands, which + 1, axis)) return found;
    operands[which] = own;
  }
  return std::nullopt;
}

std::optional<std::size_t> ValueReadings::as_blocks(std::size_t number, int axis, int dim,
                                                    int depth) {
  if (placed_.mesh.size(axis) == 1 || depth > kMostDepth ||
      !placed_.nodes[number].placement.along(axis).is_copy())
    return std::nullopt;
  if (const auto found = known_.find({number, axis, dim}); found != known_.end())
    return found->second;
  const Kind kind = placed_.nodes[number].kind;  // what follows adds nodes
  std::optional<std::size_t> made;
  if (kind == Kind::kConstant) made = uniform_blocks(number, axis, dim);
  if (kind == Kind::kOperator) made = operator_blocks(number, axis, dim, depth);
  if (made) known_[{number, axis, dim}] = *made;
  return made;
}

std::optional<std::size_t> ValueReadings::uniform_blocks(std::size_t number, int axis, int dim) {
  PlacedNode larger = placed_.nodes[number];
  const auto at = static_cast<std::size_t>(dim);
  const std::int64_t bytes = bytes_of(larger.whole) * placed_.mesh.size(axis);
  if (bytes > kMostEnlarged - enlarged_bytes_ || !is_uniform(number)) return std::nullopt;
  enlarged_bytes_ += bytes;
  larger.whole.dims[at] = larger.whole.shape()[at] * placed_.mesh.size(axis);
  larger.placement = larger.placement.with(axis, AxisPlacement::split(dim));
  larger.data = ir::Tensor();
  const auto source = unfilled_.find(number);
  unfilled_[placed_.nodes.size()] = source == unfilled_.end() ? number : source->second;
  placed_.nodes.push_back(std::move(larger));
  return placed_.nodes.size() - 1;
}

std::optional<std::size_t> ValueReadings::operator_blocks(std::size_t number, int axis, int dim,
                                                          int depth) {
  const Placement output = placed_.nodes[number].placement.with(axis, AxisPlacement::split(dim));
  std::vector<std::size_t> operands = placed_.nodes[number].inputs;
  const auto whole = with_operands(number, output, axis, depth, operands, 0);
  if (!whole) return std::nullopt;
  PlacedNode reading = placed_.nodes[number];
  reading.attrs = whole->attrs;
  reading.inputs = std::move(operands);
  reading.whole = whole->type;
  reading.placement = whole->placement;
  placed_.nodes.push_back(std::move(reading));
  return placed_.nodes.size() - 1;
}

// The operator `number` on operands of which those from `which` on may be read as blocks.
std::optional<WholeOperator> ValueReadings::with_operands(std::size_t number,
                                                          const Placement& output, int axis,
                                                          int depth,
                                                          std::vector<std::size_t>& operands,
                                                          std::size_t which) {
  if (which == operands.size()) {
    if (++trials_ > kMostTrials) return std::nullopt;
    const PlacedNode own = placed_.nodes[number];
    return fitting(*own.op, own.part_attrs, own.type, operands, &output);
  }
  if (auto found = with_operands(number, output, axis, depth, operands, which + 1)) return found;
  const std::size_t own = operands[which];
  for (int dim = 0; dim < placed_.nodes[own].type.rank() && trials_ < kMostTrials; ++dim) {
    const auto blocks = as_blocks(own, axis, dim, depth + 1);
    if (!blocks) continue;
    operands[which] = *blocks;
    if (auto found = with_operands(number, output, axis, depth, operands, which + 1)) return found;
    operands[which] = own;
  }
  return std::nullopt;
}

bool ValueReadings::is_uniform(std::size_t number) {
  if (unfilled_.contains(number)) return true;
  const auto known = uniform_.find(number);
  if (known != uniform_.end()) return known->second;
  return uniform_[number] = elements_are_equal(placed_.nodes[number].data);
}

void ValueReadings::drop_from(std::size_t first) {
  for (const auto& [number, source] : unfilled_) {
    if (number >= first) enlarged_bytes_ -= bytes_of(placed_.nodes[number].whole);
  }
  placed_.nodes.erase(placed_.nodes.begin() + static_cast<std::ptrdiff_t>(first),
                      placed_.nodes.end());
  std::erase_if(known_, [&](const auto& one) {
    return one.second >= first || std::get<0>(one.first) >= first;
  });
  std::erase_if(uniform_, [&](const auto& one) { return one.first >= first; });
  std::erase_if(unfilled_, [&](const auto& one) { return one.first >= first; });
}

void ValueReadings::finish() {
  std::vector<PlacedNode>& nodes = placed_.nodes;
  std::vector<bool> is_read(nodes.size());
  for (const auto& output : placed_.outputs) is_read[output.node] = true;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].kind == Kind::kInput) is_read[i] = true;
    for (const std::size_t input : nodes[i].inputs) is_read[input] = is_read[input] || is_read[i];
  }
  for (const auto& [number, source] : unfilled_) {
    if (is_read[number]) nodes[number].data = filled_as(nodes[number].whole, nodes[source].data);
  }
  std::vector<std::size_t> moved(nodes.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!is_read[i]) continue;
    for (std::size_t& input : nodes[i].inputs) input = moved[input];
    moved[i] = count;
    if (count != i) nodes[count] = std::move(nodes[i]);
    ++count;
  }
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(count), nodes.end());
  for (auto& output : placed_.outputs) output.node = moved[output.node];
}

}  // namespace egret::parallel
