// SPDX-License-Identifier: Apache-2.0
#include "parallel/offload/whole_placement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace egret::parallel {
namespace {

constexpr int kMostTries = 200;
constexpr int kMostFills = 64;

// Stored bytes of the tensors of a layer: queries, keys and values (with what is small), the
// projection, the feed-forward products.
std::vector<double> tensor_bytes(const GenerationSetup& setup) {
  const TrainingSetup model = setup.as_training(1);
  const double number = setup.compresses_weights() ? kPackedBytes : kFullBytes;
  const auto hidden = static_cast<double>(setup.hidden);
  const auto ffn = static_cast<double>(model.ffn_size());
  std::vector<double> bytes = {0, setup.query_elements() * hidden * number, hidden * ffn * number,
                               hidden * ffn * number};
  if (setup.gated) bytes.push_back(hidden * ffn * number);
  bytes[0] = BlockSizes(setup).layer_bytes - std::accumulate(bytes.begin(), bytes.end(), 0.0);
  return bytes;
}

class Dealer {
 public:
  explicit Dealer(const std::array<double, 3>& parts) : parts_(parts) {}

  std::size_t place_of(double bytes) {
    all_ += bytes;
    std::size_t best = 0;
    double lag = -1e300;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      if (parts_[p] <= 0) continue;
      const double behind = parts_[p] * all_ - dealt_[p];
      if (behind > lag * (1 + 1e-12) + 1e-6) {
        lag = behind;
        best = p;
      }
    }
    dealt_[best] += bytes;
    return best;
  }

 private:
  const std::array<double, 3> parts_;
  std::array<double, 3> dealt_ = {};
  double all_ = 0;
};

std::array<std::int64_t, 3> whole_sequences(const Fractions& fractions, Value value,
                                            std::int64_t sequences) {
  const auto whole = [&](Place place) {
    return static_cast<std::int64_t>(
        std::floor(fractions.at(value, place) * static_cast<double>(sequences) + 1e-6));
  };
  std::array<std::int64_t, 3> counts = {whole(Place::kDevice), whole(Place::kHost), 0};
  const std::int64_t left = sequences - counts[0] - counts[1];
  counts[fractions.at(value, Place::kDisk) > 0 ? 2 : 1] += left;
  return counts;
}

WholePlacement dealt(const GenerationSetup& setup, const BlockChoice& choice,
                     const Fractions& fractions) {
  WholePlacement placement;
  const std::vector<double> tensors = tensor_bytes(setup);
  Dealer dealer({fractions.at(Value::kWeights, Place::kDevice),
                 fractions.at(Value::kWeights, Place::kHost),
                 fractions.at(Value::kWeights, Place::kDisk)});
  for (std::int64_t layer = 0; layer <= setup.layers; ++layer) {
    std::array<double, 3>& places = placement.layers.emplace_back();
    std::vector<Place>& of_layer = placement.places.emplace_back();
    const std::vector<double> all =
        layer < setup.layers ? tensors : std::vector<double>{BlockSizes(setup).head_bytes};
    for (const double bytes : all) {
      const std::size_t place = dealer.place_of(bytes);
      places[place] += bytes;
      of_layer.push_back(static_cast<Place>(place));
      ++placement.tensors[place];
    }
  }
  placement.cache = whole_sequences(fractions, Value::kCache, choice.sequences());
  placement.activations = whole_sequences(fractions, Value::kActivations, choice.sequences());
  return placement;
}

// What two layers, one after the other, have elsewhere than on the accelerator (or on the disk).
double staged(const WholePlacement& placement, Place place) {
  const auto elsewhere = [&](std::size_t layer) {
    const auto& bytes = placement.layers[layer];
    return place == Place::kDevice ? bytes[1] + bytes[2] : bytes[2];
  };
  double most = 0;
  for (std::size_t i = 0; i < placement.layers.size(); ++i)
    most = std::max(most, elsewhere(i) + elsewhere((i + 1) % placement.layers.size()));
  return most;
}

double row_bytes(const MemoryRow& row, const WholePlacement& placement,
                 const Fractions& fractions) {
  double bytes = row.bytes.at(fractions);
  if (row.place == Place::kDisk) return bytes;
  const double formal = row.place == Place::kDevice
                            ? 1 - fractions.at(Value::kWeights, Place::kDevice)
                            : fractions.at(Value::kWeights, Place::kDisk);
  return bytes - row.staged_bytes * formal + staged(placement, row.place);
}

