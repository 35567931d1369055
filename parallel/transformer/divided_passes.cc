// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/divided_passes.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>
#include <vector>

#include "parallel/transformer/experts.h"

namespace egret::parallel {
namespace {

using Parts = std::array<std::pair<double, RankGroup>, 2>;

// Parameters without experts, and experts, with the ranks that divide them.
Parts parts_of(const TrainingSetup& setup, const StagePiece& piece) {
  const std::int64_t copies = setup.data * setup.context;
  return {{{piece.parameters - piece.expert_parameters, {copies, setup.tensor}},
           {piece.expert_parameters, expert_data_group(setup, copies)}}};
}

// The streams of one device: computation, the gathering of weights, the scattering of gradients.
class Streams {
 public:
  Streams(const System& system, const TrainingSetup& setup, std::int64_t zero)
      : system_(system), setup_(setup), zero_(zero) {}

  void micro_batch(std::span<const StageCosts> stages) {
    for (const StageCosts& stage : stages) {
      for (const StagePiece& piece : stage.pieces) pass(piece, piece.forward, false);
    }
    for (const StageCosts& stage : std::views::reverse(stages)) {
      for (const StagePiece& piece : std::views::reverse(stage.pieces))
        pass(piece, piece.backward, true);
    }
  }

  // The end of all streams, which share the links. Computation beside an exchange takes longer; the
  // gradients of the last layer follow it.
  double seconds() const {
    const double end = std::max({computed_, gathered_, scattered_});
    const double hidden = std::max(0.0, exchanging_ - (end - computing_));
    const double slowdown = system_.accelerator.overlap_slowdown;
    const double longer = hidden * slowdown / (1 + slowdown);
    return std::max({end, computed_ + longer + last_scatter_s_, exchanging_});
  }

 private:
  double exchange_s(const StagePiece& piece, CollectiveKind kind, double element) {
    double all = 0;
    for (const auto& [count, group] : parts_of(setup_, piece)) {
      if (count > 0 && group.size > 1)
        all += system_.fabric.collective(kind, element * count, group).seconds();
    }
    exchanging_ += all;
    return all;
  }

  void pass(const StagePiece& piece, const KernelTime& time, bool backward) {
    double start = std::max(computed_, scattered_first_), gather_s = 0;
    if (zero_ == 3) {
      // While the layer before is computed.
      gather_s = exchange_s(piece, CollectiveKind::kAllGather, setup_.weight_bytes());
      gathered_ = std::max(gathered_, before_) + gather_s;
      start = std::max(start, gathered_);
    }
    const double seconds = std::max(time.device_s, time.host_s);
    computing_ += seconds;
    before_ = std::exchange(computed_, start + seconds);
    if (!backward) return;
    const double scatter_s = exchange_s(piece, CollectiveKind::kReduceScatter,
                                        static_cast<double>(setup_.gradient_bytes));
    scattered_ = std::max(scattered_, computed_) + scatter_s;
    last_scatter_s_ = scatter_s;
    if (setup_.overlap_gradients) return;
    // The weights of the layer after next travel at the same time, over the same links.
    scattered_ += std::min(scatter_s, gather_s);
    scattered_first_ = scattered_;
  }

  const System& system_;
  const TrainingSetup& setup_;
  const std::int64_t zero_;
  double computed_ = 0, before_ = 0;  // ends of the last layer's pass, and of the one before
  double gathered_ = 0, scattered_ = 0;
  double scattered_first_ = 0;  // what computation waits for
  double last_scatter_s_ = 0;
  double computing_ = 0, exchanging_ = 0;  // in all
};

}  // namespace

bool has_copies(const TrainingSetup& setup) {
  const std::int64_t copies = setup.data * setup.context;
  return copies > 1 || (setup.experts > 0 && expert_data_group(setup, copies).size > 1);
}

double divided_passes_s(const System& system, const TrainingSetup& setup, std::int64_t zero,
                        std::span<const StageCosts> stages, std::int64_t micro_batches) {
  constexpr std::int64_t kUntilSteady = 4;
  Streams streams(system, setup, zero);
  double before = 0, now = 0;
  for (std::int64_t i = 0; i < std::min(micro_batches, kUntilSteady); ++i) {
    streams.micro_batch(stages);
    before = std::exchange(now, streams.seconds());
  }
  return now + static_cast<double>(std::max<std::int64_t>(0, micro_batches - kUntilSteady)) *
                   (now - before);
}

double gathered_bytes(const TrainingSetup& setup, std::span<const StageCosts> stages) {
  double most = 0;
  for (const StageCosts& stage : stages) {
    std::vector<double> held;
    for (const StagePiece& piece : stage.pieces) {
      double& here = held.emplace_back(0);
      for (const auto& [count, group] : parts_of(setup, piece)) here += group.size > 1 ? count : 0;
    }
    // The first and the last layer follow themselves, in the other direction.
    most = std::max({most, 2 * held.front(), 2 * held.back()});
    for (std::size_t i = 1; i < held.size(); ++i) most = std::max(most, held[i - 1] + held[i]);
  }
  return setup.weight_bytes() * most;
}

}  // namespace egret::parallel
