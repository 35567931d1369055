// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/stage_transfer.h"

#include <algorithm>

#include "parallel/transformer/wide_resnet.h"

namespace egret::parallel {
namespace {

// Of a replica's micro-batch, on one context rank: what its tensor ranks have together.
double activation_bytes(const TrainingSetup& setup, std::int64_t layers) {
  if (setup.wide_resnet > 0) return residual_bytes(setup, layers);
  return 2 * static_cast<double>(setup.micro_batch) * static_cast<double>(setup.sequence) *
         static_cast<double>(setup.hidden) / static_cast<double>(setup.context);
}

// Of PARTS_B equal parts of a line, those that one of PARTS_A equal parts meets at most.
std::int64_t met(std::int64_t parts_a, std::int64_t parts_b) {
  if (parts_a % parts_b == 0) return 1;
  return parts_b % parts_a == 0 ? parts_b / parts_a : (parts_b + parts_a - 1) / parts_a + 1;
}

CollectiveTime transfer(const System& system, const TrainingSetup& from, const TrainingSetup& to,
                        std::int64_t distance, std::int64_t layers) {
  const double whole = activation_bytes(to, layers);
  const double bytes = std::max(activation_bytes(from, layers) / static_cast<double>(from.tensor),
                                whole / static_cast<double>(to.tensor));
  CollectiveTime time = system.fabric.transfer(bytes, distance);
  const std::int64_t tokens_from = from.context * from.tensor, tokens_to = to.context * to.tensor;
  const std::int64_t messages = std::max(met(from.data, to.data) * met(tokens_from, tokens_to),
                                         met(to.data, from.data) * met(tokens_to, tokens_from));
  time.latency_s *= static_cast<double>(messages);
  time.latency_s += receiver_gather_s(system, to, layers);
  return time;
}

}  // namespace

double receiver_gather_s(const System& system, const TrainingSetup& setup, std::int64_t layers) {
  if (setup.sequence_parallel || setup.tensor == 1) return 0;
  return system.fabric
      .collective(CollectiveKind::kAllGather, activation_bytes(setup, layers), {setup.tensor, 1})
      .seconds();
}

CollectiveTime equal_transfer(const System& system, const TrainingSetup& setup,
                              std::int64_t distance, std::int64_t layers) {
  return transfer(system, setup, setup, distance, layers);
}

CollectiveTime stage_transfer(const System& system, const TrainingSetup& setup, std::int64_t from,
                              std::int64_t to, std::int64_t layers) {
  if (!setup.has_unlike_stages()) {
    StageDegrees sender{setup.tensor, setup.context, setup.data, 0}, receiver = sender;
    sender.first_device = from * sender.devices();
    receiver.first_device = to * receiver.devices();
    return equal_transfer(system, setup, stage_distance(system.fabric, sender, receiver), layers);
  }
  const std::vector<StageDegrees> stages = setup.stages();
  const StageDegrees &sender = stages[static_cast<std::size_t>(from)],
                     &receiver = stages[static_cast<std::size_t>(to)];
  return transfer(system, setup.of_stage(sender), setup.of_stage(receiver),
                  stage_distance(system.fabric, sender, receiver), layers);
}

std::int64_t stage_distance(const Fabric& fabric, const StageDegrees& a, const StageDegrees& b) {
  const std::int64_t first = std::min(a.first_device, b.first_device);
  const std::int64_t last =
      std::max(a.first_device + a.devices(), b.first_device + b.devices()) - 1;
  std::int64_t distance = 1;
  for (const Tier& tier : fabric.tiers) {
    if (tier.devices == 0 || first / tier.devices == last / tier.devices) break;
    distance = tier.devices;
  }
  return distance;
}

}  // namespace egret::parallel
