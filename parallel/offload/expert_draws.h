// SPDX-License-Identifier: Apache-2.0
// The experts that tokens go to. Each token takes different experts one after another, each in
// proportion to its popularity among those that are left.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "parallel/offload/generation_setup.h"

namespace egret::parallel {

struct ExpertDraw {
  double weight = 0;           // of all draws together 1
  std::vector<double> tokens;  // by expert
};

// All outcomes with their probabilities for one token, if there are at most kMostOutcomes;
// otherwise kSamples random ones, the same in each run.
inline constexpr std::int64_t kMostOutcomes = 20'000;
inline constexpr std::int64_t kSamples = 64;
// Of more tokens, so many are drawn, and the rest is divided as they are.
inline constexpr std::int64_t kMostDrawn = 8192;
std::vector<ExpertDraw> expert_draws(const std::vector<double>& popularity, std::int64_t choices,
                                     std::int64_t tokens);

// By layer and expert, each layer's sum is 1. From the lines of a file (GenerationSetup), or from
// Zipf's law. Errors: bad_input, for a file of another form.
base::Result<std::vector<std::vector<double>>> expert_popularity(const GenerationSetup& setup);
base::Result<std::vector<std::vector<double>>> parse_popularity(std::string_view text,
                                                                const GenerationSetup& setup);

}  // namespace egret::parallel
