// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/stage_partition.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace egret::parallel {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kMostRounds = 48;    // of bottlenecks above the least one
constexpr double kBalance = 1e-3;  // weight of even bottlenecks among equal answers

std::int64_t micro_batches_of(const StagePrices& prices, const PlanFrame& frame) {
  return prices.model().global_batch / frame.data / frame.micro_batch;
}

double positive(double value) { return std::max(0.0, value); }

// The terms of a rank's passes in the bound.
class Terms {
 public:
  Terms(const StagePrices& prices, const PlanFrame& frame, PartitionPrice price)
      : prices_(prices),
        frame_(frame),
        price_(price),
        m_(static_cast<double>(micro_batches_of(prices, frame))),
        p_(static_cast<double>(frame.pipeline)),
        v_(static_cast<double>(frame.virtual_stages)),
        blocking_(!prices.model().overlap_transfers),
        send_s_(price == PartitionPrice::kAlpa ? 0 : prices.transfer_s(frame)),
        exchanges_(frame.zero >= 2 ? prices.exchanges(frame) : ExchangePrices{}),
        slowdown_(1 - 1 / (1 + prices.system().accelerator.overlap_slowdown)) {
    const std::int64_t chunks = frame.pipeline * frame.virtual_stages;
    least_ = prices.model().layers / chunks;
    most_ = (prices.model().layers + chunks - 1) / chunks;
  }

  // Ranks whose layers are chosen. Under DualPipe, ranks r and p - 1 - r hold the same two stages,
  // and do the same work.
  std::int64_t ranks() const { return frame_.pipeline / (frame_.two_directions() ? 2 : 1); }
  // Layers of such a rank.
  std::int64_t least_layers() const {
    return has_equal_chunks() ? least_ * frame_.chunks_of_rank() : frame_.chunks_of_rank();
  }
  std::int64_t most_layers() const {
    if (has_equal_chunks()) return most_ * frame_.chunks_of_rank();
    return prices_.model().layers - (ranks() - 1) * least_layers();
  }
  // Numbers of layers before a rank that matter to it: its layers' kinds repeat.
  std::int64_t phases() const {
    const TrainingSetup& model = prices_.model();
    return model.experts > 0 && frame_.chunks_of_rank() == 1 ? model.expert_interval : 1;
  }

  // What is paid once, whatever the layers are.
  double constant_s() const {
    if (frame_.two_directions()) return 0;
    double seconds = 0;
    if (!blocking_) seconds += 2 * (p_ * v_ - 1) * send_s_;
    if (frame_.virtual_stages > 1 && blocking_) seconds += (p_ - 1) * send_s_;
    return seconds;
  }

