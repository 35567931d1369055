// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/pipeline_simulation.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "parallel/pipeline/block_moves.h"

namespace egret::parallel {
namespace {

enum Stream : std::uint32_t { kCompute, kSendForward, kSendBackward, kFirstExchange };

class PipelineTasks {
 public:
  PipelineTasks(const PipelineLayout& layout, const PipelineCosts& costs)
      : layout_(layout), costs_(costs) {
    for (std::int64_t rank = 0; rank < layout.ranks(); ++rank)
      links_.push_back(graph_.add_link(costs.bytes_per_second));
    const std::int64_t of_host = costs.ranks_per_host > 0 ? costs.ranks_per_host : layout.ranks();
    for (std::int64_t rank = 0; rank < layout.ranks() && costs.cores > 0; ++rank) {
      cores_.push_back(rank % of_host == 0 ? graph_.add_link(costs.cores) : cores_.back());
    }
    busy_.assign(static_cast<std::size_t>(layout.ranks()), 0);
    passes_.resize(busy_.size());
  }

  TaskGraph build() {
    for (std::int64_t rank = 0; rank < layout_.ranks(); ++rank) add_passes(rank);
    for (const auto& [task, key] : awaits_) graph_.add_dependency(task, arrivals_.at(key));
    std::vector<std::vector<TaskId>> summed(busy_.size());
    for (std::size_t e = 0; e < layout_.exchanges.size(); ++e) add_exchange(e, summed);
    std::vector<TaskId> updated;
    for (std::int64_t rank = 0; rank < layout_.ranks(); ++rank) {
      const double update = costs_.update_s[at(layout_.place_of(rank).pipeline_rank)];
      updated.push_back(compute(rank, update, summed[at(rank)]));
    }
    add_loss(updated);
    return std::move(graph_);
  }

  double busiest_s() const { return *std::ranges::max_element(busy_); }

 private:
  // Whether gradients, the boundary after a stage, sender, receiver, the micro-batch.
  using MessageKey = std::tuple<bool, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  struct Message {
    TaskId sent, arrived;
  };
  struct Pass {
    std::int64_t stage;
    bool ends_gradients;  // of weights, for one micro-batch
    TaskId task;
  };

  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

  TaskId compute(std::int64_t rank, double seconds, std::vector<TaskId> after) {
    busy_[at(rank)] += seconds;
    SimulatedTask task{.device = static_cast<std::uint32_t>(rank), .stream = kCompute};
    task.after = std::move(after);
    if (!cores_.empty() && seconds > 0) {
      // A second of work is a byte: a task takes at most one core.
      task.work = {.seconds = 0, .bytes = seconds, .most_bytes_per_second = 1};
      task.links = {cores_[at(rank)]};
    } else {
      task.effect = TaskEffect::kComputes;
      task.work = {.seconds = seconds};
    }
    return graph_.add(std::move(task));
  }

  // LANE: the rank on whose stream it goes; FROM: the one whose link it uses. The next message of
  // the stream does not wait for the latency of this one.
  Message message(std::int64_t lane, std::uint32_t stream, std::int64_t from, double bytes,
                  std::vector<TaskId> after) {
    const auto device = static_cast<std::uint32_t>(lane);
    SimulatedTask sent{.device = device,
                       .stream = stream,
                       .effect = TaskEffect::kCommunicates,
                       .work = {.bytes = bytes}};
    if (bytes > 0) sent.links = {links_[at(from)]};
    sent.after = std::move(after);
    SimulatedTask arrives{.device = device, .stream = first_delay_ + delays_++};
    arrives.work = {.seconds = time_of(costs_.messages, bytes).latency_s};
    const TaskId first = graph_.add(std::move(sent));
    arrives.after = {first};
    return {first, graph_.add(std::move(arrives))};
  }

