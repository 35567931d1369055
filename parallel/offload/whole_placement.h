// SPDX-License-Identifier: Apache-2.0
// Fractions as a placement that a program can carry out: each weight tensor of each layer has one
// place, and so have the cache and the activations of each sequence of a block.
//
// Tensors are dealt to places layer by layer, to the place that is furthest behind its fraction. So
// all layers load about as much, and a load fits behind the computation of a layer. Room that is
// left is filled with tensors of the layers that load most.
//
// Invariants: each layer's bytes sum to those of its tensors; the sequences of each value sum to
// those of the block; no place holds more than its memory (round_placement() only).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "parallel/offload/block_costs.h"

namespace egret::parallel {

struct WholePlacement {
  // Stored bytes of weights by layer and place; the last one is the output layer.
  std::vector<std::array<double, 3>> layers;
  // The place of each tensor by layer; the last one is the output layer, which is one tensor.
  std::vector<std::vector<Place>> places;
  std::array<std::int64_t, 3> tensors = {};                  // by place
  std::array<std::int64_t, 3> cache = {}, activations = {};  // sequences by place

  Fractions fractions() const;
  // Of the weights of one layer.
  Fractions fractions(std::size_t layer) const;
};

// Of the sequences of a block, those with this place in each batch, as even as possible.
// O(1): what lies before batch K + 1 less what lies before K.
std::int64_t sequences_of_batch(std::int64_t sequences, std::int64_t batches, std::int64_t batch);

// Nothing where no rounding fits. FILLS: also beyond the given fractions of weights.
std::optional<WholePlacement> round_placement(const BlockCosts& costs, const GenerationSetup& setup,
                                              const BlockChoice& choice, const Fractions& fractions,
                                              bool has_disk, bool fills = false);
// The first tensors on the accelerator, the next ones on the host, the rest on the disk: whole
// LAYERS on the accelerator and HOST_LAYERS on the host; the output layer with the last ones.
WholePlacement layers_in_order(const GenerationSetup& setup, const BlockChoice& choice,
                               std::int64_t layers, std::int64_t host_layers);

double peak_bytes(const BlockCosts& costs, const WholePlacement& placement, Place place);
bool fits(const BlockCosts& costs, const WholePlacement& placement);
// FlexGen's price of a layer, summed: while a layer is computed, the next one's weights are loaded,
// and it takes as long as its slowest resource.
double priced_s(const BlockCosts& costs, const WholePlacement& placement);

}  // namespace egret::parallel
