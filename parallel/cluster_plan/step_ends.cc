// SPDX-License-Identifier: Apache-2.0
// What follows the last backward pass of a rank: sums of gradients, and updates.
#include <algorithm>

#include "parallel/cluster_plan/stage_prices.h"
#include "parallel/transformer/stage_transfer.h"
#include "parallel/transformer/training_memory.h"

namespace egret::parallel {

double StagePrices::end_of_step_s(const PlanFrame& frame, const RankPrice& rank, bool open) const {
  const PlanFrame own = frame.of_stage(0);
  const Accelerator& device =
      system_.pools.size() < 2 ? system_.accelerator : system_.pools[pool_of(frame, 0)].accelerator;
  double seconds = device.host_seconds_per_step;
  if (model_.frozen) return seconds;
  const Fabric& fabric = system_.fabric;
  const auto gradient = static_cast<double>(model_.gradient_bytes);
  if (shares_weights(own)) {
    const bool block = exchanges_block(frame, 0);
    if (model_.overlap_gradients && model_.wide_resnet > 0) {
      const double all =
          exchange(own,
                   frame.zero >= 1 ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                   gradient, rank.parameters, 0)
              .seconds;
      seconds += std::max(0.0, all - rank.backward.seconds());
    } else if (block || model_.overlap_gradients || frame.zero >= 2) {
      const ExchangePrices each = exchanges(frame, 0);
      const double all = each.embedding_gradients_s +
                         ExchangePrices::of(each.layer_gradients_s, rank.layers_by_kind);
      const double first =
          each.layer_gradients_s.of(model_.kind_of(0)) + each.embedding_gradients_s;
      // Where they block, the backward passes include all other layers' exchanges.
      seconds += block ? first : std::max(first, all - rank.backward.seconds());
    } else {
      seconds +=
          exchange(own,
                   frame.zero >= 1 ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                   gradient, rank.parameters, rank.expert_parameters)
              .seconds;
    }
  }
  if (frame.pipeline > 1 && model_.is_tied() && !frame.two_directions()) {
    const StageDegrees ends[] = {frame.stage(0), frame.stage(open ? 0 : frame.pipeline - 1)};
    // The end with fewer tensor ranks has more on a device.
    const double elements =
        blocks(frame, 0).embedding.parameters *
        std::max(1.0, static_cast<double>(ends[0].tensor) / static_cast<double>(ends[1].tensor));
    seconds +=
        fabric.transfer(gradient * elements, stage_distance(fabric, ends[0], ends[1])).seconds();
  }
  const std::int64_t devices = open ? own.tensor * own.context * own.data : frame.devices();
  if (devices > 1)
    seconds += fabric.collective(CollectiveKind::kAllReduce, 4, {devices, 1}).seconds();
  return seconds + update_s(own, device, rank);
}

double StagePrices::later_end_s(const PlanFrame& frame, const RankPrice& rank,
                                std::int64_t index) const {
  if (model_.frozen) return 0;
  const PlanFrame own = frame.of_stage(index);
  const Accelerator& device = system_.pools.size() < 2
                                  ? system_.accelerator
                                  : system_.pools[pool_of(frame, index)].accelerator;
  double seconds = update_s(own, device, rank);
  if (frame.zero >= 2 || !shares_weights(own)) return seconds;
  const double all =
      exchange(own, frame.zero == 1 ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
               static_cast<double>(model_.gradient_bytes), rank.parameters, rank.expert_parameters)
          .seconds;
  if (!model_.overlap_gradients) return seconds + all;
  if (model_.wide_resnet > 0) seconds += std::max(0.0, all - rank.backward.seconds());
  return seconds;
}

double StagePrices::update_s(const PlanFrame& own, const Accelerator& device,
                             const RankPrice& rank) const {
  const auto gradient = static_cast<double>(model_.gradient_bytes);
  double seconds = 0;
  const double part = own.zero >= 1 ? divided_parameters(own, rank) : rank.parameters;
  if (offloads_optimizer(own.offload)) {
    // Where weights are on the host, their gradients are there, too.
    if (!offloads_weights(own.offload)) seconds += part * (gradient + 2) / options_.host_bandwidth;
    seconds += host_update_s(model_, options_, own.offload, part);
  } else {
    const double bytes =
        model_.wide_resnet > 0 ? gradient + 2 * model_.weight_bytes() + 8 : 2 * gradient + 26;
    seconds += part * bytes / (device.bytes_per_second * device.memory_efficiency);
  }
  if (own.zero >= 1 && own.zero < 3 && own.copies() > 1) {
    seconds += exchange(own, CollectiveKind::kAllGather, model_.weight_bytes(), rank.parameters,
                        rank.expert_parameters)
                   .seconds;
  }
  return seconds;
}

double StagePrices::weight_copies_s(const PlanFrame& own, const RankPrice& rank) const {
  if (!offloads_weights(own.offload)) return 0;
  const double part = own.zero >= 3 ? divided_parameters(own, rank) : rank.parameters;
  const double bytes =
      std::max(2 * model_.weight_bytes(), static_cast<double>(model_.gradient_bytes));
  return part * bytes / options_.bandwidth_to(own.offload);
}

}  // namespace egret::parallel
