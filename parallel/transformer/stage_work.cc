// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/stage_work.h"

#include "parallel/transformer/experts.h"
#include "parallel/transformer/stage_costs.h"
#include "parallel/transformer/training_memory.h"
#include "parallel/transformer/transformer_kernels.h"

namespace egret::parallel {

std::vector<ChunkWork> chunk_work(const System& system, const TrainingSetup& setup) {
  std::vector<ChunkWork> result;
  for (const StageCosts& costs : stage_costs(system, setup, /*by_layer=*/false)) {
    const StagePiece& piece = costs.pieces.front();
    result.push_back({.layers = costs.layers,
                      .forward = piece.forward,
                      .backward = piece.backward,
                      .inputs = piece.inputs,
                      .weights = piece.weights,
                      .parameters = costs.parameters,
                      .expert_parameters = costs.expert_parameters,
                      .kept_bytes = costs.kept_bytes,
                      .workspace_bytes = costs.workspace_bytes});
  }
  return result;
}

EndOfStep end_of_step(const System& system, const TrainingSetup& setup, double parameters,
                      double expert_parameters, std::int64_t zero) {
  EndOfStep end;
  end.optimizer_s = system.accelerator.host_seconds_per_step;
  if (setup.frozen) return end;
  // Both directions of DualPipe have a copy.
  const std::int64_t directions = setup.schedule == PipelineKind::kDualPipe ? 2 : 1;
  const RankGroup group{setup.data * setup.context * directions, setup.tensor};
  const auto element = static_cast<double>(setup.gradient_bytes);
  const Fabric& fabric = system.fabric;
  for (const auto& [count, ranks] : {std::pair(parameters - expert_parameters, group),
                                     {expert_parameters, expert_data_group(setup, group.size)}}) {
    if (count <= 0) continue;
    if (setup.distributed_optimizer) {
      if (zero < 2) {
        end.exchange_s +=
            fabric.collective(CollectiveKind::kReduceScatter, element * count, ranks).seconds();
      }
      if (zero < 3) {
        end.exchange_s +=
            fabric.collective(CollectiveKind::kAllGather, setup.weight_bytes() * count, ranks)
                .seconds();
      }
    } else {
      end.exchange_s +=
          fabric.collective(CollectiveKind::kAllReduce, element * count, ranks).seconds();
    }
  }
  if (setup.is_tied() && setup.pipeline > 1 && directions == 1) {
    const std::int64_t far = setup.devices() - setup.devices() / setup.pipeline;
    end.tied_s =
        fabric
            .collective(CollectiveKind::kAllReduce,
                        setup.embedding_parameters() * static_cast<double>(setup.gradient_bytes),
                        {2, far})
            .seconds();
  }
  const double updated = setup.distributed_optimizer
                             ? divided_parameters(setup, parameters, expert_parameters, group.size)
                             : parameters;
  end.optimizer_s += optimizer_step(system, setup, updated).time().device_s;
  return end;
}

}  // namespace egret::parallel
