// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/pipeline_run.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "backends/named_backend.h"
#include "base/lack_of_memory.h"
#include "runtime/pipeline/link_time.h"
#include "runtime/pipeline/tensor_bytes.h"

namespace egret::runtime {

using base::Result;
using base::Status;

namespace {

// No exception may leave a rank's thread.
Status within_memory(const std::function<Status(std::size_t at)>& body, std::size_t at) {
  try {
    return body(at);
  } catch (const std::exception& thrown) {
    if (!base::is_lack_of_memory(thrown)) throw;
    return base::limit_hit("rank " + std::to_string(at) + ": not enough memory");
  }
}

}  // namespace

Status check_ranks(const parallel::PipelineLayout& layout, const Ranks& ranks) {
  if (!ranks.is_distributed() || ranks.size() == layout.ranks()) return base::ok();
  return base::usage_error("the pipeline is for " + std::to_string(layout.ranks()) +
                           " ranks, but mpirun started " + std::to_string(ranks.size()));
}

Result<std::unique_ptr<PipelineRun>> PipelineRun::start(parallel::PipelineLayout layout,
                                                        const ir::TrainingOptions& training,
                                                        const Ranks& ranks,
                                                        const PipelineRunOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const backends::Backend* backend,
                         backends::backend_called(options.backend));
  EGRET_RETURN_IF_ERROR(backend->takes_precision(options.precision));
  EGRET_RETURN_IF_ERROR(backend->availability());
  EGRET_RETURN_IF_ERROR(check_ranks(layout, ranks));
  const bool overlap = options.overlap && ranks.can_overlap();
  std::unique_ptr<PipelineRun> run(new PipelineRun(std::move(layout), overlap));
  const std::int64_t count = run->layout_.ranks();
  if (ranks.is_distributed()) {
    run->first_rank_ = ranks.rank();
    run->ranks_per_host_ = ranks.size_of_host();
    EGRET_ASSIGN_OR_RETURN(auto messages, ranks.messages(overlap));
    run->messages_.push_back(std::move(messages));
  } else {
    run->local_ = std::make_unique<LocalMessages>(count, ranks.limit_exchange_s());
    for (std::int64_t rank = 0; rank < count; ++rank)
      run->messages_.push_back(run->local_->of(rank));
  }
  run->on_device_ = options.backend == "cuda";
  // Ranks share the machine, so each uses one thread.
  const backends::CompileOptions compile{.threads = 1, .precision = options.precision};
  for (std::size_t at = 0; at < run->messages_.size(); ++at) {
    EGRET_ASSIGN_OR_RETURN(
        auto rank,
        PipelineRank::make(run->layout_, training, run->first_rank_ + static_cast<std::int64_t>(at),
                           overlap, *backend, compile, *run->messages_[at]));
    run->ranks_.push_back(std::move(rank));
  }
  return run;
}

// Ranks without a thread of their own would be waited for, so the first that gets none ends the
// others too.
Status PipelineRun::on_ranks(const std::function<Status(std::size_t at)>& body) {
  if (local_ == nullptr) return body(0);
  std::mutex mutex;
  Status first;
  const auto note = [&](std::size_t at, const Status& failure) {
    const auto is_consequence = [](const Status& status) {
      return status.code() == base::StatusCode::kRankFailed;
    };
    {
      const std::lock_guard lock(mutex);
      if (first.ok() || (is_consequence(first) && !is_consequence(failure))) first = failure;
    }
    // The others wait for this rank.
    local_->fail({base::StatusCode::kRankFailed, "rank " + std::to_string(at) + " failed"});
  };
  std::vector<std::thread> threads;
  threads.reserve(ranks_.size());
  for (std::size_t at = 0; at < ranks_.size(); ++at) {
    try {
      threads.emplace_back([&, at] {
        const Status failure = within_memory(body, at);
        if (!failure.ok()) note(at, failure);
      });
    } catch (const std::exception& refused) {
      if (!base::is_lack_of_memory(refused)) throw;
      note(at, base::limit_hit("the system grants no thread for rank " + std::to_string(at)));
      break;
    }
  }
  for (std::thread& thread : threads) thread.join();
  return first;
}

Status PipelineRun::begin(std::span<const ir::Tensor> inputs) {
  for (const auto& rank : ranks_) EGRET_RETURN_IF_ERROR(rank->begin(inputs));
  return base::ok();
}

Result<double> PipelineRun::step() {
  std::vector<double> losses(ranks_.size());
  EGRET_RETURN_IF_ERROR(on_ranks([&](std::size_t at) -> Status {
    EGRET_ASSIGN_OR_RETURN(losses[at], ranks_[at]->step());
    return base::ok();
  }));
  return losses.front();
}

