// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/stage_partition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <span>
#include <utility>

namespace egret::parallel {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kMostRounds = 48;     // of bottlenecks above the least one
constexpr double kBalance = 1e-3;   // weight of even bottlenecks among equal answers
constexpr int kMostEndRounds = 10;  // of limits of ends
constexpr double kEndsPrecision = 1e-3;

std::int64_t micro_batches_of(const StagePrices& prices, const PlanFrame& frame) {
  return prices.model().global_batch / frame.data / frame.micro_batch;
}

double positive(double value) { return std::max(0.0, value); }

// The most of the ranks' ends, each with the sum of h of the ranks after it.
double most_end(std::span<const PartitionTerms> ranks) {
  double most = 0, after = 0;
  for (const PartitionTerms& rank : ranks | std::views::reverse) {
    most = std::max(most, after + rank.end);
    after += rank.sum;
  }
  return most;
}

// What a rank costs with each number of layers, from the least; it ends where nothing fits.
struct Row {
  std::vector<RankPrice> prices;
  std::vector<PartitionTerms> terms;
};
// Of a rank, by the number of layers before it modulo their number.
using Phases = std::vector<Row>;

class Partition {
 public:
  // The numbers of layers by rank, and a value that none are below.
  struct Answer {
    double bound = 0;
    std::vector<std::int64_t> layers;
  };

  Partition(std::vector<Phases> rows, std::int64_t least, std::int64_t layers)
      : rows_(std::move(rows)), least_(least), layers_(layers) {}

  // The least max of the sum of h + max of g, and of each rank's end with the sum of h after it;
  // none where it is LIMIT or more.
  std::optional<Answer> solve(double limit) {
    std::optional<Answer> best = solve_under(kNever);
    if (!best) return std::nullopt;
    double low = best->bound, high = std::max(low, end_of(best->layers));
    if (high >= limit) high = limit;
    for (int round = 0; round < kMostEndRounds && low * (1 + kEndsPrecision) < high; ++round) {
      // The limit first: ends alone may leave nothing below it.
      const double middle = round == 0 && high == limit ? limit : (low + high) / 2;
      std::optional<Answer> next = solve_under(middle);
      if (!next || next->bound >= middle) {
        low = middle;
        continue;
      }
      low = std::max(low, next->bound);
      high = std::min(high, std::max(next->bound, end_of(next->layers)));
      best = std::move(next);
    }
    if (low >= limit) return std::nullopt;
    best->bound = low;
    return best;
  }

  // Of a rank with so many layers before it.
  const Row& row(std::size_t rank, std::int64_t before) const {
    const Phases& phases = rows_[rank];
    return phases[static_cast<std::size_t>(before) % phases.size()];
  }

 private:
  // The least sum of h + max of g where no end with the sum of h after it reaches LIMIT.
  std::optional<Answer> solve_under(double limit) {
    end_limit_ = limit;
    std::vector<double> candidates;
    for (const Phases& phases : rows_) {
      const std::size_t before = candidates.size();
      for (const Row& row : phases) {
        for (const PartitionTerms& terms : row.terms) candidates.push_back(terms.bottleneck);
      }
      if (candidates.size() == before) return std::nullopt;
    }
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    if (!reaches(candidates.back())) return std::nullopt;
    std::size_t low = 0, high = candidates.size() - 1;  // high is enough
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (reaches(candidates[middle])) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    // A higher bottleneck can save recomputation elsewhere.
    const double unlimited = least_sum(candidates.back(), 0);
    if (unlimited == kNever) return std::nullopt;
    double best = kNever, bound = kNever;
    std::size_t chosen = candidates.size() - 1;
    int rounds = 0;
    for (std::size_t i = high; i < candidates.size(); ++i) {
      if (candidates[i] + unlimited >= best) break;
      if (rounds++ == kMostRounds) {
        bound = candidates[i] + unlimited;
        break;
      }
      const double sum = least_sum(candidates[i], 0);
      if (candidates[i] + sum < best) {
        best = candidates[i] + sum;
        chosen = i;
      }
      if (sum <= unlimited) break;
    }
    if (best == kNever) best = candidates[chosen] + unlimited;  // too many rounds: of the last one
    // Even bottlenecks are no reason to be above the limit.
    if (least_sum(candidates[chosen], kBalance / std::max(candidates[chosen], 1e-30)) == kNever)
      least_sum(candidates[chosen], 0);
    return Answer{std::min(best, bound), layers_of_ranks()};
  }

