// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/segment_lists.h"

#include <algorithm>

namespace egret::parallel {
namespace {

constexpr double kElement = 2;  // bytes of a weight

// Kernels of the core that make gradients have their values' names with a prime.
bool is_of_core(const GraphKernel& kernel, const std::vector<std::string>& core) {
  return std::ranges::any_of(kernel.makes, [&](std::string name) {
    if (name.ends_with('\'')) name.pop_back();
    return std::ranges::find(core, name) != core.end();
  });
}

// Products without weights are those of attention.
void append(KernelList& list, const GraphKernel& kernel, const char* name, bool has_weights,
            double part) {
  if (!kernel.is_product()) {
    list.memory("pointwise kernel", kernel.bytes);
  } else if (has_weights) {
    list.matmul(name, kernel.batch, kernel.m, kernel.n, kernel.k);
  } else {
    list.attention_matmul(name, kernel.batch, kernel.m, kernel.n, kernel.k, part);
  }
}

}  // namespace

void segment_forward(KernelList& list, const TrainingSetup& setup, const SegmentKernels& segment,
                     SegmentPart part) {
  for (const GraphKernel& kernel : segment.kernels.forward) {
    const bool of_core = is_of_core(kernel, segment.core);
    if (part == SegmentPart::kCore && !of_core) continue;
    const bool flash = setup.flash_attention && of_core;
    if (flash && !kernel.is_product()) continue;
    append(list, kernel, "product", kernel.reads_parameters, flash ? 0.5 : 1);
  }
}

void segment_backward(KernelList& list, const TrainingSetup& setup, const SegmentKernels& segment,
                      SegmentPart part) {
  if (setup.flash_attention) {
    // The scores again: the products before the first other kernel of the core.
    for (const GraphKernel& kernel : segment.kernels.forward) {
      if (!is_of_core(kernel, segment.core)) continue;
      if (!kernel.is_product()) break;
      append(list, kernel, "product", kernel.reads_parameters, 0.5);
    }
  }
  for (const GraphKernel& kernel : segment.kernels.backward) {
    const bool makes_weights =
        !kernel.makes.empty() && std::ranges::all_of(kernel.makes, [&](const std::string& name) {
          return std::ranges::any_of(
              segment.weights, [&](const std::string& weight) { return name == weight + "'"; });
        });
    if (makes_weights && setup.frozen) continue;
    const bool has_weights = kernel.reads_parameters || makes_weights;
    const bool of_core = is_of_core(kernel, segment.core) || (kernel.is_product() && !has_weights);
    if (part == SegmentPart::kCore && !of_core) continue;
    const bool flash = setup.flash_attention && of_core;
    if (flash && !kernel.is_product()) continue;
    append(list, kernel, makes_weights && kernel.is_product() ? "product' weight" : "product'",
           has_weights, flash ? 0.5 : 1);
  }
  if (part == SegmentPart::kCore || setup.frozen || segment.weight_elements == 0) return;
  list.memory("sum of gradients",
              segment.weight_elements * (kElement + 2 * static_cast<double>(setup.gradient_bytes)));
}

}  // namespace egret::parallel
