// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/perturbation.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/hash.h"
#include "base/system/thread_pool.h"
#include "ir/evaluate/lane_memory.h"

namespace egret::ir {

// How many rounded operations an element of the result may accumulate: the product of the extents
// of nested sums, along the path with the most. Perturbations grow with its square root, as
// independent rounding errors do.
double rounded_terms(const LoopNest& nest) {
  // Operands come before operators; reductions inside of indices and guards round no result.
  std::vector<double> terms(nest.nodes.size(), 0);
  for (std::size_t id = 0; id < nest.nodes.size(); ++id) {
    const NestNode& node = nest.nodes[id];
    double& own = terms[id];
    for (const int kid : node.kids) own = std::max(own, terms[static_cast<std::size_t>(kid)]);
    if (!node.is_real()) continue;
    const bool folds = node.op == ExprOp::kReduce &&
                       (node.reduction == Reduction::kSum || node.reduction == Reduction::kProd);
    const bool computes = node.op == ExprOp::kAdd || node.op == ExprOp::kSub ||
                          node.op == ExprOp::kMul || node.op == ExprOp::kDiv ||
                          node.op == ExprOp::kCall || folds;
    if (computes) own = std::max(own, 1.0);
    if (!folds) continue;
    for (const int v : node.variables) own *= static_cast<double>(nest.extent(v));
  }
  return terms[static_cast<std::size_t>(nest.root)];
}

namespace {

// Relative changes, uniform within `width`, from a hash of the element's position: the result does
// not depend on the number of threads.
template <typename Moves>
void perturb_where(Tensor& tensor, double width, std::uint64_t seed, const Moves& moves) {
  constexpr std::size_t kRun = 1024;
  std::byte* data = tensor.mutable_data().data();
  const DType type = tensor.dtype();
  base::shared_pool().parallel_for(
      static_cast<std::size_t>(tensor.elements()), 32 * kRun,
      [&](std::size_t begin, std::size_t end) {
        double values[kRun];
        for (std::size_t i = begin; i < end; i += kRun) {
          const std::size_t count = std::min(kRun, end - i);
          const auto first = static_cast<std::int64_t>(i);
          load_lanes(type, data, first, 1, static_cast<std::int64_t>(count), values);
          for (std::size_t k = 0; k < count; ++k) {
            const auto bits = static_cast<std::int64_t>(base::mix(seed ^ base::mix(i + k)));
            if (moves(values[k])) values[k] *= 1 + width * (static_cast<double>(bits) * 0x1p-63);
          }
          store_lanes(type, data, first, 1, static_cast<std::int64_t>(count),
                      static_cast<const double*>(values));
        }
      });
}

// Of 8 binary digits at most: the first is implied, 45 of the other 52 are 0.
bool is_short(double value) {
  return (std::bit_cast<std::uint64_t>(value) & ((std::uint64_t{1} << 45) - 1)) == 0;
}

}  // namespace

void perturb(Tensor& tensor, double width, std::uint64_t seed) {
  perturb_where(tensor, width, seed, [](double) { return true; });
}

void perturb_rounded(Tensor& tensor, double width, std::uint64_t seed) {
  perturb_where(tensor, width, seed, [](double value) { return !is_short(value); });
}

}  // namespace egret::ir
