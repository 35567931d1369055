// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/rounding_step.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>

#include "backends/cpu/loops/instruction_set.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/vector_math.h"
#include "backends/cpu/plan/onednn.h"
#include "backends/cpu/plan/plan_builder.h"
#include "backends/cpu/plan/reorder.h"

namespace egret::backends::cpu {
namespace {

constexpr std::int64_t kBlock = 16 << 10;  // elements that a thread takes at a time

EGRET_VECTOR_CLONES
void narrow(const float* from, std::uint16_t* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    // Round to nearest, ties to even: half a unit less one bit is added, and that bit where the
    // kept part is odd. A NaN would carry into the exponent, so it is cut off and made quiet
    // instead.
    const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    const std::uint32_t nan = (bits >> 16) | 0x40U;
    to[i] = static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded);
  }
}

EGRET_VECTOR_CLONES
void widen(const std::uint16_t* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
}

// Adding and subtracting 1.5 * 2^23 rounds to the nearest integer, ties to even. A NaN becomes the
// least integer.
template <typename Integer>
[[gnu::always_inline]] inline void quantize(const float* from, Integer* to, std::int64_t count,
                                            float factor) {
  constexpr float kLeast = std::numeric_limits<Integer>::min();
  constexpr float kMost = std::numeric_limits<Integer>::max();
  constexpr float kRound = 0x1.8p23F;
  for (std::int64_t i = 0; i < count; ++i) {
    float value = from[i] * factor;
    value = value > kLeast ? value : kLeast;
    value = value < kMost ? value : kMost;
    const float rounded = (value + kRound) - kRound;
    to[i] = static_cast<Integer>(static_cast<std::int32_t>(rounded));
  }
}

EGRET_VECTOR_CLONES
void to_signed(const float* from, std::int8_t* to, std::int64_t count, float factor) {
  quantize(from, to, count, factor);
}

EGRET_VECTOR_CLONES
void to_unsigned(const float* from, std::uint8_t* to, std::int64_t count, float factor) {
  quantize(from, to, count, factor);
}

EGRET_VECTOR_CLONES
void from_signed(const std::int8_t* from, float* to, std::int64_t count, float scale) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * scale;
}

EGRET_VECTOR_CLONES
void from_unsigned(const std::uint8_t* from, float* to, std::int64_t count, float scale) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * scale;
}

// All elements, padding too, between two operands of one dense layout.
class RoundStep : public Step {
 public:
  RoundStep(const Operand& source, const Operand& target, float scale, int threads)
      : source_(source),
        target_(target),
        scale_(scale),
        count_(span_elements(source.layout, source.shape())),
        threads_(threads) {}

  base::Status run(const Addresses& addresses) override {
    parallel_for(threads_, (count_ + kBlock - 1) / kBlock, [&](std::int64_t block) {
      const std::int64_t first = block * kBlock;
      const std::int64_t count = std::min(kBlock, count_ - first);
      copy(addresses, first, count);
    });
    return base::ok();
  }

 private:
  void copy(const Addresses& addresses, std::int64_t first, std::int64_t count) const {
    const bool narrows = source_.type.dtype == ir::DType::kF32;
    const Operand& reals = narrows ? source_ : target_;
    const Operand& others = narrows ? target_ : source_;
    float* const real = addresses.at(reals) + first;
    if (others.type.dtype == ir::DType::kBF16) {
      std::uint16_t* const other = addresses.at<std::uint16_t>(others) + first;
      narrows ? narrow(real, other, count) : widen(other, real, count);
    } else if (others.type.dtype == ir::DType::kI8) {
      std::int8_t* const other = addresses.at<std::int8_t>(others) + first;
      narrows ? to_signed(real, other, count, 1 / scale_) : from_signed(other, real, count, scale_);
    } else {
      std::uint8_t* const other = addresses.at<std::uint8_t>(others) + first;
      narrows ? to_unsigned(real, other, count, 1 / scale_)
              : from_unsigned(other, real, count, scale_);
    }
  }

  Operand source_, target_;
  float scale_;
  std::int64_t count_;
  int threads_;
};

bool is_one_block(const Operand& source, const Operand& target) {
  return source.type.dtype != target.type.dtype &&
         same_layout(source.layout, target.layout, source.shape()) &&
         is_dense(source.layout, source.shape());
}

}  // namespace

base::Status add_rounding(PlanBuilder& builder, const Operand& source, const Operand& target,
                          float scale) {
  if (!is_one_block(source, target)) {
    const auto rank = source.type.rank();
    if (rank < 1 || rank > 6) return base::unsupported("a reorder of too many axes");
    const float factor = source.type.dtype == ir::DType::kF32   ? 1 / scale
                         : target.type.dtype == ir::DType::kF32 ? scale
                                                                : 1;
    return guarded([&] { return add_onednn_reorder(builder, source, target, factor); });
  }
  const Operand touched[] = {source, target};
  builder.add(std::make_unique<RoundStep>(source, target, scale, builder.threads()), touched,
              "reorder", target.type.dtype == ir::DType::kF32 ? "own:widen" : "own:round");
  return base::ok();
}

base::Status round_now(PlanBuilder& builder, const Operand& source, const Operand& target,
                       float scale) {
  EGRET_CHECK(is_one_block(source, target), "weights to be rounded are laid out first");
  RoundStep step(source, target, scale, builder.threads());
  return builder.run_now(step);
}

}  // namespace egret::backends::cpu
