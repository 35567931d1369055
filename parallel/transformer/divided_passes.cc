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

  // The end of all streams. Computation beside an exchange takes longer.
  double seconds() const {
    const double end = std::max({computed_, gathered_, scattered_});
    const double hidden = std::max(0.0, exchanging_ - (end - computing_));
    const double slowdown = system_.accelerator.overlap_slowdown;
    return end + hidden * slowdown / (1 + slowdown);
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
    double start = std::max(computed_, scattered_first_);
    if (zero_ == 3) {
      // While the layer before is computed.
      gathered_ = std::max(gathered_, before_) +
                  exchange_s(piece, CollectiveKind::kAllGather, setup_.weight_bytes());
      start = std::max(start, gathered_);
    }
    const double seconds = std::max(time.device_s, time.host_s);
    computing_ += seconds;
    before_ = std::exchange(computed_, start + seconds);
    if (!backward) return;
    scattered_ =
        std::max(scattered_, computed_) + exchange_s(piece, CollectiveKind::kReduceScatter,
                                                     static_cast<double>(setup_.gradient_bytes));
    if (!setup_.overlap_gradients) scattered_first_ = scattered_;
  }

  const System& system_;
  const TrainingSetup& setup_;
  const std::int64_t zero_;
  double computed_ = 0, before_ = 0;  // ends of the last layer's pass, and of the one before
  double gathered_ = 0, scattered_ = 0;
  double scattered_first_ = 0;  // what computation waits for
  double computing_ = 0, exchanging_ = 0;
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
    double before = 0;
    for (const StagePiece& piece : stage.pieces) {
      double here = 0;
      for (const auto& [count, group] : parts_of(setup, piece)) here += group.size > 1 ? count : 0;
      most = std::max(most, before + here);
      before = here;
    }
  }
  return setup.weight_bytes() * most;
}

}  // namespace egret::parallel