  double end_of(const std::vector<std::int64_t>& layers) const {
    std::vector<PartitionTerms> terms;
    std::int64_t before = 0;
    for (std::size_t rank = 0; rank < layers.size(); ++rank) {
      terms.push_back(row(rank, before).terms[static_cast<std::size_t>(layers[rank] - least_)]);
      before += layers[rank];
    }
    return most_end(terms);
  }

  // Rows ascend, so the most layers under the bottleneck suffice where there is one phase.
  bool reaches(double bottleneck) {
    if (rows_.front().size() > 1) return least_sum(bottleneck, 0) < kNever;
    std::int64_t sum = 0;
    for (const Phases& phases : rows_) {
      const Row& row = phases.front();
      std::int64_t most = -1;
      for (std::size_t i = 0; i < row.terms.size() && row.terms[i].bottleneck <= bottleneck; ++i)
        most = least_ + static_cast<std::int64_t>(i);
      if (most < 0) return false;
      sum += most;
    }
    return sum >= layers_;
  }

  // The least sum of h + EVEN g^2 under the bottleneck and the limit of ends; infinite where there
  // is none.
  double least_sum(double bottleneck, double even) {
    const auto width = static_cast<std::size_t>(layers_) + 1;
    const std::size_t ranks = rows_.size();
    std::vector<double> after(width, kNever), now(width);
    after[0] = 0;
    choice_.assign(ranks * width, -1);
    for (std::size_t rank = ranks; rank-- > 0;) {
      std::fill(now.begin(), now.end(), kNever);
      const std::size_t phases = rows_[rank].size();
      for (std::size_t phase = 0; phase < phases; ++phase) {
        const Row& row = rows_[rank][phase];
        for (std::size_t i = 0; i < row.terms.size(); ++i) {
          const PartitionTerms& terms = row.terms[i];
          if (terms.bottleneck > bottleneck) break;
          const double cost = terms.sum + even * terms.bottleneck * terms.bottleneck;
          const std::size_t layers = static_cast<std::size_t>(least_) + i;
          // The layers before are all but those left.
          const std::size_t skew = (width - 1 + phases - phase) % phases;
          const std::size_t begin = layers + (skew + phases - layers % phases) % phases;
          for (std::size_t left = begin; left < width; left += phases) {
            if (after[left - layers] + terms.end >= end_limit_) continue;
            if (after[left - layers] + cost < now[left]) {
              now[left] = after[left - layers] + cost;
              choice_[rank * width + left] = static_cast<std::int32_t>(layers);
            }
          }
        }
      }
      std::swap(after, now);
    }
    return after[width - 1];
  }

  std::vector<std::int64_t> layers_of_ranks() const {
    const auto width = static_cast<std::size_t>(layers_) + 1;
    std::vector<std::int64_t> result;
    std::size_t left = width - 1;
    for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
      const std::int32_t layers = choice_[rank * width + left];
      result.push_back(layers);
      left -= static_cast<std::size_t>(layers);
    }
    return result;
  }

  std::vector<Phases> rows_;
  const std::int64_t least_, layers_;
  double end_limit_ = kNever;
  std::vector<std::int32_t> choice_;
};

