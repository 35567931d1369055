// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/rounding_dependence.h"

#include <string>

#include "frontends/onnx.pb.h"
#include "ir/analysis/large_constants.h"

namespace egret::frontends {
namespace {

// Longer sums are terms of their own: those of residual networks grow with each layer.
constexpr std::size_t kMostTerms = 64;

}  // namespace

bool RoundingDependence::has_large_operand(const OnnxImportContext& context,
                                           const OnnxProgramNode& node,
                                           const std::vector<ir::Value>& values) {
  const std::string& op_type = node.proto->op_type();
  const bool divides = op_type == "Div";
  if (!divides && op_type != "Add" && op_type != "Sub" && op_type != "Mul") return false;
  const auto counted_on = divides ? ir::ConstantSize::kTiny : ir::ConstantSize::kLarge;
  for (std::size_t i = divides ? 1 : 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    const ir::Value value = values[node.inputs[i].index()];
    const ir::TensorType& type = context.builder.type(value);
    const bool is_wide_float = type.dtype == ir::DType::kF32 || type.dtype == ir::DType::kF64;
    if (!is_wide_float || !type.is_concrete()) continue;
    const auto constant = context.constants.value(value.id);
    if (constant && ir::constant_size(*constant) == counted_on) return true;
  }
  return false;
}

RoundingDependence::Sum RoundingDependence::sum_of(ir::Value value) const {
  const auto found = sums_.find(value.id);
  return found == sums_.end() ? Sum{{value.id, 1}} : found->second;
}

bool RoundingDependence::of(const OnnxImportContext& context, const OnnxProgramNode& node,
                            const std::vector<ir::Value>& values) {
  last_.reset();
  const bool large = has_large_operand(context, node, values);
  const std::string& op_type = node.proto->op_type();
  if (op_type != "Add" && op_type != "Sub" && op_type != "Neg") return large;
  std::vector<ir::Value> operands;
  for (const auto& input : node.inputs) {
    if (!input.valid()) return large;
    operands.push_back(values[input.index()]);
  }
  if (operands.empty() || !ir::is_float(context.builder.type(operands[0]).dtype)) return large;
  Sum sum = sum_of(operands[0]);
  if (op_type == "Neg") {
    for (auto& [term, factor] : sum) factor = -factor;
  }
  bool cancels = false;
  if (operands.size() == 2) {
    const double sign = op_type == "Sub" ? -1 : 1;
    for (const auto& [term, factor] : sum_of(operands[1])) {
      double& all = sum[term];
      // 1 - (1 - mask) is no compensated sum.
      cancels = cancels || (all * sign * factor < 0 && !context.constants.is_constant(term));
      all += sign * factor;
      if (all == 0) sum.erase(term);
    }
    cancels = cancels && operands[0].id != operands[1].id;
  }
  if (sum.size() <= kMostTerms) last_ = std::move(sum);
  return large || cancels;
}

void RoundingDependence::computed(ir::Value value) {
  if (last_) sums_[value.id] = *std::move(last_);
  last_.reset();
}

}  // namespace egret::frontends
