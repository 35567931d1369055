// SPDX-License-Identifier: Apache-2.0
#include "backends/low_precision.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "backends/precision.h"

namespace egret::backends {
namespace {

constexpr float kMostSigned = 127, kMostUnsigned = 255;

bool is_operator(const ir::Graph& graph, ir::NodeId id, std::string_view name) {
  const ir::Node& node = graph.node(id);
  return node.kind == ir::NodeKind::kOperator && node.op->name() == name;
}

bool is_f32(const ir::Graph& graph, ir::NodeId id) {
  return graph.node(id).type.dtype == ir::DType::kF32;
}

const ir::Tensor* constant_of(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  return node.kind == ir::NodeKind::kConstant ? &node.data : nullptr;
}

bool is_zero(const ir::Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (tensor.i64_at(i) != 0) return false;
  }
  return true;
}

// Whether a quantization has no zero point, or one of zeros.
bool is_centered(const ir::Graph& graph, const ir::Node& node) {
  if (node.inputs.size() < 3) return true;
  const ir::Tensor* zero = constant_of(graph, node.inputs[2]);
  return zero != nullptr && is_zero(*zero);
}

bool same_constant(const ir::Graph& graph, ir::NodeId a, ir::NodeId b) {
  if (a == b) return true;
  const ir::Tensor* const x = constant_of(graph, a);
  const ir::Tensor* const y = constant_of(graph, b);
  return x != nullptr && y != nullptr && x->type() == y->type() &&
         std::ranges::equal(x->data(), y->data());
}

// The operand in front of a pair of casts to bf16 and back. A constant of bf16 has no such operand:
// what widens it is read instead.
std::optional<ir::NodeId> before_bf16(const ir::Graph& graph, ir::NodeId id) {
  if (!is_operator(graph, id, "cast") || !is_f32(graph, id)) return std::nullopt;
  const ir::NodeId narrow = graph.node(id).inputs[0];
  if (graph.node(narrow).type.dtype != ir::DType::kBF16) return std::nullopt;
  if (constant_of(graph, narrow) != nullptr) return id;
  if (!is_operator(graph, narrow, "cast")) return std::nullopt;
  const ir::NodeId before = graph.node(narrow).inputs[0];
  return is_f32(graph, before) ? std::optional(before) : std::nullopt;
}

// The operand in front of a pair of quantizations of the whole tensor.
std::optional<ir::NodeId> before_i8(const ir::Graph& graph, ir::NodeId id, Lowering& lowering) {
  if (!is_operator(graph, id, "dequantize_linear") || !is_f32(graph, id)) return std::nullopt;
  const ir::Node& back = graph.node(id);
  if (!is_operator(graph, back.inputs[0], "quantize_linear")) return std::nullopt;
  const ir::Node& there = graph.node(back.inputs[0]);
  const ir::DType type = there.type.dtype;
  const ir::Tensor* const scale = constant_of(graph, there.inputs[1]);
  if ((type != ir::DType::kI8 && type != ir::DType::kU8) || scale == nullptr ||
      scale->dtype() != ir::DType::kF32 || scale->elements() != 1 ||
      !is_f32(graph, there.inputs[0]) || !same_constant(graph, there.inputs[1], back.inputs[1]) ||
      !is_centered(graph, there) || !is_centered(graph, back))
    return std::nullopt;
  lowering.scale = static_cast<float>(scale->f64_at(0));
  lowering.is_signed = type == ir::DType::kI8;
  if (!(lowering.scale > 0) || !std::isfinite(lowering.scale)) return std::nullopt;
  return there.inputs[0];
}

// Whether the second operand is a constant of i8 with scales that a contraction's kernel takes.
bool has_i8_weights(const ir::Graph& graph, ir::NodeId contraction, Lowering& lowering) {
  const ir::NodeId id = graph.node(contraction).inputs[1];
  if (!is_operator(graph, id, "dequantize_linear") || !is_f32(graph, id)) return false;
  const ir::Node& node = graph.node(id);
  const ir::Tensor* const integers = constant_of(graph, node.inputs[0]);
  const ir::Tensor* const scales = constant_of(graph, node.inputs[1]);
  if (integers == nullptr || integers->dtype() != ir::DType::kI8 || scales == nullptr ||
      !is_centered(graph, node))
    return false;
  const std::int64_t axis = channel_axis(graph, contraction);
  const bool by_channel = scales->type().rank() == 1 && node.attrs.integer("axis") == axis &&
                          scales->elements() == node.type.shape()[static_cast<std::size_t>(axis)];
  if (scales->type().rank() > 0 && !by_channel) return false;
  for (std::int64_t i = 0; i < scales->elements(); ++i) {
    const auto scale = static_cast<float>(scales->f64_at(i));
    if (!(scale > 0) || !std::isfinite(scale)) return false;
    lowering.weight_scales.push_back(scale);
  }
  return true;
}

// The lowering of a contraction, and the operands that its kernel reads.
std::optional<Lowering> lowering_of(const ir::Graph& graph, ir::NodeId id,
                                    std::vector<ir::NodeId>& operands) {
  if (!is_contraction(graph, id)) return std::nullopt;
  operands = graph.node(id).inputs;
  const auto a = before_bf16(graph, operands[0]);
  const auto b = before_bf16(graph, operands[1]);
  if (a && b) {
    operands[0] = *a;
    operands[1] = *b;
    return Lowering{.form = OperandForm::kBF16};
  }
  Lowering lowering{.form = OperandForm::kI8};
  const auto before = before_i8(graph, operands[0], lowering);
  if (!before || !has_i8_weights(graph, id, lowering)) return std::nullopt;
  operands[0] = *before;
  return lowering;
}

ir::Node operator_node(std::string_view name, ir::Attrs given, std::vector<ir::NodeId> inputs,
                       ir::TensorType type) {
  const ir::Operator* const op = ir::find_operator(name);
  auto attrs = ir::canonical_attrs(op->attrs(), given);
  EGRET_CHECK(attrs.ok(), "attributes of a rounding");
  return {.op = op, .attrs = *std::move(attrs), .inputs = std::move(inputs), .type = type};
}

ir::Node constant_node(ir::Tensor data) {
  const ir::TensorType type = data.type();
  return {.kind = ir::NodeKind::kConstant, .type = type, .data = std::move(data)};
}

ir::Tensor in_bf16(const ir::Tensor& values) {
  ir::Tensor rounded(ir::DType::kBF16, values.shape());
  std::ranges::transform(values.as<float>(), rounded.mutable_as<std::uint16_t>().begin(),
                         ir::float_to_bfloat16);
  return rounded;
}

// The index of the output channel of each element of the weights: (i / inner) % channels.
struct Channels {
  std::int64_t count, inner;
  Channels(const ir::Shape& shape, std::int64_t axis)
      : count(shape[static_cast<std::size_t>(axis)]), inner(1) {
    for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i)
      inner *= shape[i];
  }
  std::size_t of(std::size_t i) const {
    return i / static_cast<std::size_t>(inner) % static_cast<std::size_t>(count);
  }
};

