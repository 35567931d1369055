// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/stage_terms.h"

#include <algorithm>
#include <cmath>

namespace egret::parallel {
namespace {

double positive(double value) { return std::max(0.0, value); }

}  // namespace

StageTerms::StageTerms(const StagePrices& prices, const PlanFrame& frame, PartitionPrice price,
                       NearStages near)
    : prices_(prices),
      frame_(frame),
      price_(price),
      near_(near),
      m_(static_cast<double>(prices.model().global_batch / frame.data / frame.micro_batch)),
      p_(static_cast<double>(frame.pipeline)),
      v_(static_cast<double>(frame.virtual_stages)),
      blocking_(!prices.model().overlap_transfers),
      slowdown_(1 - 1 / (1 + prices.system().accelerator.overlap_slowdown)) {
  const std::int64_t chunks = frame.pipeline * frame.virtual_stages;
  least_ = prices.model().layers / chunks;
  most_ = (prices.model().layers + chunks - 1) / chunks;
  if (price == PartitionPrice::kOpen) {
    traffic_ = {traffic_of(static_cast<std::int64_t>(frame.stages.size()) - 1)};
  } else if (frame.stages.empty()) {
    traffic_ = equal_traffic();
  } else {
    for (std::int64_t rank = 0; rank < frame.pipeline; ++rank) traffic_.push_back(traffic_of(rank));
  }
}

StageTerms::StageTerms(const StageTerms& like, const PlanFrame& frame)
    : prices_(like.prices_),
      frame_(frame),
      price_(like.price_),
      near_(like.near_),
      m_(like.m_),
      p_(static_cast<double>(frame.pipeline)),
      v_(like.v_),
      blocking_(like.blocking_),
      slowdown_(like.slowdown_),
      traffic_(like.traffic_),
      least_(like.least_),
      most_(like.most_) {}

StageTerms::Traffic StageTerms::traffic_of(std::int64_t index) const {
  Traffic traffic;
  if (frame_.zero >= 2) traffic.exchanges = prices_.exchanges(frame_, index);
  if (price_ == PartitionPrice::kAlpa || frame_.pipeline == 1) return traffic;
  const bool last = index + 1 == frame_.pipeline;
  for (std::int64_t cut = 0; cut < prices_.distinct_cuts(); ++cut) {
    const std::int64_t layers = std::max<std::int64_t>(cut, 1);
    if (price_ == PartitionPrice::kOpen) {
      traffic.forward_s.push_back(prices_.least_transfer_s(frame_, index, layers, near_.next));
      traffic.backward_s.push_back(prices_.least_transfer_s(frame_, index, layers, near_.before));
      traffic.gather_s.push_back(prices_.receiver_gather_s(frame_, index, layers));
    } else {
      traffic.forward_s.push_back(last ? 0 : prices_.transfer_s(frame_, index, index + 1, layers));
      traffic.backward_s.push_back(
          index == 0 ? 0 : prices_.transfer_s(frame_, index, index - 1, layers));
    }
  }
  return traffic;
}

// Ranks of equal degrees exchange the same. Their neighbours lie in their node or in another one.
std::vector<StageTerms::Traffic> StageTerms::equal_traffic() const {
  Traffic same;
  if (frame_.zero >= 2) same.exchanges = prices_.exchanges(frame_, 0);
  if (price_ == PartitionPrice::kAlpa || frame_.pipeline == 1) return {same};
  const auto ranks = static_cast<std::size_t>(frame_.pipeline);
  std::vector<Traffic> result(ranks, same);
  for (std::int64_t cut = 0; cut < prices_.distinct_cuts(); ++cut) {
    const std::vector<double> sends =
        prices_.equal_transfers_s(frame_, std::max<std::int64_t>(cut, 1));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      result[rank].forward_s.push_back(sends[rank]);
      result[(rank + 1) % ranks].backward_s.push_back(sends[rank]);
    }
  }
  return result;
}

