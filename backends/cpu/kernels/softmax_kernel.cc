// SPDX-License-Identifier: Apache-2.0
// softmax and log_softmax over one axis of a row-major tensor.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/loops/exponentials.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/vector_math.h"

namespace egret::backends::cpu {
namespace {

constexpr std::int64_t kLanes = 32;
constexpr std::int64_t kColumns = 64;

// Combines the lanes pairwise in log2 steps, which shortens the dependency chain.
template <std::int64_t kCount, typename Join>
EGRET_VECTOR_INLINE float joined(float* lanes, Join join) {
  if constexpr (kCount == 1) {
    return lanes[0];
  } else {
    constexpr std::int64_t kHalf = kCount / 2;
    for (std::int64_t k = 0; k < kHalf; ++k) lanes[k] = join(lanes[k], lanes[k + kHalf]);
    return joined<kHalf>(lanes, join);
  }
}

// 32 lanes are two vectors of AVX-512 or four of AVX2, which are independent chains of maxima. NaN
// propagates through vector::max.
EGRET_VECTOR_INLINE float row_max(const float* x, std::int64_t n) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = -std::numeric_limits<float>::infinity();
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) lanes[k] = vector::max(lanes[k], x[i + k]);
  }
  for (; i < n; ++i) lanes[0] = vector::max(lanes[0], x[i]);
  return joined<kLanes>(
      lanes, [](float a, float b) __attribute__((always_inline)) { return vector::max(a, b); });
}

EGRET_VECTOR_INLINE float lane_sum(float* lanes) {
  return joined<kLanes>(
      lanes, [](float a, float b) __attribute__((always_inline)) { return a + b; });
}

EGRET_VECTOR_INLINE float shifted_exponentials(const float* x, float top, float* y,
                                               std::int64_t n) {
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  if (!std::isfinite(top)) {  // NaNs, infinities: what arithmetic makes of them
    for (; i < n; ++i) lanes[0] += y[i] = vector::exp(x[i] - top);
  }
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) {
      const float e = vector::exp_below_zero(x[i + k] - top);
      y[i + k] = e;
      lanes[k] += e;
    }
  }
  for (; i < n; ++i) lanes[0] += y[i] = vector::exp_below_zero(x[i] - top);
  return lane_sum(lanes);
}

}  // namespace

// Subtracting the maximum keeps every exponent at or below 0: no overflow, and at least one term of
// 1, so the sum is at least 1.
EGRET_VECTOR_CLONES float exponentials(const float* x, float* y, std::int64_t n) {
  return shifted_exponentials(x, row_max(x, n), y, n);
}

EGRET_VECTOR_CLONES float exponentials_below(const float* x, float top, float* y, std::int64_t n) {
  return shifted_exponentials(x, top, y, n);
}

EGRET_VECTOR_CLONES float largest(const float* x, std::int64_t n) { return row_max(x, n); }

EGRET_VECTOR_CLONES void scaled(const float* x, float factor, float* y, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t k = 0; k < n; ++k) y[k] = factor * x[k];
}

void divide_rows(float* rows, float* sums, std::int64_t count, std::int64_t n) {
  for (std::int64_t r = 0; r < count; ++r) {
    scaled(rows + r * n, 1.0F / sums[r], rows + r * n, n);
    sums[r] = 1;
  }
}

// The largest bits without the sign, which order as the magnitudes do: infinities and NaN are last.
EGRET_VECTOR_CLONES bool all_finite(const float* x, std::int64_t n) {
  constexpr std::int32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000;
  std::int32_t most = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(x[k]) & kMagnitude;
    most = most > bits ? most : bits;
  }
  return most < kInfinity;
}

namespace {

// May work in place.
EGRET_VECTOR_CLONES void softmax_row(const float* x, float* y, std::int64_t n) {
  const float scale = 1.0F / exponentials(x, y, n);
#pragma GCC ivdep
  for (std::int64_t k = 0; k < n; ++k) y[k] *= scale;
}

// x - max - log sum exp(x - max): the logarithm of the quotient without computing the quotient.
EGRET_VECTOR_CLONES void log_softmax_row(const float* x, float* y, std::int64_t n) {
  const float top = row_max(x, n);
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) lanes[k] += vector::exp(x[i + k] - top);
  }
  for (; i < n; ++i) lanes[0] += vector::exp(x[i] - top);
  const float log_sum = std::log(lane_sum(lanes));
