// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/stored_constant.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace egret::backends::cuda {
namespace {

// Of each of the first axis, a matrix of channels by places is transposed.
ir::Tensor with_channels_last(const ir::Tensor& plain) {
  const ir::Shape sizes = plain.shape();
  const std::int64_t outer = sizes[0], channels = sizes[1];
  ir::Shape moved{outer};
  moved.insert(moved.end(), sizes.begin() + 2, sizes.end());
  moved.push_back(channels);
  ir::Tensor result = ir::Tensor::unfilled(ir::TensorType(plain.dtype(), moved));
  const std::int64_t places = plain.elements() == 0 ? 0 : plain.elements() / (outer * channels);
  const std::size_t size = byte_size(plain.dtype());
  const std::byte* from = plain.data().data();
  std::byte* to = result.mutable_data().data();
  const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(i) * size; };
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t p = 0; p < places; ++p) {
      for (std::int64_t c = 0; c < channels; ++c, to += size)
        std::memcpy(to, from + at((o * channels + c) * places + p), size);
    }
  }
  return result;
}

ir::Tensor in_bf16(const ir::Tensor& plain) {
  ir::Tensor result = ir::Tensor::unfilled(ir::TensorType(ir::DType::kBF16, plain.shape()));
  const auto from = plain.as<float>();
  const auto to = result.mutable_as<std::uint16_t>();
  // A finite number beyond bf16's range would become infinite, and a fully masked row would give
  // NaN.
  constexpr auto most = static_cast<float>(kMostBF16);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const float number = std::isfinite(from[i]) ? std::clamp(from[i], -most, most) : from[i];
    to[i] = ir::float_to_bfloat16(number);
  }
  return result;
}

}  // namespace

ir::Tensor stored_constant(const ir::Tensor& plain, bool channels_last, bool narrow) {
  const ir::Tensor moved = channels_last ? with_channels_last(plain) : plain;
  return narrow ? in_bf16(moved) : moved;
}

}  // namespace egret::backends::cuda
