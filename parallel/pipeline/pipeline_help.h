// SPDX-License-Identifier: Apache-2.0
// The meaning of options that several verbs have.
#pragma once

namespace egret::parallel {

inline constexpr const char* kPipelineStagesHelp =
    "Stages of a pipeline of ranks into which the step is cut";
inline constexpr const char* kStageRanksHelp =
    "Ranks that share the stages of each rank of the pipeline: one number, or one for each, as 1,2";
inline constexpr const char* kMicroBatchesHelp =
    "Equal parts of a replica's samples, which follow each other through the pipeline";
inline constexpr const char* kReplicasHelp =
    "Pipelines that share the batch and sum their gradients";

}  // namespace egret::parallel