// Copies a graph and puts the pairs in front of what reads them.
class Rounder {
 public:
  Rounder(const ir::Graph& from, const std::map<ir::NodeId, Lowering>& lowerings)
      : from_(from), lowerings_(lowerings) {}

  WithRoundings run(const Division& division) {
    result_.graph.copy_header(from_);
    for (std::size_t i = 0; i < from_.size(); ++i) copy(ir::NodeId(i));
    for (const auto& output : from_.outputs())
      result_.graph.add_output(output.name, map_[output.node.index()]);
    for (const std::vector<ir::NodeId>& kernel : division) {
      std::vector<ir::NodeId>& nodes = result_.division.emplace_back();
      for (const ir::NodeId id : kernel) {
        nodes.push_back(map_[id.index()]);
        const auto pairs = pairs_.find(id);
        if (pairs != pairs_.end())
          nodes.insert(nodes.end(), pairs->second.begin(), pairs->second.end());
      }
      std::ranges::sort(nodes);
      nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
    }
    result_.origin.resize(result_.graph.size());
    for (std::size_t i = 0; i < map_.size(); ++i) result_.origin[map_[i].index()] = ir::NodeId(i);
    return std::move(result_);
  }

 private:
  using Key = std::tuple<ir::NodeId, OperandForm, float, bool>;

