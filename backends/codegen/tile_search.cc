// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/tile_search.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "backends/codegen/host_compiler.h"
#include "backends/codegen/host_region.h"
#include "backends/codegen/kernel_cache.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/stop.h"
#include "base/system/file.h"
#include "base/timer.h"
#include "ir/core/tensor.h"

namespace egret::backends::codegen {
namespace {

constexpr int kMostMeasured = 6;          // others, beside the model's
constexpr double kSecondsOfTiles = 0.02;  // for each of them
constexpr int kLeastRounds = 3, kMostRounds = 1000;
constexpr double kGain = 0.97;             // of the model's time, to be worth another choice
constexpr std::int64_t kMostBytes = 4096;  // of a kept choice
constexpr const char* kWord = "tiles";

// Where choices are kept: they hold for one processor and compiler.
std::string kept_path(const std::string& kernel) {
  const std::string folder = kernel_cache_folder();
  return folder.empty() ? "" : folder + "/" + kernel + "." + host_key() + ".tiles";
}

std::optional<int> kept_choice(const KernelSource& kernel) {
  const std::string path = kept_path(kernel.name);
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return std::nullopt;
  const auto text = base::read_file(path, kMostBytes);
  if (!text.ok()) return std::nullopt;
  std::istringstream words(*text);
  std::string word;
  int number = -1;
  if (!(words >> word >> number) || word != kWord || number < 0 || number > kernel.other_tiles)
    return std::nullopt;
  return number;
}

Region in_tiles(const ir::Graph& graph, const Region& region, int number) {
  return region_of(graph, region.nodes, Target::kHost, {.tiles = number});
}

// Values of the region's inputs, and its output.
struct Operands {
  Operands(const ir::Graph& graph, const Region& region) : output(graph.node(region.root()).type) {
    base::Random random(1);
    for (const ir::NodeId id : region.inputs)
      inputs.push_back(ir::Tensor::random(graph.node(id).type, random));
    for (const ir::Tensor& input : inputs) addresses.push_back(input.data().data());
  }
  std::vector<ir::Tensor> inputs;
  std::vector<const void*> addresses{};
  ir::Tensor output;
};

// The number of the fastest tiles; nullopt if they do not compile or do not run.
std::optional<int> measured_choice(const ir::Graph& graph, const Region& region, int threads) {
  std::vector<Region> candidates{region};
  std::vector<const KernelSource*> kernels;
  for (int i = 1; i <= std::min(region.kernel->other_tiles, kMostMeasured); ++i)
    candidates.push_back(in_tiles(graph, region, i));
  for (const Region& each : candidates) {
    if (!each.kernel.ok()) return std::nullopt;
    kernels.push_back(&*each.kernel);
  }
  const auto library = compile_for_host(source_of(kernels, Target::kHost));
  if (!library.ok()) return std::nullopt;
  std::vector<HostRegion> loaded;
  for (const Region& each : candidates) {
    loaded.emplace_back(graph, each, "tiles");
    if (!loaded.back().load(*library)) return std::nullopt;
  }
  Operands operands(graph, region);
  std::vector<double> seconds(loaded.size(), 1e30);
  const base::Stopwatch all;
  // In turns: a slow moment of the machine hits all of them.
  for (int round = 0; round < kMostRounds; ++round) {
    if (round > kLeastRounds &&
        all.seconds() > kSecondsOfTiles * static_cast<double>(loaded.size()))
      break;
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      if (base::stop_requested()) return std::nullopt;
      const base::Stopwatch one;
      if (!loaded[i].run(operands.addresses, operands.output.mutable_data().data(), threads).ok())
        return std::nullopt;
      if (round > 0) seconds[i] = std::min(seconds[i], one.seconds());
    }
  }
  auto best = static_cast<std::size_t>(std::ranges::min_element(seconds) - seconds.begin());
  if (seconds[best] > kGain * seconds[0]) best = 0;
  std::ostringstream text;
  text << kWord << " " << best << "\nseconds";
  for (const double each : seconds) text << " " << each;
  text << "\n";
  // Without a cache that can be written, the choice holds for this plan alone.
  (void)base::write_file(kept_path(region.kernel->name), text.str());
  return static_cast<int>(best);
}

}  // namespace

Tiles wanted_tiles() {
  const char* wanted = std::getenv("EGRET_TILES");
  const std::string name = wanted == nullptr ? "" : wanted;
  if (name == "model") return Tiles::kModel;
  return name == "measured" ? Tiles::kMeasured : Tiles::kKept;
}

void choose_tiles(const ir::Graph& graph, std::span<Region> regions, Tiles tiles, int threads) {
  if (tiles == Tiles::kModel || !host_compiler_version().ok()) return;
  for (Region& region : regions) {
    if (!region.kernel.ok() || region.kernel->other_tiles == 0) continue;
    std::optional<int> choice = kept_choice(*region.kernel);
    if (!choice && tiles == Tiles::kMeasured) choice = measured_choice(graph, region, threads);
    if (choice.value_or(0) == 0) continue;
    Region chosen = in_tiles(graph, region, *choice);
    if (chosen.kernel.ok()) region.kernel = std::move(chosen.kernel);
  }
}

}  // namespace egret::backends::codegen
