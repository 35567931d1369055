// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/channel_affine.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace egret::backends::cpu {
namespace {

using dnnl::algorithm;

// A constant's value by channel, if it varies along the channel axis only.
std::optional<std::vector<double>> by_channel(const ir::Graph& graph, ir::NodeId id,
                                              const ir::Shape& shape) {
  const ir::Node& node = graph.node(id);
  if (node.kind != ir::NodeKind::kConstant) return std::nullopt;
  const auto channels = static_cast<std::size_t>(shape[1]);
  const ir::Shape own = node.type.shape();
  const std::size_t behind = shape.size() - 2;  // spatial axes
  // Broadcasting aligns shapes at the last axis, so the channel axis is followed by the spatial
  // axes. With the check of the element count, all other axes have size 1.
  const bool varies = own.size() > behind && own[own.size() - behind - 1] == shape[1];
  if (node.data.elements() != (varies ? shape[1] : 1)) return std::nullopt;
  std::vector<double> values(channels);
  for (std::size_t c = 0; c < channels; ++c)
    values[c] = node.data.f64_at(varies ? static_cast<std::int64_t>(c) : 0);
  return values;
}

// One operation as scales and shifts; nullopt where it is neither.
std::optional<ChannelAffine> affine_of(const ir::Graph& graph, const ir::Shape& shape,
                                       const PostOperation& operation) {
  const auto channels = static_cast<std::size_t>(shape[1]);
  ChannelAffine affine{std::vector<double>(channels, 1), std::vector<double>(channels, 0)};
  if (operation.kind == PostOperation::Kind::kEltwise) {
    if (operation.algorithm != algorithm::eltwise_linear) return std::nullopt;
    affine.scale.assign(channels, operation.alpha);
    affine.shift.assign(channels, operation.beta);
    return affine;
  }
  const auto values = by_channel(graph, operation.operand, shape);
  if (!values) return std::nullopt;
  for (std::size_t c = 0; c < channels; ++c) {
    switch (operation.algorithm) {
      case algorithm::binary_add: affine.shift[c] = (*values)[c]; break;
      case algorithm::binary_sub: affine.shift[c] = -(*values)[c]; break;
      case algorithm::binary_mul: affine.scale[c] = (*values)[c]; break;
      case algorithm::binary_div: affine.scale[c] = 1 / (*values)[c]; break;
      default: return std::nullopt;
    }
  }
  return affine;
}

// An infinite factor, as of a division by 0, would turn a weight of 0 into NaN. A large addend in
// the bias would round each term of the convolution's sums.
bool may_fold(const std::vector<double>& values) {
  return std::ranges::none_of(values,
                              [](double v) { return std::isnan(v) || leaves_no_fraction(v); });
}

}  // namespace

bool ChannelAffine::scales() const {
  return std::ranges::any_of(scale, [](double s) { return s != 1; });
}
bool ChannelAffine::shifts() const {
  return std::ranges::any_of(shift, [](double s) { return s != 0; });
}

// A convolution is linear in its filters: scaling the result of filter c by s equals scaling filter
// c by s.
ir::Tensor ChannelAffine::scaled(const ir::Tensor& weights) const {
  ir::Tensor result = weights;
  const auto values = result.mutable_as<float>();
  // The filters are the leading axis of the weights, so filter c owns a contiguous range.
  const std::size_t each = values.size() / scale.size();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(values[i] * scale[i / each]);
  return result;
}

ir::Tensor ChannelAffine::bias() const {
  const ir::Shape shape{static_cast<std::int64_t>(shift.size())};
  return ir::Tensor::of(ir::DType::kF32, shape, shift);
}

// Takes operations from the front of the chain as long as they are scales and shifts per channel,
// and composes them.
ChannelAffine take_channel_affine(const ir::Graph& graph, const ir::Shape& shape, bool may_scale,
                                  std::vector<double> shift,
                                  std::vector<PostOperation>& operations) {
  const auto channels = static_cast<std::size_t>(shape[1]);
  ChannelAffine all{std::vector<double>(channels, 1), std::move(shift)};
  all.shift.resize(channels, 0);
  while (!operations.empty()) {
    const auto one = affine_of(graph, shape, operations.front());
    if (!one || (one->scales() && !may_scale) || !may_fold(one->scale) || !may_fold(one->shift))
      break;
    for (std::size_t c = 0; c < channels; ++c) {
      all.scale[c] *= one->scale[c];
      // Composition: s2 (s1 x + t1) + t2 = (s2 s1) x + (s2 t1 + t2).
      all.shift[c] = all.shift[c] * one->scale[c] + one->shift[c];
    }
    operations.erase(operations.begin());
  }
  return all;
}

}  // namespace egret::backends::cpu
