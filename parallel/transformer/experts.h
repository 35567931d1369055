// SPDX-License-Identifier: Apache-2.0
// How the tokens of a micro-batch are divided among the experts of a layer.
//
// Each token goes to its top_k experts. The popularity of experts follows Zipf's law: the i-th most
// popular one is chosen (i + 1)^-skew times as often as the first, but never twice by one token.
// The experts of a layer are dealt to the ranks of an expert group one by one, in that order.
//
// With a capacity factor c, an expert takes ceil(c k t / n) of the t tokens of each device, and its
// places are computed and sent whether they are filled or not (Lepikhin et al., "GShard", 2020).
// Tokens beyond are dropped. Without, nothing is dropped, and the fullest rank sets the pace.
#pragma once

#include <vector>

#include "parallel/system/fabric.h"
#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

// Tokens that one device routes in a micro-batch: its part of the sequence.
double routed_tokens(const TrainingSetup& setup);

// Of choices, whether an expert has a place for them or not.
struct ExpertLoads {
  std::vector<double> by_expert;  // relative to their mean, descending
  std::vector<double> by_rank;    // of a group: those of its experts, relative to their mean
  double fullest() const;         // of by_rank
  double dropped = 0;             // part of the choices that no expert has a place for
};
// O(experts).
ExpertLoads expert_loads(const TrainingSetup& setup);

// Of one layer and one micro-batch, on one device.
struct ExpertRows {
  double sent = 0;        // tokens and empty places that it sends to experts, itself included
  double received = 0;    // without a capacity, by the rank that receives most
  double computed = 0;    // tokens of all of its experts, of which tensor ranks compute a part each
  double per_expert = 0;  // of these, of one expert
};
ExpertRows expert_rows(const TrainingSetup& setup);
// Whether a device has several experts, whose rows come from several ranks.
bool sorts_expert_rows(const TrainingSetup& setup);

// Bytes that a device receives, of itself too, in one exchange of tokens with the group's experts,
// as Fabric::collective() counts them for all-to-all. Without a capacity, the fullest rank's. 0 if
// each rank has all experts.
double expert_exchange_bytes(const TrainingSetup& setup);
// Of a micro-batch: there and back in the forward and the backward pass, and again where the layer
// is recomputed in full.
double expert_exchanges(Recompute recompute);

// The ranks that exchange tokens, and those that hold the same experts in so many copies of all
// other weights.
RankGroup expert_group(const TrainingSetup& setup);
RankGroup expert_data_group(const TrainingSetup& setup, std::int64_t copies);

// Of equal places that divide the experts, those that a token is expected to go to. It chooses
// different experts, each as likely. O(choices).
double distinct_places(double places, double experts, double choices);

// The time of one exchange, by the algorithm of the setup.
double expert_exchange_s(const Fabric& fabric, const TrainingSetup& setup);

}  // namespace egret::parallel
