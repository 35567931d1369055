// SPDX-License-Identifier: Apache-2.0
// layer_norm and rms_norm: rows of a row-major tensor, three passes over a row in the cache.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/vector_math.h"

namespace egret::backends::cpu {
namespace {

// Independent partial sums, which hide the latency of additions.
constexpr std::int64_t kLanes = 32;
constexpr std::int64_t kRun = 8192;

// sum of (x - center)^power, power 1 or 2, over a run that is short enough for f32 sums.
template <int kPower>
EGRET_VECTOR_INLINE float short_moment(const float* x, std::int64_t n, float center) {
  float lanes[kLanes] = {};
  const auto term = [center](float value) {
    const float d = value - center;
    return kPower == 1 ? d : d * d;
  };
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) lanes[k] += term(x[i + k]);
  }
  for (; i < n; ++i) lanes[0] += term(x[i]);
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

// Runs are added in f64, so the rounding error does not grow with the row length.
template <int kPower>
EGRET_VECTOR_INLINE double moment(const float* x, std::int64_t n, float center) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; i += kRun)
    sum += short_moment<kPower>(x + i, n - i < kRun ? n - i : kRun, center);
  return sum;
}

// May work in place. `bias` may be null.
EGRET_VECTOR_CLONES void norm_row(const float* x, float* y, std::int64_t n, const float* scale,
                                  const float* bias, float epsilon, bool centered) {
  const auto count = static_cast<double>(n);
  // rms_norm is the uncentered case: its second moment is taken around 0.
  const float mean = centered ? static_cast<float>(moment<1>(x, n, 0) / count) : 0;
  const float variance = static_cast<float>(moment<2>(x, n, mean) / count);
  const float factor = 1.0F / std::sqrt(variance + epsilon);
  if (bias == nullptr) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor * scale[i];
  } else {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor * scale[i] + bias[i];
  }
}

// Two passes for the moments (the variance around the computed mean, which avoids the cancellation
// of E[x^2] - E[x]^2) and one that writes. Threads divide the rows.
class NormStep : public Step {
 public:
  NormStep(const Operand& source, const Operand& target, const Operand& scale, const Operand* bias,
           std::int64_t row, float epsilon, bool centered, int threads)
      : source_(source),
        target_(target),
        scale_(scale),
        bias_(bias != nullptr ? *bias : Operand{}),
        row_(row),
        epsilon_(epsilon),
        centered_(centered),
        threads_(threads) {}

  base::Status run(const Addresses& addresses) override {
    const float* const x = addresses.at(source_);
    float* const y = addresses.at(target_);
    const float* const scale = addresses.at(scale_);
    const float* const bias = bias_.buffer.valid() ? addresses.at(bias_) : nullptr;
    const std::int64_t rows = source_.type.elements() / row_;
    parallel_for(rows * row_ > 16384 ? threads_ : 1, rows, [&](std::int64_t i) {
      norm_row(x + i * row_, y + i * row_, row_, scale, bias, epsilon_, centered_);
    });
    return base::ok();
  }

 private:
  Operand source_, target_, scale_, bias_;
  std::int64_t row_;
  float epsilon_;
  bool centered_;
  int threads_;
};

}  // namespace

base::Status make_norm_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  if (node.type.dtype != ir::DType::kF32 || node.type.elements() == 0)
    return base::unsupported("normalization of this type");
  const ir::Shape shape = node.type.shape();
  std::int64_t row = 1;
  for (auto i = static_cast<std::size_t>(node.attrs.integer("axis")); i < shape.size(); ++i)
    row *= shape[i];
  if (builder.node(node.inputs[0]).type != node.type)
    return base::unsupported("a scale that broadcasts the input");
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const ir::Shape operand = builder.node(node.inputs[i]).type.shape();
    const std::size_t axes = shape.size() - static_cast<std::size_t>(node.attrs.integer("axis"));
    const bool leading_ones =
        operand.size() <= axes ||
        std::all_of(operand.begin(), operand.end() - static_cast<std::ptrdiff_t>(axes),
                    [](std::int64_t size) { return size == 1; });
    if (builder.node(node.inputs[i]).type.elements() != row || !leading_ones)
      return base::unsupported("a scale or bias without one number for each element of a row");
  }
  const ir::NodeId input = node.inputs[0];
  const Operand source = builder.in_row_major(input);
  const Operand scale = builder.in_row_major(node.inputs[1]);
  const Operand bias = node.inputs.size() > 2 ? builder.in_row_major(node.inputs[2]) : Operand{};
  Operand target;
  // The rows are overwritten while scale and bias are still read, so these must be other values.
  if (builder.may_overwrite(input, source) && node.inputs[1] != input &&
      (node.inputs.size() < 3 || node.inputs[2] != input)) {
    target = source;
    builder.set_home(group.root(), target);
  } else {
    target = builder.output(group.root(), row_major(shape));
  }
  std::vector<Operand> touched{source, scale};
  if (bias.buffer.valid()) touched.push_back(bias);
  touched.push_back(target);
  builder.add(
      std::make_unique<NormStep>(source, target, scale, bias.buffer.valid() ? &bias : nullptr, row,
                                 static_cast<float>(node.attrs.real("epsilon")),
                                 node.op->name() == "layer_norm", builder.threads()),
      touched, "norm", "own:rows");
  return base::ok();
}

}  // namespace egret::backends::cpu