Result<std::vector<ir::Tensor>> PipelineRun::end() {
  std::vector<std::vector<ir::Tensor>> variables(ranks_.size());
  EGRET_RETURN_IF_ERROR(on_ranks([&](std::size_t at) -> Status {
    EGRET_ASSIGN_OR_RETURN(variables[at], ranks_[at]->end());
    return base::ok();
  }));
  return std::move(variables.front());
}

std::int64_t PipelineRun::first_free_tag() const {
  const parallel::PipelineSchedule& schedule = layout_.schedule;
  const std::size_t others =
      2 * layout_.exchanges.size() + layout_.step.loss.initial.size() + layout_.tied.size() + 8;
  return 2 * (schedule.stages * schedule.micro_batches + static_cast<std::int64_t>(others));
}

// All ranks time at the same time, as they compute at the same time. Rank 0 keeps the longest of
// each pass.
Status PipelineRun::gather_costs(std::size_t at, const TimingOptions& timing,
                                 parallel::PipelineCosts& costs) {
  PipelineRank& rank = *ranks_[at];
  Messages& messages = *messages_[at];
  const std::int64_t here = first_rank_ + static_cast<std::int64_t>(at);
  const std::int64_t tag = first_free_tag();
  if (layout_.ranks() > 1) {
    EGRET_ASSIGN_OR_RETURN(const LinkTime link,
                           time_link(messages, here, tag, 2 * timing.repetitions));
    if (here == 0) {
      costs.messages = link.messages;
      costs.bytes_per_second = link.bytes_per_second;
    }
  }
  EGRET_ASSIGN_OR_RETURN(RankSeconds work, rank.time_work(timing, base::ok));
  if (overlap_ && local_ == nullptr && !timing.processor_time) {
    MessagesBeside beside(messages, here, layout_.ranks(), tag + 3);
    EGRET_ASSIGN_OR_RETURN(const RankSeconds slowed,
                           rank.time_work(timing, [&] { return beside.keep(); }));
    EGRET_RETURN_IF_ERROR(beside.end());
    // Before and after, as the machine's speed drifts.
    EGRET_ASSIGN_OR_RETURN(const RankSeconds again, rank.time_work(timing, base::ok));
    work.average(again);
    if (here == 0) costs.overlap_slowdown = std::max(0.0, slowed.total() / work.total() - 1);
  }
  EGRET_RETURN_IF_ERROR(messages.send(0, tag + 1, bytes_of(work.update_s)));
  if (here == 0) costs.sums = time_sums(layout_.exchanges, timing.repetitions);
  for (const StageSeconds& stage : work.stages) {
    for (const double seconds : stage.passes)
      EGRET_RETURN_IF_ERROR(messages.send(0, tag + 2, bytes_of(seconds)));
  }
  if (here != 0) return base::ok();
  costs.stages.assign(layout_.step.stages.size(), {});
  costs.update_s.assign(static_cast<std::size_t>(layout_.schedule.ranks), 0);
  for (std::int64_t from = 0; from < layout_.ranks(); ++from) {
    const std::int64_t group = layout_.place_of(from).pipeline_rank;
    const auto next = [&](std::int64_t which) -> Result<double> {
      EGRET_ASSIGN_OR_RETURN(const MessageBytes bytes, messages.receive(from, which));
      return number_of(bytes);
    };
    EGRET_ASSIGN_OR_RETURN(const double update, next(tag + 1));
    double& longest = costs.update_s[static_cast<std::size_t>(group)];
    longest = std::max(longest, update);
    for (const std::int64_t stage : layout_.stages_of(group)) {
      for (double& seconds : costs.stages[static_cast<std::size_t>(stage)]) {
        EGRET_ASSIGN_OR_RETURN(const double one, next(tag + 2));
        seconds = std::max(seconds, one);
      }
    }
  }
  return base::ok();
}

Result<parallel::PipelinePrediction> PipelineRun::predict(int repetitions, double cores) {
  parallel::PipelineCosts costs;
  const std::int64_t sharing = ranks_per_host_ > 0 ? ranks_per_host_ : layout_.ranks();
  const bool share_cores = cores < static_cast<double>(sharing) && !on_device_;
  const TimingOptions timing{.repetitions = repetitions, .processor_time = share_cores};
  EGRET_RETURN_IF_ERROR(on_ranks([&](std::size_t at) { return gather_costs(at, timing, costs); }));
  if (!reports()) return parallel::PipelinePrediction{};
  costs.overlap = overlap_;
  if (share_cores) {
    costs.cores = cores;
    costs.ranks_per_host = sharing;
  }
  return parallel::simulate_pipeline(layout_, costs);
}

}  // namespace egret::runtime