  PartitionTerms of(const RankPrice& rank, std::int64_t index) const {
    const auto r = static_cast<double>(index);
    const bool first = index == 0, last = index + 1 == frame_.pipeline;
    // Sends that a rank's passes of one micro-batch wait for.
    const double forward_sends = blocking_ ? send_s_ * (v_ - (last ? 1 : 0)) : 0;
    const double backward_sends = blocking_ ? send_s_ * (v_ - (first ? 1 : 0)) : 0;
    // Exchanges that the passes making gradients of weights wait for, of all layers but the last.
    const double waits = price_ == PartitionPrice::kBound ? blocking_exchanges_s(rank) : 0;
    const double f = rank.forward.device_s + forward_sends;
    const double b = rank.backward.device_s + backward_sends + waits;
    PartitionTerms terms;
    // Of the bottleneck without arrivals, what the device computes, and what it waits at least.
    double computed = 0, waited = 0;
    if (frame_.two_directions()) return both_directions(rank, first);
    if (price_ == PartitionPrice::kAlpa) {
      const double pass = (rank.forward + rank.backward).seconds();
      terms = {pass, (m_ - 1) * pass};
    } else if (frame_.virtual_stages > 1) {
      const Interleaved passes = interleaved(rank, r, f, forward_sends, backward_sends, last);
      terms = passes.terms;
      terms.bottleneck += (m_ - 1) * waits;
      computed = passes.computed;
      waited = passes.sent + (m_ - 1) * waits;
    } else if (frame_.schedule == PipelineKind::kZbH1) {
      const double inputs = rank.inputs.device_s + backward_sends;
      terms.sum = f + inputs;
      // The first rank's last pass.
      if (first) terms.sum += rank.weights.device_s + waits;
      const double weights = positive(m_ - 1 - r), later = positive(m_ - p_ + r);
      terms.bottleneck = (m_ - 1) * inputs + weights * (rank.weights.device_s + waits) + later * f;
      waited = (m_ - 1) * backward_sends + weights * waits + later * forward_sends;
      computed = terms.bottleneck - waited;
    } else {
      terms.sum = f + b;
      // The forward passes of GPipe all come before.
      const double later =
          frame_.schedule == PipelineKind::kGpipe && !last ? 0 : positive(m_ - p_ + r);
      // The rank before the last keeps its first and its last micro-batch.
      const double staying = index + 2 == frame_.pipeline ? std::min(2.0, later) : 0;
      const double arrival = arrivals_s(rank, index);
      terms.bottleneck = (m_ - 1) * b + staying * f + (later - staying) * std::max(f, arrival);
      computed = (m_ - 1) * rank.backward.device_s + later * rank.forward.device_s;
      // An arrival beside a forward pass slows it down first.
      const double slowed = rank.forward.device_s / (1 - slowdown_) + forward_sends;
      waited = (m_ - 1) * (backward_sends + waits) + later * forward_sends +
               (later - staying) * positive(arrival - slowed);
      // The last rank's layers leave before the first of them returns.
      if (last && frame_.schedule == PipelineKind::k1F1B)
        terms.bottleneck = std::max(terms.bottleneck, 2 * (m_ - 1) * copies_s(rank, index));
    }
    if (price_ == PartitionPrice::kBound) {
      // What the device must send beside its passes after the first backward pass, gradients and
      // weights, or copies of activations, slows them down: a pass takes 1 + s of its time while
      // the device sends. If it sends for S seconds and waits for W, at least S - W of them are
      // beside passes, so s / (1 + s) (S - W) are added. This holds for a least W, too: each more
      // second of waiting adds a second, and saves less.
      const double each =
          std::max(frame_.zero >= 2 ? exchange_s(rank, index) : 0, copies_s(rank, index));
      const double sends = positive(m_ - 2) * each;
      const double slowed = computed + waited + slowdown_ * positive(sends - waited);
      terms.bottleneck = std::max({terms.bottleneck, slowed, sends});
      // Where sends block, the host is at most one pass ahead.
      if (blocking_ || frame_.pipeline == 1) {
        const double ahead = frame_.pipeline == 1 ? 1 : 2;
        const double host = positive(m_ - ahead) * (rank.backward.host_s + backward_sends) +
                            positive(m_ - p_ + r - ahead) * (rank.forward.host_s + forward_sends);
        if (frame_.schedule == PipelineKind::k1F1B && frame_.virtual_stages == 1)
          terms.bottleneck = std::max(terms.bottleneck, host);
      }
    }
    if (first) {
      terms.sum += prices_.end_of_step_s(frame_, rank);
    }
    return terms;
  }

 private:
  bool has_equal_chunks() const {
    const TrainingSetup& model = prices_.model();
    return frame_.virtual_stages > 1 ||
           (frame_.two_directions() && model.experts > 0 && model.expert_interval > 1);
  }

  // DualPipe: half of the micro-batches go through each of a rank's two stages. The step ends when
  // all of this rank's work is done, and its weights are updated.
  PartitionTerms both_directions(const RankPrice& rank, bool first) const {
    // Its passes wait for all of its sends but the last.
    const double sends = blocking_ ? send_s_ * (m_ / 2 * (first ? 2 : 4) - 1) : 0;
    return {0, m_ / 2 * (rank.forward.device_s + rank.backward.device_s) + sends +
                   prices_.end_of_step_s(frame_, rank)};
  }

  // Of a chunk with so many layers: at most, forward; at least, backward.
  double most_forward_s(const BlockPrices& block, double layers) const {
    const auto& [dense, experts] = block.layer;
    const double with_experts = layers_with_experts(
        layers, /*at_most=*/dense[0].forward.device_s < experts[0].forward.device_s);
    return (layers - with_experts) * dense[0].forward.device_s +
           with_experts * experts[0].forward.device_s;
  }
  double least_backward_s(const BlockPrices& block, double layers) const {
    const auto& [dense, experts] = block.layer;
    const double with_experts = layers_with_experts(
        layers, /*at_most=*/dense[0].backward.device_s > experts[0].backward.device_s);
    return (layers - with_experts) * dense[0].backward.device_s +
           with_experts * experts[0].backward.device_s;
  }
  double layers_with_experts(double layers, bool at_most) const {
    const TrainingSetup& model = prices_.model();
    if (model.experts == 0) return 0;
    const double periods = layers / static_cast<double>(model.expert_interval);
    return at_most ? std::ceil(periods) : std::floor(periods);
  }

