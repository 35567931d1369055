// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/window_matrix.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace egret::backends::cuda {
namespace {

using ir::Index;

using Indices = std::vector<Index>;

// Whether the second of the axes lies last. (Of one channel, or one pixel, both forms are the
// same.)
bool has_channels_last(const Convolution::Tensor& tensor) { return tensor.strides[1] == 1; }

// The first axis, then channels and spatial axes in storage order.
template <typename Value>
std::vector<Value> as_stored(std::vector<Value> values, bool channels_last) {
  if (channels_last) std::rotate(values.begin() + 1, values.begin() + 2, values.end());
  return values;
}

std::int64_t product_of(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

// A 1x1 window at every pixel: the image itself is the matrix.
bool is_product(const Convolution& c) {
  const auto is_one = [](std::int64_t value) { return value == 1; };
  return std::ranges::all_of(std::span(c.filter.sizes).subspan(2), is_one) &&
         std::ranges::equal(std::span(c.image.sizes).subspan(2),
                            std::span(c.output.sizes).subspan(2));
}

ir::TensorType type_of(ir::DType type, const std::vector<std::int64_t>& sizes) {
  ir::Shape shape;
  for (const std::int64_t size : sizes) shape.push_back(size);
  return {type, shape};
}

}  // namespace

// The matrix of all windows (im2col): one row per output pixel, one column per channel and tap,
// zero where a tap lies in the padding. Its axes follow the storage of output and filter, so that
// the product needs no transposition.
WindowMatrix window_matrix(const Convolution& c) {
  auto pool = std::make_shared<ir::ExprPool>();
  const auto variables = [&](std::size_t count) {
    Indices made;
    for (std::size_t i = 0; i < count; ++i) made.push_back(pool->fresh_var());
    return made;
  };
  const std::size_t spatial = c.strides.size();
  const Index n = pool->fresh_var(), channel = pool->fresh_var();
  const Indices output = variables(spatial), window = variables(spatial);

  Indices read{n, channel + Index(c.first_channel)};
  ir::Guard inside(true);
  for (std::size_t i = 0; i < spatial; ++i) {
    const Index at = output[i] * c.strides[i] + window[i] * c.dilations[i] - Index(c.pads[i]);
    inside = inside && ir::within(0, at, c.image.sizes[i + 2]);
    read.push_back(at);
  }
  const bool image_last = has_channels_last(c.image);
  const ir::Scalar element = ir::select(inside, pool->read(0, as_stored(read, image_last)), 0);

  // Its axes: n, then the output's and the product's, each as they lie in their tensors.
  Indices product{n, channel};
  product.insert(product.end(), window.begin(), window.end());
  product = as_stored(product, has_channels_last(c.filter));
  std::vector<std::int64_t> product_sizes = as_stored(c.filter.sizes, has_channels_last(c.filter));
  Indices axes{n};
  std::vector<std::int64_t> sizes{c.output.sizes[0]};
  const auto add = [&](auto from, const Indices& of, std::span<const std::int64_t> lengths) {
    axes.insert(axes.end(), of.begin() + from, of.end());
    sizes.insert(sizes.end(), lengths.begin() + from, lengths.end());
  };
  const auto pixels = std::span(c.output.sizes).subspan(2);
  if (!has_channels_last(c.output)) add(1, product, product_sizes);
  add(0, output, pixels);
  if (has_channels_last(c.output)) add(1, product, product_sizes);

  std::vector<std::int64_t> stored = c.image.sizes;
  stored[1] = c.stored_channels;
  return {{pool, type_of(c.image.type, sizes), axes, element, {}},
          type_of(c.image.type, as_stored(stored, image_last))};
}

// The product of the window matrix and the filters, as cuBLASLt's. `matrix` is the number of its
// input.
std::optional<Gemm> window_product(const Convolution& c, int matrix) {
  if (c.groups != 1 || !c.tail.empty() || std::isfinite(c.most) || is_product(c))
    return std::nullopt;
  const std::int64_t batch = c.output.sizes[0], channels = c.output.sizes[1];
  const std::int64_t pixels = product_of(std::span(c.output.sizes).subspan(2));
  const std::int64_t terms = product_of(std::span(c.filter.sizes).subspan(1));
  Gemm gemm;
  gemm.k = terms;
  gemm.type = c.image.type;
  gemm.output_type = c.output.type;
  gemm.scale = c.scale;
  gemm.relu = c.relu;
  // Column-major: what lies as [pixels, K] is K by pixels.
  const auto operand = [](int input, std::int64_t rows, std::int64_t columns, bool transposed) {
    Gemm::Operand made;
    made.input = input;
    made.transposed = transposed;
    made.rows = made.leading = rows;
    made.columns = columns;
    return made;
  };
  // Channels-last: one product with m = channels and n = all pixels of the batch. Row-major: one
  // product per image with m = pixels, n = channels, and the filter is shared by the batch (stride
  // 0).
  const bool last = has_channels_last(c.output);
  if (last) {
    gemm.m = channels;
    gemm.n = batch * pixels;
    gemm.a = operand(c.filter.input, terms, channels, true);
    gemm.b = operand(matrix, terms, batch * pixels, false);
  } else {
    gemm.m = pixels;
    gemm.n = channels;
    gemm.batch = batch;
    gemm.batch_stride = pixels * channels;
    gemm.a = operand(matrix, pixels, terms, false);
    gemm.a.batch_stride = pixels * terms;
    gemm.b = operand(c.filter.input, terms, channels, false);
  }
  gemm.leading = gemm.added_leading = gemm.m;
  gemm.added_batch_stride = gemm.batch_stride;
  for (const Convolution::Tensor& added : c.added) {
    const bool is_bias = added.sizes != c.output.sizes;
    int& place = is_bias ? gemm.bias : gemm.added;
    // cuBLASLt's bias varies along m, which is the channel axis only in channels-last.
    if (place >= 0 || (is_bias && !last)) return std::nullopt;
    place = added.input;
  }
  return gemm;
}

}  // namespace egret::backends::cuda
