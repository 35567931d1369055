// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/tile_search.h"

#include <algorithm>
#include <cmath>
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
#include "base/median.h"
#include "base/random.h"
#include "base/stop.h"
#include "base/system/file.h"
#include "base/timer.h"
#include "cost/database.h"
#include "ir/core/tensor.h"

namespace egret::backends::codegen {
namespace {

constexpr int kMostMeasured = 6;          // others, beside the model's
constexpr double kSecondsOfTiles = 0.02;  // for each of them
constexpr int kLeastRounds = 3, kMostRounds = 1000;
constexpr double kGain = 0.97;             // of the model's time, to be worth another choice
constexpr std::int64_t kMostBytes = 4096;  // of a kept choice
constexpr const char* kWord = "tiles";

// Where choices are kept: they hold for one processor, compiler and number of threads.
std::string kept_path(const std::string& kernel, int threads) {
  const std::string folder = kernel_cache_folder();
  return folder.empty() ? ""
                        : folder + "/" + kernel + "." + host_key() + "." + std::to_string(threads) +
                              "-threads.tiles";
}

Region in_tiles(const ir::Graph& graph, const Region& region, int number) {
  return number == 0 ? region : region_of(graph, region.nodes, Target::kHost, {.tiles = number});
}

// A choice as a file has it: its number, and the name of the kernel in these tiles. Numbers are
// those of a ranking that later versions may change, so the name decides whether it still holds.
std::string text_of_choice(int number, const std::string& kernel) {
  return std::string(kWord) + " " + std::to_string(number) + " " + kernel + "\n";
}

std::optional<int> kept_choice(const ir::Graph& graph, const Region& region, int threads) {
  const std::string path = kept_path(region.kernel->name, threads);
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return std::nullopt;
  const auto text = base::read_file(path, kMostBytes);
  if (!text.ok()) return std::nullopt;
  std::istringstream words(*text);
  std::string word, name;
  int number = -1;
  if (!(words >> word >> number >> name) || word != kWord || number < 0 ||
      number > region.kernel->other_tiles)
    return std::nullopt;
  const Region chosen = in_tiles(graph, region, number);
  return chosen.kernel.ok() && chosen.kernel->name == name ? std::optional(number) : std::nullopt;
}

// The model's tiles and the others that are measured. Empty where one cannot be emitted.
std::vector<Region> candidates_of(const ir::Graph& graph, const Region& region) {
  std::vector<Region> candidates;
  for (int i = 0; i <= std::min(region.kernel->other_tiles, kMostMeasured); ++i) {
    candidates.push_back(in_tiles(graph, region, i));
    if (!candidates.back().kernel.ok()) return {};
  }
  return candidates;
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

// ---- The database of costs

// Whose times they are.
std::string machine_name(int threads) {
  const auto compiler = host_compiler_version();
  return "emitted kernels / " + (compiler.ok() ? *compiler : "") + " / " + host_key() + " / " +
         std::to_string(threads) + " threads";
}

// What is timed: operators and types for the reader, the name of the kernel in the model's tiles,
// which depends on all of it, and that of the candidate.
std::string key_of(const ir::Graph& graph, const Region& region, const Region& candidate) {
  std::string text = "emitted ";
  for (const ir::NodeId id : region.nodes)
    text += (id == region.nodes.front() ? "" : "+") + std::string(graph.node(id).op->name());
  text += "(";
  for (const ir::NodeId id : region.inputs)
    text += (id == region.inputs.front() ? "" : ", ") + ir::to_string(graph.node(id).type);
  return text + ") " + region.kernel->name + " tiles " + candidate.kernel->name;
}

// Without a database, the choice is in the kernel cache alone.
void store_times(const ir::Graph& graph, std::span<const Region> candidates, int threads,
                 std::span<const std::vector<double>> samples) {
  const auto opened = cost::open_database_in_use("");
  if (!opened.ok()) return;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double median = base::median(samples[i]);
    std::vector<double> deviations;
    for (const double each : samples[i]) deviations.push_back(std::abs(each - median));
    (void)opened->database->store(machine_name(threads),
                                  key_of(graph, candidates.front(), candidates[i]),
                                  {.runs = static_cast<std::int64_t>(samples[i].size()),
                                   .median_s = median,
                                   .deviation_s = base::median(std::move(deviations))});
  }
}

// The fastest by median; the model's unless another gains.
int best_of(std::span<const double> seconds) {
  const auto best = std::ranges::min_element(seconds) - seconds.begin();
  return seconds[static_cast<std::size_t>(best)] > kGain * seconds[0] ? 0 : static_cast<int>(best);
}

// By times that another process, or another machine of the same kind, has measured.
std::optional<int> stored_choice(const ir::Graph& graph, const Region& region, int threads) {
  const auto opened = cost::open_database_to_read("");
  if (!opened.ok()) return std::nullopt;
  std::vector<double> seconds;
  for (const Region& candidate : candidates_of(graph, region)) {
    const auto entry = (*opened)->find(machine_name(threads), key_of(graph, region, candidate));
    if (!entry.ok() || !*entry) return std::nullopt;
    seconds.push_back((*entry)->median_s);
  }
  return seconds.empty() ? std::nullopt : std::optional(best_of(seconds));
}

// ---- Measuring

// The number of the fastest tiles; nullopt if they do not compile or do not run.
std::optional<int> measured_choice(const ir::Graph& graph, const Region& region, int threads) {
  const std::vector<Region> candidates = candidates_of(graph, region);
  if (candidates.empty()) return std::nullopt;
  std::vector<const KernelSource*> kernels;
  for (const Region& each : candidates) kernels.push_back(&*each.kernel);
  const auto library = compile_for_host(source_of(kernels, Target::kHost));
  if (!library.ok()) return std::nullopt;
  std::vector<HostRegion> loaded;
  for (const Region& each : candidates) {
    loaded.emplace_back(graph, each, "tiles");
    if (!loaded.back().load(*library)) return std::nullopt;
  }
  Operands operands(graph, region);
  std::vector<std::vector<double>> samples(loaded.size());
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
      if (round > 0) samples[i].push_back(one.seconds());
    }
  }
  std::vector<double> seconds;
  for (const auto& each : samples) seconds.push_back(base::median(each));
  const int best = best_of(seconds);
  store_times(graph, candidates, threads, samples);
  std::ostringstream text;
  text << text_of_choice(best, candidates[static_cast<std::size_t>(best)].kernel->name)
       << "seconds";
  for (const double each : seconds) text << " " << each;
  text << "\n";
  // Without a cache that can be written, the choice holds for this plan alone.
  (void)base::write_file(kept_path(region.kernel->name, threads), text.str());
  return best;
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
    std::optional<int> choice = kept_choice(graph, region, threads);
    if (!choice && tiles == Tiles::kMeasured) {
      choice = stored_choice(graph, region, threads);
      if (choice) {
        const Region chosen = in_tiles(graph, region, *choice);
        (void)base::write_file(kept_path(region.kernel->name, threads),
                               text_of_choice(*choice, chosen.kernel->name));
      }
    }
    if (!choice && tiles == Tiles::kMeasured) choice = measured_choice(graph, region, threads);
    if (choice.value_or(0) == 0) continue;
    Region chosen = in_tiles(graph, region, *choice);
    if (chosen.kernel.ok()) region.kernel = std::move(chosen.kernel);
  }
}

}  // namespace egret::backends::codegen