  void add_passes(std::int64_t rank) {
    const PipelineSchedule& schedule = layout_.schedule;
    const RankPlace own = layout_.place_of(rank);
    for (const PipelinePass& pass : schedule.passes[at(own.pipeline_rank)]) {
      const bool forward = pass.kind == PassKind::kForward;
      const std::int64_t from = pass.stage + (forward ? -1 : 1);
      const std::int64_t to = pass.stage + (forward ? 1 : -1);
      const bool receives = pass.kind != PassKind::kWeights && from >= 0 && from < schedule.stages;
      const bool sends = pass.kind != PassKind::kWeights && to >= 0 && to < schedule.stages;
      // Stages of one rank hand values over.
      std::vector<TaskId> after;
      std::vector<MessageKey> waits;
      for (std::int64_t k = 0; receives && k < layout_.group_size_of(from, pass.micro_batch); ++k) {
        const std::int64_t boundary = std::min(from, pass.stage);
        const std::int64_t sender = layout_.rank_of(own.replica, from, pass.micro_batch, k);
        const MessageKey in{!forward, boundary, sender, rank, pass.micro_batch};
        const double bytes = bytes_over(boundary, !forward, k, own.place);
        if (bytes == 0) continue;
        if (sender == rank || costs_.overlap) {
          waits.push_back(in);
          continue;
        }
        const Message moved = message(rank, kCompute, sender, bytes, {});
        awaits_.emplace_back(moved.sent, in);
        after.push_back(moved.arrived);
      }
      const double seconds = costs_.stages[at(pass.stage)][static_cast<std::size_t>(pass.kind)];
      const TaskId task = compute(rank, seconds, std::move(after));
      for (const MessageKey& in : waits) awaits_.emplace_back(task, in);
      for (std::int64_t k = 0; sends && k < layout_.group_size_of(to, pass.micro_batch); ++k) {
        const std::int64_t boundary = std::min(to, pass.stage);
        const std::int64_t receiver = layout_.rank_of(own.replica, to, pass.micro_batch, k);
        const double bytes = bytes_over(boundary, !forward, own.place, k);
        if (bytes == 0) continue;
        const auto stream = forward ? kSendForward : kSendBackward;
        arrivals_[{!forward, boundary, rank, receiver, pass.micro_batch}] =
            receiver != rank && costs_.overlap ? message(rank, stream, rank, bytes, {task}).arrived
                                               : task;
        if (receiver != rank) compute(rank, time_of(costs_.messages, bytes).sender_s, {});
      }
      const bool ends = pass.kind == PassKind::kBackward || pass.kind == PassKind::kWeights;
      passes_[at(rank)].push_back({pass.stage, ends, task});
    }
  }

  // From one place of the sending group to one of the receiving group.
  double bytes_over(std::int64_t boundary, bool backward, std::int64_t from, std::int64_t to) {
    const auto [known, is_new] = moves_.try_emplace({boundary, backward, to});
    if (is_new) {
      const BoundaryMoves moves = boundary_moves(layout_.step, boundary, backward, to);
      for (std::size_t place = 0; place < moves.by_place.size(); ++place)
        known->second.push_back(static_cast<double>(moves.bytes(static_cast<std::int64_t>(place))));
    }
    return known->second[at(from)];
  }

  // Of a sum, beside its messages.
  TaskId host(std::int64_t rank, std::uint32_t stream, double seconds, std::vector<TaskId> after) {
    SimulatedTask task{.device = static_cast<std::uint32_t>(rank), .stream = stream};
    task.work = {.seconds = seconds};
    task.after = std::move(after);
    return graph_.add(std::move(task));
  }