#pragma GCC ivdep
  for (std::int64_t k = 0; k < n; ++k) y[k] = (x[k] - top) - log_sum;
}

// Softmax of neighbouring columns together: element (i, j) is at x[i * stride + j], j < columns <=
// kColumns. The axis is strided here; columns make the vectors.
EGRET_VECTOR_CLONES void softmax_columns(const float* x, float* y, std::int64_t n,
                                         std::int64_t stride, std::int64_t columns, bool logs) {
  // Three passes over the columns: maxima, sums of exponentials, results. The last pass recomputes
  // the exponentials instead of storing them.
  float top[kColumns];
  float sum[kColumns];
  for (std::int64_t j = 0; j < columns; ++j) {
    top[j] = -std::numeric_limits<float>::infinity();
    sum[j] = 0;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) top[j] = vector::max(top[j], x[i * stride + j]);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) sum[j] += vector::exp(x[i * stride + j] - top[j]);
  }
  for (std::int64_t j = 0; j < columns; ++j) sum[j] = logs ? vector::log(sum[j]) : 1.0F / sum[j];
  for (std::int64_t i = 0; i < n; ++i) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < columns; ++j) {
      const float shifted = x[i * stride + j] - top[j];
      y[i * stride + j] = logs ? shifted - sum[j] : vector::exp(shifted) * sum[j];
    }
  }
}

// If the axis is the innermost one, rows make the vectors; otherwise up to kColumns neighboring
// columns do. Each piece of threads' work is one row or one block of columns.
class SoftmaxStep : public Step {
 public:
  SoftmaxStep(const Operand& source, const Operand& target, std::size_t axis, bool logs,
              int threads)
      : source_(source), target_(target), logs_(logs), threads_(threads) {
    const ir::Shape shape = source.shape();
    n_ = shape[axis];
    for (std::size_t i = 0; i < axis; ++i) outer_ *= shape[i];
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner_ *= shape[i];
  }

  base::Status run(const Addresses& addresses) override {
    const float* const x = addresses.at(source_);
    float* const y = addresses.at(target_);
    const std::int64_t chunks = (inner_ + kColumns - 1) / kColumns;
    const bool parallel = outer_ * n_ * inner_ > 8192;
    parallel_for(parallel ? threads_ : 1, outer_ * chunks, [&](std::int64_t piece) {
      const std::int64_t first = piece % chunks * kColumns;
      const std::int64_t at = piece / chunks * n_ * inner_ + first;
      if (inner_ > 1) {
        softmax_columns(x + at, y + at, n_, inner_, std::min(kColumns, inner_ - first), logs_);
      } else if (logs_) {
        log_softmax_row(x + at, y + at, n_);
      } else {
        softmax_row(x + at, y + at, n_);
      }
    });
    return base::ok();
  }

 private:
  Operand source_, target_;
  bool logs_;
  int threads_;
  std::int64_t outer_ = 1, n_ = 1, inner_ = 1;
};

}  // namespace

base::Status make_softmax_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  const ir::AttrValue* axis = node.attrs.find("axis");
  if (node.type.dtype != ir::DType::kF32 || node.type.elements() == 0 || axis == nullptr)
    return base::unsupported("softmax of this type");
  const ir::NodeId input = node.inputs[0];
  const Operand source = builder.in_row_major(input);
  Operand target;
  if (builder.may_overwrite(input, source)) {
    target = source;
    builder.set_home(group.root(), target);
  } else {
    target = builder.output(group.root(), row_major(node.type.shape()));
  }
  const Operand touched[] = {source, target};
  builder.add(std::make_unique<SoftmaxStep>(source, target,
                                            static_cast<std::size_t>(node.attrs.integer("axis")),
                                            node.op->name() == "log_softmax", builder.threads()),
              touched, "softmax", "own:rows");
  return base::ok();
}

}  // namespace egret::backends::cpu
