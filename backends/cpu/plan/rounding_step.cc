// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/rounding_step.h"

#include <algorithm>
#include <bit>
#include <cstdint>
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

// All elements, padding too, between two operands of one dense layout.
class RoundStep : public Step {
 public:
  RoundStep(const Operand& source, const Operand& target, int threads)
      : source_(source),
        target_(target),
        narrows_(target.type.dtype == ir::DType::kBF16),
        count_(span_elements(source.layout, source.shape())),
        threads_(threads) {}

  base::Status run(const Addresses& addresses) override {
    parallel_for(threads_, (count_ + kBlock - 1) / kBlock, [&](std::int64_t block) {
      const std::int64_t first = block * kBlock;
      const std::int64_t count = std::min(kBlock, count_ - first);
      if (narrows_) {
        narrow(addresses.at(source_) + first, addresses.at<std::uint16_t>(target_) + first, count);
      } else {
        widen(addresses.at<std::uint16_t>(source_) + first, addresses.at(target_) + first, count);
      }
    });
    return base::ok();
  }

 private:
  Operand source_, target_;
  bool narrows_;
  std::int64_t count_;
  int threads_;
};

bool is_one_block(const Operand& source, const Operand& target) {
  return source.type.dtype != target.type.dtype &&
         same_layout(source.layout, target.layout, source.shape()) &&
         is_dense(source.layout, source.shape());
}

}  // namespace

base::Status add_rounding(PlanBuilder& builder, const Operand& source, const Operand& target) {
  if (!is_one_block(source, target)) {
    const auto rank = source.type.rank();
    if (rank < 1 || rank > 6) return base::unsupported("a reorder of too many axes");
    return guarded([&] { return add_onednn_reorder(builder, source, target); });
  }
  const Operand touched[] = {source, target};
  builder.add(std::make_unique<RoundStep>(source, target, builder.threads()), touched, "reorder",
              target.type.dtype == ir::DType::kBF16 ? "own:round" : "own:widen");
  return base::ok();
}

base::Status round_now(PlanBuilder& builder, const Operand& source, const Operand& target) {
  EGRET_CHECK(is_one_block(source, target), "weights to be rounded are laid out first");
  RoundStep step(source, target, builder.threads());
  return builder.run_now(step);
}

}  // namespace egret::backends::cpu