// Of a message from the first rank to the last one, through all others.
double StageTerms::neighbours_s() const {
  double seconds = 0;
  for (std::int64_t rank = 0; rank + 1 < frame_.pipeline; ++rank)
    seconds += at(traffic(rank).forward_s, 0);
  return seconds;
}

// The same, and from the last rank to the first one.
double StageTerms::around_s() const {
  return neighbours_s() + at(traffic(frame_.pipeline - 1).forward_s, 0);
}

// Where ranks or cuts differ.
bool StageTerms::sends_are_in_sums() const {
  return !blocking_ && price_ != PartitionPrice::kAlpa &&
         (!frame_.stages.empty() || prices_.distinct_cuts() > 1);
}

bool StageTerms::has_equal_chunks() const {
  const TrainingSetup& model = prices_.model();
  return frame_.virtual_stages > 1 ||
         (frame_.two_directions() && model.experts > 0 && model.expert_interval > 1);
}

std::int64_t StageTerms::least_layers() const {
  return has_equal_chunks() ? least_ * frame_.chunks_of_rank() : frame_.chunks_of_rank();
}

std::int64_t StageTerms::most_layers() const {
  if (has_equal_chunks()) return most_ * frame_.chunks_of_rank();
  return prices_.model().layers - (ranks() - 1) * least_layers();
}

std::int64_t StageTerms::phases() const {
  const TrainingSetup& model = prices_.model();
  if (model.wide_resnet > 0) return model.layers;
  return model.experts > 0 && frame_.chunks_of_rank() == 1 ? model.expert_interval : 1;
}

double StageTerms::constant_s() const {
  if (frame_.two_directions() || sends_are_in_sums()) return 0;
  // Forward through all chunks, backward through one of each rank. Where sends block, those forward
  // are a part of the passes, and without virtual stages those backward are, too.
  if (blocking_) return v_ > 1 ? neighbours_s() : 0;
  return 2 * neighbours_s() + (v_ - 1) * around_s();
}

PartitionTerms StageTerms::of(const RankPrice& rank, std::int64_t index) const {
  if (frame_.two_directions()) return both_directions(rank, index);
  if (price_ == PartitionPrice::kAlpa) return alpa(rank, index);
  const Passes passes = passes_of(rank, index);
  const Schedule schedule = scheduled(rank, index, passes);
  PartitionTerms terms{schedule.sum + sends_s(rank, index, passes),
                       least_bottleneck_s(rank, index, schedule)};
  if (!passes.first && frame_.virtual_stages == 1)
    terms.end = end_s(rank, index, passes, schedule, terms);
  // Beside passes, gradients of all micro-batches go to the rank before, one after the other. One
  // of them is a part of what all ranks pay once, unless the first rank sends them to the last one.
  if (!blocking_) {
    const double messages = passes.first ? m_ * (v_ - 1) : m_ * v_ - 1;
    terms.bottleneck = std::max(terms.bottleneck, messages * passes.backward_s);
  }
  if (passes.first)
    terms.sum += prices_.end_of_step_s(frame_, rank, price_ == PartitionPrice::kOpen);
  return terms;
}

// Without what neighbours send, as Alpa's program has it.
PartitionTerms StageTerms::alpa(const RankPrice& rank, std::int64_t index) const {
  const double pass = (rank.forward + rank.backward).seconds();
  return {pass + (index == 0 ? prices_.end_of_step_s(frame_, rank) : 0), (m_ - 1) * pass};
}

StageTerms::Passes StageTerms::passes_of(const RankPrice& rank, std::int64_t index) const {
  const bool first = index == 0, last = index + 1 == frame_.pipeline;
  const Traffic& own = traffic(index);
  const double forward_s = at(own.forward_s, rank.first_layer + rank.layers.all());
  const double backward_s = at(own.backward_s, rank.first_layer);
  const double forward_sends = blocking_ ? forward_s * (v_ - (last ? 1 : 0)) : 0;
  const double backward_sends = blocking_ ? backward_s * (v_ - (first ? 1 : 0)) : 0;
  const double waits = blocking_exchanges_s(rank, index);
  return {.first = first,
          .last = last,
          .forward_s = forward_s,
          .backward_s = backward_s,
          .forward_sends = forward_sends,
          .backward_sends = backward_sends,
          .waits = waits,
          .forward = rank.forward.device_s + forward_sends,
          .backward = rank.backward.device_s + backward_sends + waits};
}