// Moves tensors to the accelerator, or from the disk to the host, while there is room: the largest
// that fits of the layer that loads most.
void fill(const BlockCosts& costs, const GenerationSetup& setup, Place to,
          WholePlacement& placement) {
  const std::vector<double> tensors = tensor_bytes(setup);
  const std::vector<double> head = {BlockSizes(setup).head_bytes};
  const auto can_move = [&](Place from) {
    return to == Place::kDevice ? from != Place::kDevice : from == Place::kDisk;
  };
  struct Unit {
    double load, bytes;
    std::size_t layer, tensor;
  };
  for (int moves = 0; moves < kMostFills; ++moves) {
    std::vector<Unit> units;
    for (std::size_t layer = 0; layer < placement.layers.size(); ++layer) {
      const auto& bytes = placement.layers[layer];
      const bool is_head = layer + 1 == placement.layers.size();
      const double load = to == Place::kDevice ? bytes[1] + bytes[2] : bytes[2];
      for (std::size_t t = 0; t < placement.places[layer].size(); ++t) {
        if (can_move(placement.places[layer][t]))
          units.push_back({load, (is_head ? head : tensors)[t], layer, t});
      }
    }
    std::ranges::stable_sort(units, [](const Unit& a, const Unit& b) {
      return a.load != b.load ? a.load > b.load : a.bytes > b.bytes;
    });
    bool moved = false;
    double tried_load = -1, tried_bytes = -1;
    for (const Unit& unit : units) {
      // Another one like the last, which did not fit.
      if (unit.load == tried_load && unit.bytes == tried_bytes) continue;
      tried_load = unit.load;
      tried_bytes = unit.bytes;
      Place& place = placement.places[unit.layer][unit.tensor];
      const Place from = place;
      const auto move = [&](Place source, Place target) {
        placement.layers[unit.layer][static_cast<std::size_t>(source)] -= unit.bytes;
        placement.layers[unit.layer][static_cast<std::size_t>(target)] += unit.bytes;
        --placement.tensors[static_cast<std::size_t>(source)];
        ++placement.tensors[static_cast<std::size_t>(target)];
        place = target;
      };
      move(from, to);
      if (fits(costs, placement)) {
        double& rest = placement.layers[unit.layer][static_cast<std::size_t>(from)];
        if (rest < 1) rest = 0;  // a difference of sums
        moved = true;
        break;
      }
      move(to, from);
    }
    if (!moved) return;
  }
}

}  // namespace

std::int64_t sequences_of_batch(std::int64_t sequences, std::int64_t batches, std::int64_t batch) {
  return sequences * (batch + 1) / batches - sequences * batch / batches;
}

Fractions WholePlacement::fractions() const {
  Fractions result;
  std::array<double, 3> weights = {};
  for (const auto& layer : layers) {
    for (std::size_t p = 0; p < 3; ++p) weights[p] += layer[p];
  }
  const double all = weights[0] + weights[1] + weights[2];
  const auto sequences = static_cast<double>(cache[0] + cache[1] + cache[2]);
  for (const Place place : kPlaces) {
    const auto p = static_cast<std::size_t>(place);
    result.at(Value::kWeights, place) = weights[p] / all;
    result.at(Value::kCache, place) = static_cast<double>(cache[p]) / sequences;
    result.at(Value::kActivations, place) = static_cast<double>(activations[p]) / sequences;
  }
  return result;
}

Fractions WholePlacement::fractions(std::size_t layer) const {
  Fractions result = fractions();
  const auto& bytes = layers[layer];
  const double all = bytes[0] + bytes[1] + bytes[2];
  result.set(Value::kWeights, bytes[0] / all, bytes[1] / all, bytes[2] / all);
  return result;
}

double peak_bytes(const BlockCosts& costs, const WholePlacement& placement, Place place) {
  const Fractions fractions = placement.fractions();
  double peak = 0;
  for (const MemoryRow& row : costs.memory) {
    if (row.place == place) peak = std::max(peak, row_bytes(row, placement, fractions));
  }
  return peak;
}