  // The first backward pass of rank r, of its last chunk, begins when the first micro-batch has
  // passed all chunks forward, and the last chunks of the ranks after r backward. After the last
  // one of its first chunk, the first chunks of the ranks before r are left. A chunk of rank r has
  // at least what is left when the others have the most layers.
  struct Interleaved {
    PartitionTerms terms;
    double computed, sent;  // of the bottleneck, without arrivals
  };
  Interleaved interleaved(const RankPrice& rank, double r, double f, double forward_sends,
                          double backward_sends, bool last) const {
    const BlockPrices& block = prices_.blocks(frame_, static_cast<std::int64_t>(r));
    const double layers = static_cast<double>(rank.layers.all());
    const double others = v_ - 1;
    const double smallest =
        std::max(static_cast<double>(least_), layers - others * static_cast<double>(most_));
    const double largest =
        std::min(static_cast<double>(most_), layers - others * static_cast<double>(least_));
    const double once = least_backward_s(block, smallest);
    const double ahead = 2 * (p_ - 1 - r) + (v_ - 1) * p_ + 1;
    const double ends =
        (r == 0 ? block.embedding.forward.device_s : 0) + (last ? block.head.forward.device_s : 0);
    const double chunk = most_forward_s(block, largest) + ends;
    // The ends belong to one chunk of the rank.
    const double skipped =
        std::min(ahead * chunk, ahead * (chunk - ends) + ends * std::ceil(ahead / v_));
    const double skipped_sends = blocking_ ? ahead * send_s_ : 0;
    const double arrive = arrivals_s(rank, static_cast<std::int64_t>(r));
    const double arriving = m_ * arrive - (ahead + 1) * arrive * largest / layers;
    const double later =
        std::max(m_ * (rank.forward.device_s + forward_sends) - skipped - skipped_sends, arriving);
    const double backward = m_ * rank.backward.device_s - once;
    return {{f + once, backward + m_ * backward_sends + positive(later)},
            backward + positive(m_ * rank.forward.device_s - skipped),
            m_ * backward_sends + positive(m_ * forward_sends - skipped_sends)};
  }

  // Of the gradients and weights of one micro-batch, on the stream that takes longer.
  double exchange_s(const RankPrice& rank, std::int64_t index) const {
    const double ends = index == 0 ? 1 : 0;
    const auto all = [&](const ByKind<double>& layer, double embedding) {
      return ExchangePrices::of(layer, rank.layers_by_kind) + ends * embedding;
    };
    const double gradients = all(exchanges_.layer_gradients_s, exchanges_.embedding_gradients_s);
    const double weights = 2 * all(exchanges_.layer_weights_s, exchanges_.embedding_weights_s);
    const double both = all(exchanges_.layer_wire_s, exchanges_.embedding_wire_s);
    return std::max({gradients, weights, both});
  }

  // Between two backward passes there is a forward pass. Beside it arrive the activations of the
  // second one, and, where weights are gathered one layer ahead, those of all layers but the first.
  double arrivals_s(const RankPrice& rank, std::int64_t index) const {
    const bool gathers = frame_.zero == 3 && prices_.options().prefetch <= 1;
    const double weights =
        gathers ? ExchangePrices::of(exchanges_.layer_weights_s, rank.layers_by_kind) : 0;
    const bool layers_travel =
        index + 1 == frame_.pipeline && v_ == 1 && frame_.schedule != PipelineKind::kGpipe;
    return std::max(weights, layers_travel ? 0 : copies_s(rank, index));
  }

  double blocking_exchanges_s(const RankPrice& rank) const {
    if (!prices_.exchanges_block(frame_)) return 0;
    const auto& [dense, experts] = exchanges_.layer_gradients_s;
    const double last = std::max(rank.layers_by_kind.dense > 0 ? dense : 0,
                                 rank.layers_by_kind.experts > 0 ? experts : 0);
    return ExchangePrices::of(exchanges_.layer_gradients_s, rank.layers_by_kind) - last;
  }

