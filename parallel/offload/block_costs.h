// SPDX-License-Identifier: Apache-2.0
// The costs of a block of batches as linear functions of where values live.
//
// A block of K batches of B sequences passes a layer together, so the weights of a layer are loaded
// once for the block (Sheng et al., "FlexGen", 2023, section 4.2). While a layer is computed, the
// weights of the next one are loaded, and each batch's caches and activations are loaded and stored
// beside the computation of the batches next to it. So a pass over all layers takes at least the
// time of each resource, which is linear in the fractions of weights, caches and activations on the
// accelerator, in the memory of the host and on its disk. The chain is the time of one batch alone:
// each layer waits for its own layer before.
//
// Decoding is priced at the mean length of the cache, as in that paper.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "parallel/offload/generation_setup.h"
#include "parallel/system/host.h"

namespace egret::parallel {

enum class Place : unsigned char { kDevice, kHost, kDisk };
enum class Value : unsigned char { kWeights, kCache, kActivations };
inline constexpr std::array<std::string_view, 3> kPlaceNames = {"accelerator", "host", "disk"};
inline constexpr std::array<std::string_view, 3> kValueNames = {"weights", "cache", "activations"};
inline constexpr std::array<Place, 3> kPlaces = {Place::kDevice, Place::kHost, Place::kDisk};
inline constexpr std::array<Value, 3> kValues = {Value::kWeights, Value::kCache,
                                                 Value::kActivations};

enum class Resource : unsigned char { kUp, kDown, kRead, kWrite, kDevice, kCores, kChain };
inline constexpr std::array<std::string_view, 7> kResourceNames = {
    "host to accelerator", "accelerator to host", "disk reads",        "disk writes",
    "accelerator",         "cores of the host",   "one batch's layers"};

inline constexpr std::size_t index_of(Value value, Place place) {
  return static_cast<std::size_t>(value) * 3 + static_cast<std::size_t>(place);
}

// Of each value, the parts by place; they sum to 1.
struct Fractions {
  std::array<double, 9> parts = {};

  double& at(Value value, Place place) { return parts[index_of(value, place)]; }
  double at(Value value, Place place) const { return parts[index_of(value, place)]; }
  void set(Value value, double device, double host, double disk);
};

struct LinearForm {
  double constant = 0;
  std::array<double, 9> factors = {};

  void add(Value value, Place place, double factor) { factors[index_of(value, place)] += factor; }
  // Of all that is not on the accelerator.
  void add_away(Value value, double factor) {
    add(value, Place::kHost, factor);
    add(value, Place::kDisk, factor);
  }
  void add(const LinearForm& other, double times = 1);
  double at(const Fractions& fractions) const;
};
using ResourceForms = std::array<LinearForm, kResourceNames.size()>;

struct BlockChoice {
  std::int64_t batch = 1;    // sequences that are computed at a time
  std::int64_t batches = 1;  // of the block
  bool cpu_attention = false;
  bool overlaps = true;  // loads and stores run beside computation

  std::int64_t sequences() const { return batch * batches; }
  friend bool operator==(const BlockChoice&, const BlockChoice&) = default;
};

// Bytes and rates that forms, placements and simulation share.
struct BlockSizes {
  double layer_bytes = 0, head_bytes = 0;      // of weights as stored
  double table_bytes = 0;                      // of an embedding that is not the output layer
  double cache_token_bytes = 0;                // of one token in one layer, as stored
  double token_bytes = 0;                      // of an activation of one token
  double query_bytes = 0, attended_bytes = 0;  // sent for attention on the cores, of one token
  double prompt = 0, mean_context = 0, longest_context = 0;

  BlockSizes(const GenerationSetup& setup);  // NOLINT: implicit on purpose
};

struct MemoryRow {
  Place place;
  LinearForm bytes{};
  double limit = 0;
  // Part of bytes: buffers of weights, if all of them pass through this place.
  double staged_bytes = 0;
};

struct BlockCosts {
  // Seconds of all batches in one layer, and in embedding and output layer; of kChain, of one
  // batch.
  ResourceForms prefill_layer, prefill_head, decode_layer, decode_head;
  std::vector<MemoryRow> memory;
  std::int64_t layers = 0;
  double decode_steps = 0;  // after the prefill, which yields the first token

  // Of a pass over all layers.
  LinearForm prefill(Resource resource) const;
  LinearForm decode(Resource resource) const;
  // The time of the block, if each pass takes as long as its slowest resource.
  double seconds(const Fractions& fractions) const;
  bool fits(const Fractions& fractions) const;
  double peak_bytes(Place place, const Fractions& fractions) const;
};

// SYSTEM has a host.
BlockCosts block_costs(const HostedSystem& system, const GenerationSetup& setup,
                       const BlockChoice& choice);

}  // namespace egret::parallel
