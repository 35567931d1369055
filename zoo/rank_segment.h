// SPDX-License-Identifier: Apache-2.0
// The vocabulary in which segments of a rank's transformer are written: inputs without data, and
// values that kernels store.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph/builder.h"
#include "zoo/rank_transformer.h"

namespace egret::zoo {

inline constexpr double kDropped = 0.1;

// Errors stick, and finish() returns the first one.
class SegmentBuilder {
 public:
  explicit SegmentBuilder(const RankShape& shape) : shape_(shape) {}

  ir::Value input(std::string name, std::initializer_list<std::int64_t> sizes) {
    return add_input(std::move(name), shape_.type, sizes);
  }
  ir::Value weight(std::string name, std::initializer_list<std::int64_t> sizes) {
    segment_.weights.push_back(name);
    return add_input(std::move(name), shape_.type, sizes);
  }

  ir::Value operator()(std::string_view op, std::initializer_list<ir::Value> inputs,
                       ir::Attrs attrs = {}) {
    return b_.add(op, inputs, std::move(attrs));
  }
  // Without a gradient: indices, masks, and what other ranks computed.
  ir::Value constant_input(std::string name, ir::DType type,
                           std::initializer_list<std::int64_t> sizes) {
    return b_.input(std::move(name), {type, ir::Dims(sizes.begin(), sizes.end())});
  }
  ir::Value real_input(std::string name, ir::DType type,
                       std::initializer_list<std::int64_t> sizes) {
    return add_input(std::move(name), type, sizes);
  }
  ir::Value cast(ir::Value x, ir::DType type) {
    return (*this)("cast", {x}, {{"to", std::string(to_string(type))}});
  }
  ir::Value number(double value) { return b_.scalar(shape_.type, value); }
  ir::Value reshape(ir::Value x, ir::Integers sizes) {
    return (*this)("reshape", {x}, {{"shape", std::move(sizes)}});
  }
  ir::Value transpose(ir::Value x, ir::Integers perm) {
    return (*this)("transpose", {x}, {{"perm", std::move(perm)}});
  }
  ir::Value slice_last(ir::Value x, std::int64_t start, std::int64_t size) {
    return (*this)("slice", {x},
                   {{"axis", std::int64_t{b_.type(x).rank() - 1}},
                    {"start", start},
                    {"size", size},
                    {"step", std::int64_t{1}}});
  }
  ir::Value mean_of_rows(ir::Value x) {
    return (*this)("reduce_mean", {x},
                   {{"axes", ir::Integers{b_.type(x).rank() - 1}}, {"keepdims", std::int64_t{1}}});
  }

  // The mask is one byte an element, as it is stored for the backward pass.
  ir::Value dropped(ir::Value x, std::string name) {
    if (!shape_.dropout) return x;
    const ir::Value mask = b_.input(std::move(name), {ir::DType::kU8, b_.type(x).dims});
    return (*this)("mul",
                   {(*this)("mul", {x, cast(mask, shape_.type)}), number(1 / (1 - kDropped))});
  }

  ir::Value in_core(ir::Value x, std::string name) {
    segment_.core.push_back(name);
    return stored(x, std::move(name));
  }
  // Stored by the forward pass, while its gradient stays inside of kernels.
  ir::Value stored_alone(ir::Value x, std::string name) {
    b_.set_name(x, std::move(name));
    return x;
  }
  ir::Value stored(ir::Value x, std::string name) {
    b_.set_name(x, std::move(name));
    stored_.push_back(x);
    return x;
  }

  // Layer normalization, or RMSNorm where the feed-forward layer has a gate, as in Llama.
  ir::Value normalized(ir::Value x);
  // GELU, or SwiGLU of a gate and INNER columns behind it.
  ir::Value activated(ir::Value x, std::int64_t inner);
  ir::Value joined(std::span<const ir::Value> parts, std::int64_t axis) {
    return b_.add("concat", parts, {{"axis", axis}});
  }
  // An input that another rank of the ring sends, and to which its gradient goes back.
  ir::Value ring_input(std::string name, std::initializer_list<std::int64_t> sizes) {
    segment_.ring.push_back(name);
    return input(std::move(name), sizes);
  }

  // Adds the gradients. RESULTS are stored values, and outputs; so is ALONE, without a gradient.
  base::Result<RankSegment> finish(std::initializer_list<ir::Value> results,
                                   std::initializer_list<ir::Value> alone = {});

 private:
  ir::Value add_input(std::string name, ir::DType type, std::initializer_list<std::int64_t> sizes) {
    const ir::Value value = b_.input(std::move(name), {type, ir::Dims(sizes.begin(), sizes.end())});
    differentiated_.push_back(value);
    return value;
  }

  const RankShape& shape_;
  ir::GraphBuilder b_;
  RankSegment segment_;
  std::vector<ir::Value> differentiated_, stored_;
};

}  // namespace egret::zoo