  // Of the activations of one micro-batch, to the host or from it. Of the last stage, whose
  // backward pass follows at once, the last two layers stay.
  double copies_s(const RankPrice& rank, std::int64_t index) const {
    if (frame_.offload != Offload::kActivations) return 0;
    const bool gpipe = frame_.schedule == PipelineKind::kGpipe;
    if (gpipe && m_ <= 2) return 0;  // all backward passes follow at once
    const bool stays = index + 1 == frame_.pipeline && !gpipe;
    const auto layers = static_cast<double>(rank.layers.all());
    const double leaving = stays && v_ > 1 ? positive(1 - static_cast<double>(most_) / layers) : 1;
    const double last = stays && v_ == 1 ? 2 * rank.largest_kept_bytes : 0;
    return leaving * positive(rank.layers_kept_bytes - last) / prices_.options().host_bandwidth;
  }

  const StagePrices& prices_;
  const PlanFrame& frame_;
  const PartitionPrice price_;
  const double m_, p_, v_;
  const bool blocking_;
  const double send_s_;
  const ExchangePrices exchanges_;
  const double slowdown_;
  std::int64_t least_ = 1, most_ = 1;  // layers of a chunk
};

// What a rank costs with each number of layers, from the least; it ends where nothing fits.
struct Row {
  std::vector<RankPrice> prices;
  std::vector<PartitionTerms> terms;
};
// Of a rank, by the number of layers before it modulo their number.
using Phases = std::vector<Row>;

class Partition {
 public:
  Partition(std::vector<Phases> rows, std::int64_t least, std::int64_t layers)
      : rows_(std::move(rows)), least_(least), layers_(layers) {}

  // The numbers of layers by rank, and the value of the least sum of h + max of g.
  std::optional<std::pair<double, std::vector<std::int64_t>>> solve() {
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
    double best = kNever, bound = kNever;
    std::size_t chosen = high;
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
    least_sum(candidates[chosen], kBalance / std::max(candidates[chosen], 1e-30));
    return std::pair(std::min(best, bound), layers_of_ranks());
  }

  // Of a rank with so many layers before it.
  const Row& row(std::size_t rank, std::int64_t before) const {
    const Phases& phases = rows_[rank];
    return phases[static_cast<std::size_t>(before) % phases.size()];
  }

 private:
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

  // The least sum of h + EVEN g^2 under the bottleneck; infinite where there is none.
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
  std::vector<std::int32_t> choice_;
};

}  // namespace

std::optional<StagePartition> partition_stages(const StagePrices& prices, const PlanFrame& frame,
                                               const MemoryMargins& margins, PartitionPrice price,
                                               double limit_s) {
  const Terms terms(prices, frame, price);
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
      for (std::int64_t n = least; n <= most; ++n) {
        const std::optional<RankPrice> one =
            prices.rank(frame, rank, n, budget, static_cast<std::int64_t>(phase));
        if (!one) break;
        const PartitionTerms next = terms.of(*one, rank);
        if (next.bottleneck + next.sum + constant_s >= limit_s) break;
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
  const auto solved = partition.solve();
  if (!solved) return std::nullopt;
  StagePartition result;
  result.bound_s = solved->first + constant_s;
  if (price == PartitionPrice::kBound)
    result.bound_s = std::max(result.bound_s, group_bound_s(prices, frame));
  result.chunks.resize(static_cast<std::size_t>(frame.pipeline * frame.virtual_stages));
  std::int64_t before = 0;
  for (std::size_t r = 0; r < solved->second.size(); ++r) {
    const auto rank = static_cast<std::int64_t>(r);
    const auto index = static_cast<std::size_t>(solved->second[r] - least);
    const std::vector<ChunkLayers> chunks =
        chunks_of(frame, rank, partition.row(r, before).prices[index].layers);
    for (std::size_t k = 0; k < chunks.size(); ++k) {
      const std::int64_t chunk = frame.chunk_of(rank, static_cast<std::int64_t>(k));
      result.chunks[static_cast<std::size_t>(chunk)] = chunks[k];
    }
    before += solved->second[r];
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
  double bytes = 2 * held(3);
  if (!model.frozen) {
    bytes += static_cast<double>(model.gradient_bytes) * held(2);
    const double state = static_cast<double>(model.optimizer_bytes) * held(1);
    if (!offloads_optimizer(frame.offload)) bytes += state;
    const double host = prices.options().host_memory;
    if (frame.offload == Offload::kOptimizer && host > 0 && state > host) return true;
  }
  double most = 0;
  for (std::int64_t rank = 0; rank < frame.pipeline; ++rank) {
    most = std::max(most, prices.memory_of(frame, rank));
    if (prices.system().pools.size() < 2) break;
  }
  return bytes > most;
}

}  // namespace egret::parallel
