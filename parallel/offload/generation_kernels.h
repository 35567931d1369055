// SPDX-License-Identifier: Apache-2.0
// The times of a layer's kernels in generation, on the accelerator and on the cores of the host.
//
// The prefill has the kernels of a forward pass (parallel/transformer/transformer_kernels.h). In
// decoding, each sequence has one new token, so products have few rows, and attention reads the
// whole cache.
#pragma once

#include <cstdint>

#include "parallel/offload/generation_setup.h"
#include "parallel/system/host.h"

namespace egret::parallel {

// Seconds on the accelerator of a layer over the prompts of BATCH sequences.
double prefill_layer_s(const HostedSystem& system, const GenerationSetup& setup,
                       std::int64_t batch);

// Seconds on the accelerator of one token of BATCH sequences, without attention: up to queries,
// keys and values, and from the attended values on.
struct DecodeParts {
  double before_s = 0, after_s = 0;
};
DecodeParts decode_layer_s(const HostedSystem& system, const GenerationSetup& setup,
                           std::int64_t batch, bool feed_forward = true);
// The prefill of a layer without its feed-forward products.
double prefill_attention_s(const HostedSystem& system, const GenerationSetup& setup,
                           std::int64_t batch);

// One token's attention of SEQUENCES over a cache of CONTEXT tokens: on the accelerator, and on
// the cores.
double attention_s(const HostedSystem& system, const GenerationSetup& setup, double sequences,
                   double context);
double host_attention_s(const HostedSystem& system, const GenerationSetup& setup, double sequences,
                        double context);
// The least that attention_s() adds for each sequence: its bytes or its operations.
double least_attention_s(const HostedSystem& system, const GenerationSetup& setup, double context);

// The embedding of TOKENS, and the output layer for the last token of BATCH sequences.
double head_s(const HostedSystem& system, const GenerationSetup& setup, std::int64_t batch,
              double tokens);

// NUMBERS in groups of four bits are read and written in 16 bits, or the other way.
double unpacking_s(const HostedSystem& system, double numbers);

// A gated or plain expert (or feed-forward layer) of FFN rows over TOKENS: on the accelerator, and
// on the cores.
double expert_s(const HostedSystem& system, const GenerationSetup& setup, double tokens);
double host_expert_s(const HostedSystem& system, const GenerationSetup& setup, double tokens);

}  // namespace egret::parallel