StageTerms::Schedule StageTerms::scheduled(const RankPrice& rank, std::int64_t index,
                                           const Passes& passes) const {
  if (frame_.virtual_stages > 1) return interleaved(rank, index, passes.waits);
  if (frame_.schedule == PipelineKind::kZbH1) return zero_bubble(rank, index, passes);
  return one_stage(rank, index, passes);
}

// ZB-H1: gradients of weights are made when there is nothing else to do.
StageTerms::Schedule StageTerms::zero_bubble(const RankPrice& rank, std::int64_t index,
                                             const Passes& passes) const {
  const auto r = static_cast<double>(index);
  const double inputs = rank.inputs.device_s + passes.backward_sends;
  const double weights = rank.weights.device_s + passes.waits;
  const double within = positive(m_ - 1 - r), later = positive(m_ - p_ + r);
  Schedule schedule;
  // The first rank's last pass.
  schedule.sum = passes.forward + inputs + (passes.first ? weights : 0);
  schedule.bottleneck = (m_ - 1) * inputs + within * weights + later * passes.forward;
  schedule.waited =
      (m_ - 1) * passes.backward_sends + within * passes.waits + later * passes.forward_sends;
  schedule.computed = schedule.bottleneck - schedule.waited;
  schedule.returning = inputs;
  schedule.later_passes = schedule.bottleneck + (passes.first ? 0 : m_ - within) * weights;
  return schedule;
}

// GPipe and 1F1B.
StageTerms::Schedule StageTerms::one_stage(const RankPrice& rank, std::int64_t index,
                                           const Passes& passes) const {
  const bool one_by_one = frame_.schedule == PipelineKind::k1F1B;
  // The forward passes of GPipe all come before.
  const double later = frame_.schedule == PipelineKind::kGpipe && !passes.last
                           ? 0
                           : positive(m_ - p_ + static_cast<double>(index));
  // The rank before the last keeps its first and its last micro-batch.
  const double staying = index + 2 == frame_.pipeline ? std::min(2.0, later) : 0;
  // It may travel while the gradients of the pass before are sent, too.
  const double arrival = positive(arrivals_s(rank, index) - passes.backward_sends);
  // An arrival beside a forward pass slows it down first.
  const double slowed = rank.forward.device_s / (1 - slowdown_) + passes.forward_sends;
  Schedule schedule;
  schedule.sum = passes.forward + passes.backward;
  schedule.bottleneck = (m_ - 1) * passes.backward + staying * passes.forward +
                        (later - staying) * std::max(passes.forward, arrival);
  schedule.computed = (m_ - 1) * rank.backward.device_s + later * rank.forward.device_s;
  schedule.waited = (m_ - 1) * (passes.backward_sends + passes.waits) +
                    later * passes.forward_sends + (later - staying) * positive(arrival - slowed);
  schedule.returning = passes.backward;
  schedule.later_passes = schedule.bottleneck;
  // The last rank's layers leave before the first of them returns.
  if (passes.last && one_by_one)
    schedule.bottleneck = std::max(schedule.bottleneck, 2 * (m_ - 1) * copies_s(rank, index));
  // Where sends block, the host is at most one pass ahead.
  if (one_by_one && (blocking_ || frame_.pipeline == 1)) {
    const double ahead = frame_.pipeline == 1 ? 1 : 2;
    const double passed = m_ - p_ + static_cast<double>(index);
    schedule.host = positive(m_ - ahead) * (rank.backward.host_s + passes.backward_sends) +
                    positive(passed - ahead) * (rank.forward.host_s + passes.forward_sends);
  }
  return schedule;
}