  void copy(ir::NodeId id) {
    ir::Node node = from_.node(id);
    for (ir::NodeId& input : node.inputs) input = map_[input.index()];
    const auto found = lowerings_.find(id);
    if (found != lowerings_.end() && found->second.form != OperandForm::kF32) {
      const std::vector<ir::NodeId>& inputs = from_.node(id).inputs;
      node.inputs[0] = rounded(id, inputs[0], found->second);
      node.inputs[1] = found->second.form == OperandForm::kI8
                           ? weights(id, found->second)
                           : rounded(id, inputs[1], {.form = OperandForm::kBF16});
    }
    map_.push_back(result_.graph.append(std::move(node)));
  }

  // The second of a pair. Readers of one value in one form share it.
  ir::NodeId rounded(ir::NodeId reader, ir::NodeId value, const Lowering& how) {
    const Key key{value, how.form, how.scale, how.is_signed};
    auto pair = known_.find(key);
    if (pair == known_.end()) pair = known_.emplace(key, make_pair(value, how)).first;
    add_to(reader, pair->second);
    return pair->second.back();
  }

  std::vector<ir::NodeId> make_pair(ir::NodeId value, const Lowering& how) {
    const ir::TensorType real = from_.node(value).type;
    ir::Graph& graph = result_.graph;
    const ir::NodeId before = map_[value.index()];
    if (how.form == OperandForm::kBF16) {
      const std::string bf16(to_string(ir::DType::kBF16)), f32(to_string(ir::DType::kF32));
      const ir::TensorType narrow(ir::DType::kBF16, real.shape());
      std::vector<ir::NodeId> nodes;
      if (const ir::Tensor* data = constant_of(from_, value)) {
        nodes.push_back(graph.append(constant_node(in_bf16(*data))));
      } else {
        nodes.push_back(graph.append(operator_node("cast", {{"to", bf16}}, {before}, narrow)));
      }
      nodes.push_back(graph.append(operator_node("cast", {{"to", f32}}, {nodes.front()}, real)));
      std::erase_if(nodes,
                    [&](ir::NodeId id) { return graph.node(id).kind != ir::NodeKind::kOperator; });
      return nodes;
    }
    const ir::DType type = how.is_signed ? ir::DType::kI8 : ir::DType::kU8;
    const ir::NodeId scale =
        graph.append(constant_node(ir::Tensor::scalar(ir::DType::kF32, how.scale)));
    const ir::NodeId zero = graph.append(constant_node(ir::Tensor::scalar(type, 0)));
    const ir::NodeId there =
        graph.append(operator_node("quantize_linear", {{"to", std::string(to_string(type))}},
                                   {before, scale, zero}, ir::TensorType(type, real.shape())));
    const ir::NodeId back =
        graph.append(operator_node("dequantize_linear", {}, {there, scale, zero}, real));
    return {there, back};
  }

  ir::NodeId weights(ir::NodeId contraction, const Lowering& how) {
    const ir::NodeId value = from_.node(contraction).inputs[1];
    const ir::Tensor* const data = constant_of(from_, value);
    EGRET_CHECK(data != nullptr, "weights in int8 are constants");
    const std::int64_t axis = channel_axis(from_, contraction);
    ir::Graph& graph = result_.graph;
    const ir::NodeId integers =
        graph.append(constant_node(weights_in_i8(*data, axis, how.weight_scales)));
    const bool one = how.weight_scales.size() == 1;
    const ir::Shape shape = one ? ir::Shape() : ir::Shape{std::ssize(how.weight_scales)};
    ir::Tensor scales(ir::DType::kF32, shape);
    std::ranges::copy(how.weight_scales, scales.mutable_as<float>().begin());
    const ir::NodeId scale = graph.append(constant_node(std::move(scales)));
    const ir::NodeId back =
        graph.append(operator_node("dequantize_linear", {{"axis", one ? std::int64_t{0} : axis}},
                                   {integers, scale}, data->type()));
    add_to(contraction, {back});
    return back;
  }

  void add_to(ir::NodeId reader, const std::vector<ir::NodeId>& pair) {
    std::vector<ir::NodeId>& nodes = pairs_[reader];
    nodes.insert(nodes.end(), pair.begin(), pair.end());
  }

