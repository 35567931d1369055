// SPDX-License-Identifier: Apache-2.0
// Positions of the k largest or smallest elements along an axis, by partial sorting: O(n log k) a
// line, where the definition compares all pairs.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/loops/parallel_loop.h"

namespace egret::backends::cpu {
namespace {

// Lines along the axis: `outer` times `inner` of them, whose elements are `inner` apart.
struct Lines {
  std::int64_t outer = 1, extent = 1, inner = 1, k = 0;
};

// A strict order, for sorting must end: NaN is larger than all numbers and equal to itself.
template <typename T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(b)) return !std::isnan(a);
  }
  return a < b;
}

// How elements lie in memory, and as what they are compared.
template <typename T>
struct Plain {
  using Stored = T;
  static T value(T stored) { return stored; }
};
struct Half {
  using Stored = std::uint16_t;
  static float value(std::uint16_t bits) { return ir::half_to_float(bits); }
};
struct Bfloat16 {
  using Stored = std::uint16_t;
  static float value(std::uint16_t bits) { return ir::bfloat16_to_float(bits); }
};

// `order` and `line` have room for an element each of the line.
template <typename Element, typename T>
void line_order(const typename Element::Stored* from, const Lines& lines, bool largest,
                std::vector<T>& line, std::vector<std::int64_t>& order, std::int64_t* to) {
  for (std::int64_t i = 0; i < lines.extent; ++i)
    line[static_cast<std::size_t>(i)] = Element::value(from[i * lines.inner]);
  std::iota(order.begin(), order.end(), 0);
  const T* const at = line.data();
  // Of equals the first comes first, in both directions.
  const auto precedes = [&](std::int64_t i, std::int64_t j) {
    if (largest ? is_less(at[j], at[i]) : is_less(at[i], at[j])) return true;
    if (largest ? is_less(at[i], at[j]) : is_less(at[j], at[i])) return false;
    return i < j;
  };
  std::partial_sort(order.begin(), order.begin() + lines.k, order.end(), precedes);
  for (std::int64_t p = 0; p < lines.k; ++p)
    to[p * lines.inner] = order[static_cast<std::size_t>(p)];
}

template <typename Element>
class TopKStep : public Step {
  using T = decltype(Element::value({}));

 public:
  TopKStep(const Operand& x, const Operand& output, const Lines& lines, bool largest, int threads)
      : x_(x), output_(output), lines_(lines), largest_(largest), threads_(threads) {
    const auto extent = static_cast<std::size_t>(lines.extent);
    for (int i = 0; i < threads; ++i) {
      values_.emplace_back(extent);
      orders_.emplace_back(extent);
    }
  }

  base::Status run(const Addresses& addresses) override {
    const auto* const from = addresses.at<typename Element::Stored>(x_);
    auto* const to = addresses.at<std::int64_t>(output_);
    const std::int64_t count = lines_.outer * lines_.inner;
    constexpr std::int64_t kWorthThreads = 4096;  // elements
    const std::int64_t workers =
        count * lines_.extent > kWorthThreads ? std::min<std::int64_t>(threads_, count) : 1;
    parallel_for(static_cast<int>(workers), workers, [&](std::int64_t worker) {
      const auto own = static_cast<std::size_t>(worker);
      for (std::int64_t at = count * worker / workers; at < count * (worker + 1) / workers; ++at) {
        const std::int64_t outer = at / lines_.inner, inner = at % lines_.inner;
        line_order<Element>(from + outer * lines_.extent * lines_.inner + inner, lines_, largest_,
                            values_[own], orders_[own],
                            to + outer * lines_.k * lines_.inner + inner);
      }
    });
    return base::ok();
  }

 private:
  Operand x_, output_;
  Lines lines_;
  bool largest_;
  int threads_;
  std::vector<std::vector<T>> values_;             // by worker
  std::vector<std::vector<std::int64_t>> orders_;  // by worker
};

template <typename Element>
void add_step(PlanBuilder& builder, const Group& group, const Lines& lines) {
  const ir::Node& node = builder.node(group.root());
  const Operand x = builder.in_row_major(node.inputs[0]);
  const Operand output = builder.output(group.root(), row_major(node.type.shape()));
  const Operand touched[] = {x, output};
  builder.add(std::make_unique<TopKStep<Element>>(
                  x, output, lines, node.attrs.integer("largest") != 0, builder.threads()),
              touched, "topk", "own:partial sort");
}

}  // namespace

base::Status make_topk_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  if (node.type.elements() == 0) return base::unsupported("an empty tensor");
  const ir::TensorType& type = builder.node(node.inputs[0]).type;
  const ir::Shape shape = type.shape();
  const auto axis =
      static_cast<std::size_t>(node.attrs.axis("axis", static_cast<int>(shape.size())));
  Lines lines{.extent = shape[axis], .k = node.type.shape()[axis]};
  for (std::size_t i = 0; i < axis; ++i) lines.outer *= shape[i];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) lines.inner *= shape[i];
  switch (type.dtype) {
    case ir::DType::kF32: add_step<Plain<float>>(builder, group, lines); break;
    case ir::DType::kF64: add_step<Plain<double>>(builder, group, lines); break;
    case ir::DType::kF16: add_step<Half>(builder, group, lines); break;
    case ir::DType::kBF16: add_step<Bfloat16>(builder, group, lines); break;
    case ir::DType::kI8: add_step<Plain<std::int8_t>>(builder, group, lines); break;
    case ir::DType::kI16: add_step<Plain<std::int16_t>>(builder, group, lines); break;
    case ir::DType::kI32: add_step<Plain<std::int32_t>>(builder, group, lines); break;
    case ir::DType::kI64: add_step<Plain<std::int64_t>>(builder, group, lines); break;
    case ir::DType::kBool:
    case ir::DType::kU8: add_step<Plain<std::uint8_t>>(builder, group, lines); break;
    case ir::DType::kU16: add_step<Plain<std::uint16_t>>(builder, group, lines); break;
    case ir::DType::kU32: add_step<Plain<std::uint32_t>>(builder, group, lines); break;
    case ir::DType::kU64: add_step<Plain<std::uint64_t>>(builder, group, lines); break;
  }
  return base::ok();
}

}  // namespace egret::backends::cpu