// What the device must send beside its passes after the first backward pass, gradients and weights,
// or copies of activations, slows them down: a pass takes 1 + s of its time while the device sends.
// If it sends for S seconds and waits for W, at least S - W of them are beside passes, so
// s / (1 + s) (S - W) are added. This holds for a least W, too: each more second of waiting adds a
// second, and saves less.
double StageTerms::least_bottleneck_s(const RankPrice& rank, std::int64_t index,
                                      const Schedule& schedule) const {
  const double each =
      std::max({frame_.zero >= 2 ? exchange_s(rank, index) : 0, copies_s(rank, index),
                prices_.weight_copies_s(frame_.of_stage(index), rank)});
  const double sends = positive(m_ - 2) * each;
  const double slowed =
      schedule.computed + schedule.waited + slowdown_ * positive(sends - schedule.waited);
  return std::max({schedule.bottleneck, slowed, sends, schedule.host});
}

// Of the first micro-batch's way, what the rank sends.
double StageTerms::sends_s(const RankPrice& rank, std::int64_t index, const Passes& passes) const {
  double seconds = 0;
  if (sends_are_in_sums())
    seconds += (passes.last ? 0 : passes.forward_s) + (passes.first ? 0 : passes.backward_s);
  // The senders' sums have what they send without the gathering at this rank.
  if (price_ == PartitionPrice::kOpen && (blocking_ || sends_are_in_sums())) {
    const std::vector<double>& gather_s = traffic(index).gather_s;
    seconds += (passes.first ? 0 : at(gather_s, rank.first_layer)) +
               (passes.last ? 0 : at(gather_s, rank.first_layer + rank.layers.all()));
  }
  return seconds;
}

// All of the rank's passes, and what the step needs from there on. Its last gradients are sent
// beside. Under ZeRO-2 and 3 the update follows the sums of all micro-batches' gradients.
double StageTerms::end_s(const RankPrice& rank, std::int64_t index, const Passes& passes,
                         const Schedule& schedule, const PartitionTerms& terms) const {
  const double later =
      frame_.zero < 2 ? std::max(schedule.later_passes, terms.bottleneck) : schedule.later_passes;
  const double sums = m_ * gradients_s(rank, index) - schedule.returning;
  return terms.sum + std::max(later, sums) - passes.backward_s +
         prices_.later_end_s(frame_, rank, index);
}

// DualPipe: half of the micro-batches go through each of a rank's two stages. The step ends when
// all of this rank's work is done, and its weights are updated.
PartitionTerms StageTerms::both_directions(const RankPrice& rank, std::int64_t index) const {
  // Each neighbour gets activations of one half, and gradients of the other. Passes wait for all of
  // a rank's sends but the last, or each of both kinds takes its time beside passes. The rank with
  // the same two stages has other neighbours.
  double sends = 0;
  for (const std::int64_t one : {index, frame_.pipeline - 1 - index}) {
    const double next = one + 1 < frame_.pipeline ? at(traffic(one).forward_s, 0) : 0;
    const double before = one > 0 ? at(traffic(one).backward_s, 0) : 0;
    sends = std::max(sends, blocking_ ? m_ * (next + before) - std::max(next, before)
                                      : m_ / 2 * (next + before));
  }
  const double passes = m_ / 2 * (rank.forward.device_s + rank.backward.device_s) +
                        prices_.end_of_step_s(frame_, rank);
  return {0, blocking_ ? passes + sends : std::max(passes, sends)};
}