  const ir::Graph& from_;
  const std::map<ir::NodeId, Lowering>& lowerings_;
  WithRoundings result_;
  std::vector<ir::NodeId> map_;
  std::map<Key, std::vector<ir::NodeId>> known_;
  std::map<ir::NodeId, std::vector<ir::NodeId>> pairs_;  // by contraction
};

}  // namespace

ir::DType element_of(const Lowering& lowering) {
  switch (lowering.form) {
    case OperandForm::kF32: return ir::DType::kF32;
    case OperandForm::kBF16: return ir::DType::kBF16;
    case OperandForm::kI8: break;
  }
  return lowering.is_signed ? ir::DType::kI8 : ir::DType::kU8;
}

bool is_contraction(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (node.kind != ir::NodeKind::kOperator || node.inputs.size() < 2) return false;
  const std::string_view name = node.op->name();
  return (name == "matmul" || name == "conv" || name == "fused_matmul" || name == "fused_conv") &&
         is_f32(graph, id) && is_f32(graph, node.inputs[0]) && is_f32(graph, node.inputs[1]);
}

std::int64_t channel_axis(const ir::Graph& graph, ir::NodeId contraction) {
  const ir::Node& node = graph.node(contraction);
  return node.attrs.find("pads") != nullptr ? 0 : graph.node(node.inputs[1]).type.rank() - 1;
}

std::optional<WithoutRoundings> without_roundings(const ir::Graph& graph,
                                                  const TakesLowering& takes) {
  std::map<ir::NodeId, std::pair<Lowering, std::vector<ir::NodeId>>> found;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    std::vector<ir::NodeId> operands;
    const auto lowering = lowering_of(graph, ir::NodeId(i), operands);
    if (lowering && takes(graph, ir::NodeId(i), lowering->form))
      found.emplace(ir::NodeId(i), std::pair(*lowering, std::move(operands)));
  }
  if (found.empty()) return std::nullopt;
  WithoutRoundings result;
  result.graph.copy_header(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    ir::Node node = graph.node(ir::NodeId(i));
    result.lowerings.emplace_back();
    if (const auto lowered = found.find(ir::NodeId(i)); lowered != found.end()) {
      result.lowerings.back() = lowered->second.first;
      node.inputs = lowered->second.second;
    }
    result.graph.append(std::move(node));
  }
  for (const auto& output : graph.outputs()) result.graph.add_output(output.name, output.node);
  return result;
}

WithRoundings with_roundings(const ir::Graph& graph, const Division& division,
                             const std::map<ir::NodeId, Lowering>& lowerings) {
  return Rounder(graph, lowerings).run(division);
}

ir::Tensor weights_in_i8(const ir::Tensor& values, std::int64_t axis,
                         const std::vector<float>& scales) {
  const Channels channels(values.shape(), axis);
  ir::Tensor rounded(ir::DType::kI8, values.shape());
  const auto from = values.as<float>();
  const auto to = rounded.mutable_as<std::int8_t>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const float scale = scales[scales.size() == 1 ? 0 : channels.of(i)];
    to[i] = static_cast<std::int8_t>(
        std::clamp(std::nearbyint(from[i] / scale), -kMostSigned, kMostSigned));
  }
  return rounded;
}

std::vector<float> weight_scales(const ir::Graph& graph, ir::NodeId contraction) {
  const ir::Tensor* const data = constant_of(graph, graph.node(contraction).inputs[1]);
  EGRET_CHECK(data != nullptr, "weights in int8 are constants");
  const Channels channels(data->shape(), channel_axis(graph, contraction));
  std::vector<float> scales(static_cast<std::size_t>(channels.count), 0);
  const auto values = data->as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& scale = scales[channels.of(i)];
    scale = std::max(scale, std::abs(values[i]));
  }
  for (float& scale : scales) scale = scale > 0 ? scale / kMostSigned : 1;
  return scales;
}

void set_range(Lowering& lowering, double least, double most) {
  lowering.is_signed = least < 0;
  const double largest = std::max(std::abs(least), std::abs(most));
  lowering.scale =
      largest > 0 ? static_cast<float>(largest / (lowering.is_signed ? kMostSigned : kMostUnsigned))
                  : 1;
}

}  // namespace egret::backends