  // Two rounds of messages; each round begins when its rank has the one before from all. A rank
  // joins its gradients and cuts them into parts, adds the parts that it gets and copies the sum
  // for each other rank, and writes all sums back.
  void add_exchange(std::size_t e, std::vector<std::vector<TaskId>>& summed) {
    const GradientExchange& exchange = layout_.exchanges[e];
    std::vector<TaskId> ready;
    for (const std::int64_t rank : exchange.ranks) {
      for (const Pass& pass : passes_[at(rank)]) {
        const bool counts = pass.ends_gradients &&
                            (!costs_.overlap || std::ranges::find(exchange.stages, pass.stage) !=
                                                    exchange.stages.end());
        if (counts) ready.push_back(pass.task);
      }
    }
    const auto count = static_cast<double>(exchange.ranks.size());
    const double bytes = (count - 1) / count * exchange.bytes;
    const auto& [copied, added] = costs_.sums;
    const double before_s[] = {2 * copied * exchange.bytes,
                               (copied + (count - 1) / count * added) * exchange.bytes};
    const auto stream = costs_.overlap ? kFirstExchange + static_cast<std::uint32_t>(e) : kCompute;
    for (const double seconds : before_s) {
      std::vector<TaskId> sent;
      for (const std::int64_t rank : exchange.ranks) {
        const TaskId made = host(rank, stream, seconds, ready);
        sent.push_back(message(rank, stream, rank, bytes, {made}).arrived);
      }
      ready = std::move(sent);
    }
    for (const std::int64_t rank : exchange.ranks)
      summed[at(rank)].push_back(host(rank, stream, 2 * copied * exchange.bytes, ready));
  }

  // Ranks with a part of the loss send it to rank 0, which sends the mean to all.
  void add_loss(const std::vector<TaskId>& updated) {
    std::vector<TaskId> known = {updated.front()};
    for (const std::int64_t rank : layout_.loss_ranks()) {
      if (rank != 0)
        known.push_back(message(rank, kSendForward, rank, 0, {updated[at(rank)]}).arrived);
    }
    // The messages to all ranks travel together.
    if (layout_.ranks() > 1) message(0, kSendBackward, 0, 0, std::move(known));
  }

  const PipelineLayout& layout_;
  const PipelineCosts& costs_;
  // Streams from here on have one task: a message under way.
  const std::uint32_t first_delay_ =
      kFirstExchange + static_cast<std::uint32_t>(layout_.exchanges.size());
  std::uint32_t delays_ = 0;
  TaskGraph graph_;
  std::vector<LinkId> links_;              // by rank
  std::vector<LinkId> cores_;              // by rank: of its host; empty where ranks have their own
  std::vector<double> busy_;               // by rank
  std::vector<std::vector<Pass>> passes_;  // by rank
  std::map<MessageKey, TaskId> arrivals_;
  // Bytes by sending place, for each boundary, direction and receiving place.
  std::map<std::tuple<std::int64_t, bool, std::int64_t>, std::vector<double>> moves_;
  std::vector<std::pair<TaskId, MessageKey>> awaits_;
};

}  // namespace

MessageTime time_of(std::span<const MessageTime> times, double bytes) {
  const auto next = std::ranges::upper_bound(times, bytes, {}, &MessageTime::bytes);
  if (times.empty()) return {.bytes = bytes};
  MessageTime result = next == times.end() ? *std::prev(next) : *next;
  if (next != times.begin() && next != times.end()) {
    const MessageTime& last = *std::prev(next);
    const double part = (bytes - last.bytes) / (next->bytes - last.bytes);
    result.latency_s = std::lerp(last.latency_s, next->latency_s, part);
    result.sender_s = std::lerp(last.sender_s, next->sender_s, part);
  }
  result.bytes = bytes;
  return result;
}

base::Result<PipelinePrediction> simulate_pipeline(const PipelineLayout& layout,
                                                   const PipelineCosts& costs) {
  PipelineTasks tasks(layout, costs);
  EGRET_ASSIGN_OR_RETURN(EventSimulator simulator,
                         EventSimulator::make(tasks.build(), costs.overlap_slowdown));
  EGRET_RETURN_IF_ERROR(simulator.run());
  return PipelinePrediction{simulator.timeline().end_s, tasks.busiest_s(),
                            simulator.graph().size()};
}

}  // namespace egret::parallel