// Of a chunk with so many layers: at most, forward; at least, backward.
double StageTerms::most_forward_s(const BlockPrices& block, double layers) const {
  const auto& [dense, experts] = block.layer;
  const double with_experts = layers_with_experts(
      layers, /*at_most=*/dense[0].forward.device_s < experts[0].forward.device_s);
  return (layers - with_experts) * dense[0].forward.device_s +
         with_experts * experts[0].forward.device_s;
}
double StageTerms::least_backward_s(const BlockPrices& block, double layers) const {
  const auto& [dense, experts] = block.layer;
  const double with_experts = layers_with_experts(
      layers, /*at_most=*/dense[0].backward.device_s > experts[0].backward.device_s);
  return (layers - with_experts) * dense[0].backward.device_s +
         with_experts * experts[0].backward.device_s;
}
double StageTerms::layers_with_experts(double layers, bool at_most) const {
  const TrainingSetup& model = prices_.model();
  if (model.experts == 0) return 0;
  const double periods = layers / static_cast<double>(model.expert_interval);
  return at_most ? std::ceil(periods) : std::floor(periods);
}

// The first backward pass of rank r, of its last chunk, begins when the first micro-batch has
// passed all chunks forward, and the last chunks of the ranks after r backward. After the last
// one of its first chunk, the first chunks of the ranks before r are left. A chunk of rank r has
// at least what is left when the others have the most layers.
StageTerms::Schedule StageTerms::interleaved(const RankPrice& rank, std::int64_t index,
                                             double waits) const {
  const auto r = static_cast<double>(index);
  const bool first = index == 0, last = index + 1 == frame_.pipeline;
  const BlockPrices& block = prices_.blocks(frame_, index);
  const double layers = static_cast<double>(rank.layers.all());
  const double others = v_ - 1;
  const double smallest =
      std::max(static_cast<double>(least_), layers - others * static_cast<double>(most_));
  const double largest =
      std::min(static_cast<double>(most_), layers - others * static_cast<double>(least_));
  const double once = least_backward_s(block, smallest);
  const double ahead = 2 * (p_ - 1 - r) + (v_ - 1) * p_ + 1;
  const double ends =
      (first ? block.embedding.forward.device_s : 0) + (last ? block.head.forward.device_s : 0);
  const double chunk = most_forward_s(block, largest) + ends;
  // The ends belong to one chunk of the rank.
  const double skipped =
      std::min(ahead * chunk, ahead * (chunk - ends) + ends * std::ceil(ahead / v_));
  const double computed = positive(m_ * rank.forward.device_s - skipped);
  // Of the passes of the last rank before its first backward pass, all but one send.
  const double forward_s = blocking_ ? at(traffic(index).forward_s, 0) : 0;
  const double backward_s = blocking_ ? at(traffic(index).backward_s, 0) : 0;
  const double messages = v_ - (last ? 1 : 0);
  const double sent = positive(m_ * messages - ahead + (last ? 1 : 0)) * forward_s;
  const double arrive = arrivals_s(rank, index);
  const double arriving = positive(m_ * arrive - (ahead + 1) * arrive * largest / layers);
  // The last message to the rank before is one of those that all ranks pay once.
  const double returned = (m_ * (v_ - (first ? 1 : 0)) - (first ? 0 : 1)) * backward_s;
  const double backward = m_ * rank.backward.device_s - once;
  const double waited = (m_ - 1) * waits;
  const double chain = last_chain_s(rank, index, once, waits);
  return {.sum = rank.forward.device_s + messages * forward_s + once,
          .bottleneck =
              backward + std::max(returned + computed + sent, arriving) + waited + positive(chain),
          .computed = backward + computed,
          .waited = returned + sent + waited};
}

// Where sends run beside passes, the last micro-batch may be what the step ends with. When rank r
// begins its last chunk's backward pass, it has all forward passes behind it, and the backward
// passes of other chunks of p - 1 micro-batches, which need not delay this one, are not counted.
// The micro-batch then goes backward through all chunks but those of the ranks after r that it has
// passed, with a message for each. The difference to a bound in which rank r computes to the end:
// these messages, the chunks of the other ranks beyond one of each, and what is not counted.
double StageTerms::last_chain_s(const RankPrice& rank, std::int64_t index, double once,
                                double waits) const {
  // The chunks of all ranks together are known where all devices are alike.
  if (blocking_ || prices_.system().pools.size() > 1) return 0;
  const BlockPrices& block = prices_.blocks(frame_, index);
  // Of all ranks, the smallest chunks: those of ranks with the most layers in each are larger.
  const std::int64_t chunks = frame_.pipeline * frame_.virtual_stages;
  const auto full =
      static_cast<double>((prices_.model().layers - least_ * chunks) / frame_.virtual_stages);
  const double smallest = (p_ - full) * least_backward_s(block, static_cast<double>(least_)) +
                          full * least_backward_s(block, static_cast<double>(most_));
  const double own = rank.backward.device_s;
  const double all = prices_.average_rank(frame_).backward.device_s;
  const double last_chunk =
      once + (index + 1 == frame_.pipeline ? block.head.backward.device_s : 0);
  return (v_ - 1) * around_s() + (all - own) - (smallest - once) -
         (p_ - 1) * (own + waits - last_chunk);
}

