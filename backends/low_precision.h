// SPDX-License-Identifier: Apache-2.0
// Products and convolutions that read their two operands in less precision than f32.
//
// The graph says so itself: both operands are rounded in front of the operator, by a pair of casts
// to bf16 and back, or by a pair of QuantizeLinear and DequantizeLinear with a zero point of 0. The
// pairs are ordinary operators, so that every backend and every engine computes the same values. A
// backend with kernels for such operands recognizes the pairs and computes none of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "backends/backend.h"
#include "backends/precision.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends {

// How an operator reads its two operands.
struct Lowering {
  OperandForm form = OperandForm::kF32;
  // With int8: a real is an integer times a scale. The first operand has one scale.
  float scale = 0;
  bool is_signed = true;  // i8, otherwise u8
  // Of the second operand: one, or one for each output channel.
  std::vector<float> weight_scales{};

  bool operator==(const Lowering&) const = default;
};

// The element type of the first operand: bf16, i8, u8 or f32.
ir::DType element_of(const Lowering& lowering);

// A product of two matrices or a convolution of f32, where the second operand may be rounded once.
bool is_contraction(const ir::Graph& graph, ir::NodeId id);
// The axis of the second operand that belongs to output channels.
std::int64_t channel_axis(const ir::Graph& graph, ir::NodeId contraction);

// A graph whose contractions read the values in front of the pairs. Nodes keep their ids.
struct WithoutRoundings {
  ir::Graph graph;
  std::vector<Lowering> lowerings;  // by node
};
// Whether a backend has a kernel for a contraction with operands of this form.
using TakesLowering = std::function<bool(const ir::Graph&, ir::NodeId, OperandForm)>;
// Nothing where the backend takes no contraction with two rounded operands. O(nodes).
std::optional<WithoutRoundings> without_roundings(const ir::Graph& graph,
                                                  const TakesLowering& takes);

// The opposite: pairs in front of these contractions, whose first operands are f32. An int8 second
// operand is a constant and becomes one of i8; a constant to be read in bf16 becomes one of bf16.
struct WithRoundings {
  ir::Graph graph;
  Division division;               // the given one; pairs belong to the kernels that read them
  std::vector<ir::NodeId> origin;  // by node: that of the given graph; invalid in pairs
};
WithRoundings with_roundings(const ir::Graph& graph, const Division& division,
                             const std::map<ir::NodeId, Lowering>& lowerings);

// The scales of constant weights: the largest absolute value of each output channel is 127.
std::vector<float> weight_scales(const ir::Graph& graph, ir::NodeId contraction);
// Weights as integers of these scales.
ir::Tensor weights_in_i8(const ir::Tensor& values, std::int64_t axis,
                         const std::vector<float>& scales);
// The scale and the sign of a value within these bounds.
void set_range(Lowering& lowering, double least, double most);

}  // namespace egret::backends
