// SPDX-License-Identifier: Apache-2.0
// The activations of a micro-batch on their way from a pipeline rank to a neighbour, whose degrees
// may be others.
//
// Only a Wide-ResNet's differ from layer to layer. The activations of B bytes are a table of
// sequences and their tokens. Data-parallel replicas divide the sequences, context and tensor ranks
// the tokens (Narayanan et al., 2021, section 4.1: tensor ranks hold copies, so each sends its
// part, and the receivers gather them unless they compute on parts). So each of n devices has a
// block of B / n bytes. A device sends a message to each device whose block meets its own, one
// after the other. The side with fewer devices moves more bytes a device, and takes longer.
#pragma once

#include "parallel/system/system.h"
#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

// Of a setup's stages() from rank FROM to rank TO, between which LAYERS layers of the model end.
// The gathering is part of the latency.
CollectiveTime stage_transfer(const System& system, const TrainingSetup& setup, std::int64_t from,
                              std::int64_t to, std::int64_t layers);
// The same where both ranks have the degrees of SETUP, and are DISTANCE devices apart.
CollectiveTime equal_transfer(const System& system, const TrainingSetup& setup,
                              std::int64_t distance, std::int64_t layers);
// The part of a message that depends on the receiver alone, which has the degrees of SETUP.
double receiver_gather_s(const System& system, const TrainingSetup& setup, std::int64_t layers);
// For Fabric::transfer(): a distance at which the devices of both use the innermost tier that holds
// all of them.
std::int64_t stage_distance(const Fabric& fabric, const StageDegrees& a, const StageDegrees& b);

}  // namespace egret::parallel