double StageTerms::of_rank(const ByKind<double>& layer, double embedding, const RankPrice& rank,
                           std::int64_t index) {
  return ExchangePrices::of(layer, rank.layers_by_kind) + (index == 0 ? embedding : 0);
}

double StageTerms::gradients_s(const RankPrice& rank, std::int64_t index) const {
  if (frame_.zero < 2 || prices_.model().frozen) return 0;
  const ExchangePrices& each = traffic(index).exchanges;
  return of_rank(each.layer_gradients_s, each.embedding_gradients_s, rank, index);
}

// Of the gradients and weights of one micro-batch, on the stream that takes longer.
double StageTerms::exchange_s(const RankPrice& rank, std::int64_t index) const {
  const ExchangePrices& each = traffic(index).exchanges;
  const double weights = 2 * of_rank(each.layer_weights_s, each.embedding_weights_s, rank, index);
  const double both = of_rank(each.layer_wire_s, each.embedding_wire_s, rank, index);
  return std::max({gradients_s(rank, index), weights, both});
}

// Between two backward passes there is a forward pass. Beside it arrive the activations of the
// second one, and, where weights are gathered one layer ahead, those of all layers but the first.
double StageTerms::arrivals_s(const RankPrice& rank, std::int64_t index) const {
  const bool gathers = frame_.zero == 3 && prices_.options().prefetch <= 1;
  const double weights =
      gathers ? ExchangePrices::of(traffic(index).exchanges.layer_weights_s, rank.layers_by_kind)
              : 0;
  const bool layers_travel =
      index + 1 == frame_.pipeline && v_ == 1 && frame_.schedule != PipelineKind::kGpipe;
  return std::max(weights, layers_travel ? 0 : copies_s(rank, index));
}

double StageTerms::blocking_exchanges_s(const RankPrice& rank, std::int64_t index) const {
  if (!prices_.exchanges_block(frame_, index)) return 0;
  const ByKind<double>& gradients = traffic(index).exchanges.layer_gradients_s;
  const auto& [dense, experts] = gradients;
  const double last = std::max(rank.layers_by_kind.dense > 0 ? dense : 0,
                               rank.layers_by_kind.experts > 0 ? experts : 0);
  return ExchangePrices::of(gradients, rank.layers_by_kind) - last;
}

// Of the activations of one micro-batch, to the host or from it. Of the last stage, whose
// backward pass follows at once, the last two layers stay.
double StageTerms::copies_s(const RankPrice& rank, std::int64_t index) const {
  if (!offloads_activations(frame_.offload)) return 0;
  const bool gpipe = frame_.schedule == PipelineKind::kGpipe;
  if (gpipe && m_ <= 2) return 0;  // all backward passes follow at once
  const bool stays = index + 1 == frame_.pipeline && !gpipe;
  const auto layers = static_cast<double>(rank.layers.all());
  const double leaving = stays && v_ > 1 ? positive(1 - static_cast<double>(most_) / layers) : 1;
  const double last = stays && v_ == 1 ? 2 * rank.largest_kept_bytes : 0;
  return leaving * positive(rank.layers_kept_bytes - last) /
         prices_.options().bandwidth_to(frame_.offload);
}

}  // namespace egret::parallel