// As many layers in each chunk.
std::optional<StagePartition> equal_partition(const StagePrices& prices, const PlanFrame& frame,
                                              const StageTerms& terms,
                                              const MemoryMargins& margins) {
  StagePartition result;
  PartitionTerms all;
  std::vector<PartitionTerms> each;
  std::int64_t before = 0;
  for (const std::int64_t layers : prices.setup_of(frame).layers_of_chunks()) {
    const auto rank = static_cast<std::int64_t>(result.chunks.size());
    const double margin = margins.empty() ? 0 : margins[static_cast<std::size_t>(rank)];
    const auto price =
        prices.rank(frame, rank, layers, prices.memory_of(frame, rank) - margin, before);
    if (!price) return std::nullopt;
    const PartitionTerms own = terms.of(*price, rank);
    all.sum += own.sum;
    all.bottleneck = std::max(all.bottleneck, own.bottleneck);
    each.push_back(own);
    result.chunks.push_back(price->layers);
    before += layers;
  }
  result.bound_s = std::max(all.sum + all.bottleneck + terms.constant_s(), most_end(each));
  return result;
}

}  // namespace

std::optional<StagePartition> partition_stages(const StagePrices& prices, const PlanFrame& frame,
                                               const MemoryMargins& margins, PartitionPrice price,
                                               double limit_s) {
  const StageTerms terms(prices, frame, price);
  // Chunks of one rank are equal anyway.
  if (price == PartitionPrice::kEqual && frame.chunks_of_rank() == 1)
    return equal_partition(prices, frame, terms, margins);
  const double constant_s = terms.constant_s();
  const std::int64_t layers = prices.model().layers;
  const std::int64_t least = terms.least_layers(), most = terms.most_layers();
  std::vector<Phases> rows(static_cast<std::size_t>(terms.ranks()));
  const auto margin = [&](std::int64_t rank) {
    return margins.empty() ? 0 : margins[static_cast<std::size_t>(rank)];
  };
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto rank = static_cast<std::int64_t>(r);
    double budget = prices.memory_of(frame, rank) - margin(rank);
    if (frame.two_directions()) {
      const std::int64_t twin = frame.pipeline - 1 - rank;
      budget = std::min(budget, prices.memory_of(frame, twin) - margin(twin));
    }
    // No layers come before the first rank.
    rows[r].resize(static_cast<std::size_t>(terms.phases()));
    for (std::size_t phase = 0; phase < (r == 0 ? 1 : rows[r].size()); ++phase) {
      Row& row = rows[r][phase];
      const auto first = static_cast<std::int64_t>(phase);
      for (std::int64_t n = least; n <= std::min(most, layers - first); ++n) {
        const std::optional<RankPrice> one = prices.rank(frame, rank, n, budget, first);
        if (!one) break;
        PartitionTerms next = terms.of(*one, rank);
        if (next.bottleneck + next.sum + constant_s >= limit_s) break;
        next.end -= constant_s;  // as the sums are without it
        row.prices.push_back(*one);
        row.terms.push_back(next);
        // Bottlenecks ascend; rounding and host-bound passes shall not break this.
        if (row.terms.size() > 1) {
          double& bottleneck = row.terms.back().bottleneck;
          bottleneck = std::max(bottleneck, row.terms[row.terms.size() - 2].bottleneck);
        }
      }
    }
  }
  Partition partition(std::move(rows), least, layers);
  const auto solved = partition.solve(limit_s - constant_s);
  if (!solved) return std::nullopt;
  StagePartition result;
  result.bound_s = solved->bound + constant_s;
  if (price == PartitionPrice::kBound && frame.stages.empty())
    result.bound_s = std::max(result.bound_s, group_bound_s(prices, frame));
  result.chunks.resize(static_cast<std::size_t>(frame.pipeline * frame.virtual_stages));
  std::int64_t before = 0;
  for (std::size_t r = 0; r < solved->layers.size(); ++r) {
    const auto rank = static_cast<std::int64_t>(r);
    const auto index = static_cast<std::size_t>(solved->layers[r] - least);
    const std::vector<ChunkLayers> chunks =
        chunks_of(frame, rank, partition.row(r, before).prices[index].layers);
    for (std::size_t k = 0; k < chunks.size(); ++k) {
      const std::int64_t chunk = frame.chunk_of(rank, static_cast<std::int64_t>(k));
      result.chunks[static_cast<std::size_t>(chunk)] = chunks[k];
    }
    before += solved->layers[r];
  }
  return result;
}

