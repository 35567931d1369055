// SPDX-License-Identifier: Apache-2.0
#include "parallel/offload/offload_rules.h"

#include <algorithm>

namespace egret::parallel {
namespace {

bool has_disk(const HostedSystem& system) { return system.host->disk_bytes > 0; }

std::vector<RuleCandidate> on_accelerator(const HostedSystem& /*system*/,
                                          const GenerationSetup& setup, std::int64_t batch) {
  const BlockChoice choice{.batch = batch};
  return {{choice, layers_in_order(setup, choice, setup.layers + 1, 0)}};
}

std::vector<RuleCandidate> zero_inference(const HostedSystem& system, const GenerationSetup& setup,
                                          std::int64_t batch) {
  const BlockChoice choice{.batch = batch};
  const WholePlacement on_host = layers_in_order(setup, choice, 0, setup.layers + 1);
  const BlockCosts costs = block_costs(system, setup, choice);
  // The host alone decides where the weights are.
  if (!has_disk(system) || peak_bytes(costs, on_host, Place::kHost) <= system.host->usable_bytes())
    return {{choice, on_host}};
  return {{choice, layers_in_order(setup, choice, 0, 0)}};
}

std::vector<RuleCandidate> accelerate(const HostedSystem& system, const GenerationSetup& setup,
                                      std::int64_t batch) {
  const BlockChoice choice{.batch = batch, .overlaps = false};
  const BlockCosts costs = block_costs(system, setup, choice);
  const auto least = [&](std::int64_t most, auto&& fits_with) {
    std::int64_t low = -1, high = most;  // as many as fit
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      if (fits_with(middle)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  };
  const std::int64_t all = setup.layers + 1;
  const double device = system.accelerator.memory_bytes - system.accelerator.reserved_bytes;
  const std::int64_t layers = least(all, [&](std::int64_t count) {
    return peak_bytes(costs, layers_in_order(setup, choice, count, all - count), Place::kDevice) <=
           device;
  });
  if (layers < 0) return {};
  std::int64_t host = all - layers;
  if (has_disk(system)) {
    host = least(all - layers, [&](std::int64_t count) {
      return peak_bytes(costs, layers_in_order(setup, choice, layers, count), Place::kHost) <=
             system.host->usable_bytes();
    });
    if (host < 0) return {};
  }
  return {{choice, layers_in_order(setup, choice, layers, host)}};
}

std::vector<RuleCandidate> on_host(const HostedSystem& system, const GenerationSetup& setup,
                                   std::int64_t batch) {
  std::vector<RuleCandidate> candidates;
  Fractions fractions;
  for (const Value value : kValues) fractions.set(value, 0, 1, 0);
  for (const std::int64_t batches : {1, 2, 4, 8, 16}) {
    const BlockChoice choice{
        .batch = batch, .batches = batches, .cpu_attention = !setup.compresses_cache()};
    const BlockCosts costs = block_costs(system, setup, choice);
    if (auto placement = round_placement(costs, setup, choice, fractions, /*has_disk=*/false))
      candidates.push_back({choice, *std::move(placement)});
  }
  return candidates;
}

}  // namespace

std::span<const RuleRow> offload_rules() {
  static constexpr RuleRow kRules[] = {
      {"accelerator", "everything on the accelerator", &on_accelerator},
      {"zero-inference", "weights on the host or its disk, the rest on the accelerator",
       &zero_inference},
      {"accelerate", "whole layers in order, loaded when they are computed", &accelerate},
      {"host", "everything on the host, attention on its cores", &on_host}};
  return kRules;
}

}  // namespace egret::parallel