bool fits(const BlockCosts& costs, const WholePlacement& placement) {
  const Fractions fractions = placement.fractions();
  return std::ranges::all_of(costs.memory, [&](const MemoryRow& row) {
    return row_bytes(row, placement, fractions) <= row.limit * (1 + 1e-12);
  });
}

std::optional<WholePlacement> round_placement(const BlockCosts& costs, const GenerationSetup& setup,
                                              const BlockChoice& choice, const Fractions& fractions,
                                              bool has_disk, bool fills) {
  // What is too much for a place moves on: a hundredth of a layer's share of the weights, or, if
  // the place has none, of the caches.
  Fractions target = fractions;
  double step = 0.25 / static_cast<double>(setup.layers + 1);
  const auto shift = [&](Place from, Place to) {
    for (const Value value : {Value::kWeights, Value::kCache, Value::kActivations}) {
      double& part = target.at(value, from);
      if (part <= 0) continue;
      const double moved = std::min(part, step);
      part -= moved;
      target.at(value, to) += moved;
      return true;
    }
    return false;
  };
  for (int attempt = 0; attempt < kMostTries; ++attempt) {
    WholePlacement placement = dealt(setup, choice, target);
    const auto exceeds = [&](Place place) {
      const Fractions whole = placement.fractions();
      return std::ranges::any_of(costs.memory, [&](const MemoryRow& row) {
        return row.place == place && row_bytes(row, placement, whole) > row.limit * (1 + 1e-12);
      });
    };
    if (exceeds(Place::kDevice)) {
      if (!shift(Place::kDevice, Place::kHost)) return std::nullopt;
    } else if (exceeds(Place::kHost)) {
      if (!has_disk || !shift(Place::kHost, Place::kDisk)) return std::nullopt;
    } else if (has_disk && exceeds(Place::kDisk)) {
      return std::nullopt;
    } else {
      if (fills) {
        fill(costs, setup, Place::kDevice, placement);
        if (has_disk) fill(costs, setup, Place::kHost, placement);
      }
      return placement;
    }
    if (attempt % 20 == 19) step *= 2;
  }
  return std::nullopt;
}

WholePlacement layers_in_order(const GenerationSetup& setup, const BlockChoice& choice,
                               std::int64_t layers, std::int64_t host_layers) {
  WholePlacement placement;
  const BlockSizes sizes(setup);
  const auto tensors = static_cast<std::int64_t>(tensor_bytes(setup).size());
  for (std::int64_t layer = 0; layer <= setup.layers; ++layer) {
    const std::size_t place = layer < layers ? 0 : layer < layers + host_layers ? 1 : 2;
    const bool is_head = layer == setup.layers;
    placement.layers.emplace_back()[place] = is_head ? sizes.head_bytes : sizes.layer_bytes;
    placement.tensors[place] += is_head ? 1 : tensors;
    placement.places.emplace_back(is_head ? 1 : static_cast<std::size_t>(tensors),
                                  static_cast<Place>(place));
  }
  placement.cache = placement.activations = {choice.sequences(), 0, 0};
  return placement;
}

double priced_s(const BlockCosts& costs, const WholePlacement& placement) {
  const std::size_t count = placement.layers.size();
  const auto pass = [&](const ResourceForms& layer_forms, const ResourceForms& head_forms) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t next = (i + 1) % count;
      const ResourceForms& forms = i + 1 == count ? head_forms : layer_forms;
      const ResourceForms& loads = next + 1 == count ? head_forms : layer_forms;
      const Fractions fractions = placement.fractions(i), ahead = placement.fractions(next);
      double slowest = 0;
      for (std::size_t r = 0; r < forms.size(); ++r) {
        double one = forms[r].at(fractions);
        for (const Place place : kPlaces) {
          const std::size_t w = index_of(Value::kWeights, place);
          one += loads[r].factors[w] * ahead.parts[w] - forms[r].factors[w] * fractions.parts[w];
        }
        slowest = std::max(slowest, one);
      }
      sum += slowest;
    }
    return sum;
  };
  return pass(costs.prefill_layer, costs.prefill_head) +
         costs.decode_steps * pass(costs.decode_layer, costs.decode_head);
}

}  // namespace egret::parallel