double group_bound_s(const StagePrices& prices, const PlanFrame& group) {
  const RankPrice model = prices.average_rank(group);
  const auto m = static_cast<double>(micro_batches_of(prices, group));
  const auto p = static_cast<double>(group.pipeline);
  // Each rank computes all micro-batches, and the first one passes all ranks.
  return ((model.forward + model.backward) * (m / p)).seconds();
}

double frame_bound_s(const StagePrices& prices, const PlanFrame& frame) {
  const RankPrice model = prices.average_rank(frame);
  const auto m = static_cast<double>(micro_batches_of(prices, frame));
  const auto p = static_cast<double>(frame.pipeline);
  const auto v = static_cast<double>(frame.virtual_stages);
  const double f = model.forward.device_s, b = model.backward.device_s;
  double seconds = 0;
  if (frame.two_directions()) {
    seconds = m * (f + b) / p;
  } else if (v > 1) {
    const double ahead = (2 * (p - 1) + (v - 1) * p + 1) / v;
    const double largest =
        static_cast<double>((prices.model().layers + frame.pipeline * frame.virtual_stages - 1) /
                            (frame.pipeline * frame.virtual_stages)) *
        p * v / static_cast<double>(prices.model().layers);
    // Where chunks have different kinds of layers, a rank may be further ahead.
    const TrainingSetup& setup = prices.model();
    const bool mixed = setup.experts > 0 && setup.expert_interval > 1;
    seconds = f + m * b / p + (mixed ? 0 : positive(m - ahead * largest) * f / p);
    seconds = std::max(seconds, f + m * b / p);
  } else if (frame.schedule == PipelineKind::kZbH1) {
    const double inputs = model.inputs.device_s;
    seconds = f + inputs + ((m - 1) * inputs + positive(m - p) * (model.weights.device_s + f)) / p;
  } else {
    seconds = f + b + ((m - 1) * b + positive(m - p) * f) / p;
  }
  if (offloads_weights(frame.offload))
    seconds = std::max(seconds, m * prices.weight_copies_s(frame, model));
  if (frame.pipeline == 1) {
    seconds += prices.end_of_step_s(frame, model);
  }
  return std::max(seconds, group_bound_s(prices, frame));
}

bool exceeds_memory(const StagePrices& prices, const PlanFrame& frame) {
  const RankPrice average = prices.average_rank(frame);
  const TrainingSetup& model = prices.model();
  const double divided = divided_parameters(frame, average);
  const auto held = [&](std::int64_t from) {
    return frame.zero >= from ? divided : average.parameters;
  };
  double bytes = model.weight_bytes() * held(3);
  if (!model.frozen) {
    bytes += static_cast<double>(model.gradient_bytes) * held(2);
    double on_host = static_cast<double>(model.optimizer_bytes) * held(1);
    if (!offloads_optimizer(frame.offload)) bytes += on_host;
    if (offloads_weights(frame.offload)) on_host += std::exchange(bytes, 0);
    const double host = prices.options().host_memory;
    const bool limited =
        offloads_optimizer(frame.offload) && !uses_disks(frame.offload) && host > 0;
    if (limited && on_host > host) return true;
  }
  double most = 0;
  for (std::int64_t rank = 0; rank < frame.pipeline; ++rank) {
    most = std::max(most, prices.memory_of(frame, rank));
    if (prices.system().pools.size() < 2) break;
  }
  return bytes > most;
}

}  // namespace egret::parallel
