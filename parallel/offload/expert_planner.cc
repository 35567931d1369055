// SPDX-License-Identifier: Apache-2.0
#include "parallel/offload/expert_planner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "base/formats/units.h"
#include "base/stop.h"
#include "base/timer.h"
#include "parallel/offload/block_costs.h"
#include "parallel/offload/generation_kernels.h"

namespace egret::parallel {
namespace {

// Experts whose weights arrive while another one is computed.
constexpr double kCopyBuffers = 2;

// One layer in the prefill or in decoding, over all outcomes.
struct ExpectedLayer {
  double seconds = 0, copied = 0, on_cores = 0, active = 0;
};

class ExpertPlanner {
 public:
  ExpertPlanner(const HostedSystem& system, const GenerationSetup& setup,
                std::vector<std::vector<double>> popularity)
      : system_(system),
        setup_(setup),
        times_(system, setup),
        batch_(std::max<std::int64_t>(1, setup.gpu_batch)),
        steps_(static_cast<double>(setup.output_tokens - 1)),
        popularity_(std::move(popularity)) {
    for (const std::vector<double>& row : popularity_) {
      std::vector<std::size_t>& order = order_.emplace_back(row.size());
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order,
                               [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
      // Layers with equal popularity have equal times.
      kind_.push_back(kinds_.try_emplace(row, kinds_.size()).first->second);
    }
    find_memory();
    find_common_times();
  }

  base::Result<ExpertPlan> plan() {
    const base::Stopwatch watch;
    if (room_ < 0) {
      return base::limit_hit("what is not an expert needs " + base::format_bytes(fixed_bytes_) +
                             " of the accelerator's memory, and two experts on their way " +
                             base::format_bytes(kCopyBuffers * times_.bytes()) +
                             "; there is not so much");
    }
    ExpertPlan plan;
    plan.setup = setup_;
    plan.batch = batch_;
    plan.expert_bytes = times_.bytes();
    plan.copy_s = times_.copy_s();
    plan.cores_s = times_.cores_s(1);
    plan.crossover = times_.crossover(1'000'000);
    plan.slots = slots_;
    EGRET_ASSIGN_OR_RETURN(const auto costs, costs_of_layers());
    plan.best = placed("egret", "experts by a dynamic program over layers, missing ones divided",
                       divide_slots(costs, slots_), ExpertRule::kTogether);
    if (!plan.best.exists) return base::limit_hit("the host's memory does not hold the experts");
    const std::vector<std::int64_t> popular = most_popular();
    plan.rules.push_back(placed("fiddler", "the most popular experts; each missing one by itself",
                                popular, ExpertRule::kEach));
    plan.rules.push_back(placed("copy-missing", "the most popular experts; missing ones are copied",
                                popular, ExpertRule::kCopy));
    plan.rules.push_back(copied_all());
    plan.rules.push_back(whole_layers());
    if (base::stop_requested()) return base::limit_hit("interrupted");
    plan.seconds = watch.seconds();
    return plan;
  }

 private:
  std::size_t layers() const { return static_cast<std::size_t>(setup_.layers); }
  double experts() const { return static_cast<double>(setup_.experts); }

  void find_memory() {
    const BlockSizes sizes(setup_);
    const TrainingSetup model = setup_.as_training(1);
    layer_bytes_ = (model.layer_parameters(LayerKind::kExperts) -
                    model.expert_parameters(LayerKind::kExperts)) *
                   kFullBytes;
    const auto count = static_cast<double>(setup_.layers);
    const auto batch = static_cast<double>(batch_);
    cache_bytes_ = batch * sizes.longest_context * sizes.cache_token_bytes;  // of a layer
    const double tokens = batch * static_cast<double>(setup_.prompt);
    const double columns = setup_.query_elements() + setup_.cache_elements();
    const double scores = setup_.flash_attention
                              ? 0
                              : 2 * tokens * static_cast<double>(setup_.heads) *
                                    static_cast<double>(setup_.prompt) * kFullBytes;
    const double attention = tokens * (columns + setup_.query_elements()) * kFullBytes + scores;
    const double inner = tokens * static_cast<double>(setup_.top_k) * (setup_.gated ? 3 : 2) *
                         static_cast<double>(model.expert_ffn_size()) * kFullBytes / experts();
    work_bytes_ = 2 * tokens * sizes.token_bytes + std::max(attention, inner);
    ends_bytes_ = sizes.head_bytes + sizes.table_bytes;
    fixed_bytes_ = count * (layer_bytes_ + cache_bytes_) + ends_bytes_ + work_bytes_;
    const double device = system_.accelerator.memory_bytes - system_.accelerator.reserved_bytes;
    const double all = count * experts();
    room_ = device - fixed_bytes_;
    if (room_ >= all * times_.bytes()) {
      slots_ = static_cast<std::int64_t>(all);
    } else {
      room_ -= kCopyBuffers * times_.bytes();
      slots_ = static_cast<std::int64_t>(std::max(0.0, room_) / times_.bytes());
    }
  }

  void find_common_times() {
    const auto batch = static_cast<double>(batch_);
    const double context = BlockSizes(setup_).mean_context;
    const double router = system_.accelerator.matmul_seconds(
        1, batch, experts(), static_cast<double>(setup_.hidden), Precision::kF16);
    const DecodeParts parts = decode_layer_s(system_, setup_, batch_, /*feed_forward=*/false);
    common_prefill_s_ = prefill_attention_s(system_, setup_, batch_) + router;
    common_decode_s_ =
        parts.before_s + parts.after_s + attention_s(system_, setup_, batch, context) + router;
    ends_prefill_s_ = head_s(system_, setup_, batch_, batch * static_cast<double>(setup_.prompt));
    ends_decode_s_ = head_s(system_, setup_, batch_, batch);
  }

  const std::vector<ExpertDraw>& draws(std::size_t kind, const std::vector<double>& popularity,
                                       std::int64_t tokens) {
    auto& found = draws_[{kind, tokens}];
    if (found.empty()) found = expert_draws(popularity, setup_.top_k, tokens);
    return found;
  }

  ExpectedLayer expected(std::size_t layer, std::int64_t resident, ExpertRule rule,
                         std::int64_t tokens) {
    const std::size_t kind = kind_[layer];
    const auto key = std::tuple(kind, resident, static_cast<int>(rule), tokens);
    if (const auto found = expected_.find(key); found != expected_.end()) return found->second;
    std::vector<bool> is_resident(popularity_[layer].size(), false);
    for (std::int64_t i = 0; i < resident; ++i)
      is_resident[order_[layer][static_cast<std::size_t>(i)]] = true;
    ExpectedLayer sum;
    for (const ExpertDraw& draw : draws(kind, popularity_[layer], tokens)) {
      std::vector<ActiveExpert> active;
      for (std::size_t e = 0; e < draw.tokens.size(); ++e) {
        if (draw.tokens[e] > 0) active.push_back({draw.tokens[e], is_resident[e]});
      }
      const ExpertLayerTime time = times_.layer(active, rule);
      sum.seconds += draw.weight * time.seconds;
      sum.copied += draw.weight * time.copied;
      sum.on_cores += draw.weight * time.on_cores;
      sum.active += draw.weight * static_cast<double>(active.size());
    }
    expected_[key] = sum;
    return sum;
  }

  std::int64_t prefill_tokens() const { return batch_ * setup_.prompt; }

  base::Result<std::vector<std::vector<double>>> costs_of_layers() {
    std::vector<std::vector<double>> costs(layers());
    const std::int64_t most = std::min(setup_.experts, slots_);
    for (std::size_t layer = 0; layer < layers(); ++layer) {
      for (std::int64_t r = 0; r <= most; ++r) {
        if (base::stop_requested()) return base::limit_hit("interrupted");
        costs[layer].push_back(expected(layer, r, ExpertRule::kTogether, prefill_tokens()).seconds +
                               steps_ * expected(layer, r, ExpertRule::kTogether, batch_).seconds);
      }
    }
    return costs;
  }

  // Of all layers together; ties go to all layers in turn.
  std::vector<std::int64_t> most_popular() const {
    struct One {
      double popularity;
      std::size_t rank, layer;
    };
    std::vector<One> all;
    for (std::size_t layer = 0; layer < layers(); ++layer) {
      for (std::size_t rank = 0; rank < order_[layer].size(); ++rank)
        all.push_back({popularity_[layer][order_[layer][rank]], rank, layer});
    }
    std::ranges::stable_sort(all, [](const One& a, const One& b) {
      return a.popularity != b.popularity ? a.popularity > b.popularity : a.rank < b.rank;
    });
    std::vector<std::int64_t> resident(layers(), 0);
    for (std::int64_t i = 0; i < slots_; ++i) ++resident[all[static_cast<std::size_t>(i)].layer];
    return resident;
  }

  void finish(ExpertSpeed& speed) const {
    speed.seconds = speed.prefill_s + steps_ * speed.decode_step_s;
    speed.tokens_per_s = static_cast<double>(batch_ * setup_.output_tokens) / speed.seconds;
  }

  ExpertPolicy placed(const char* name, const char* method, std::vector<std::int64_t> resident,
                      ExpertRule rule) {
    ExpertPolicy policy{name, method, std::move(resident)};
    ExpertSpeed& speed = policy.speed;
    speed.prefill_s = ends_prefill_s_;
    speed.decode_step_s = ends_decode_s_;
    double held = 0;
    for (std::size_t layer = 0; layer < layers(); ++layer) {
      const std::int64_t r = policy.resident[layer];
      held += static_cast<double>(r);
      const ExpectedLayer prompt = expected(layer, r, rule, prefill_tokens());
      const ExpectedLayer token = expected(layer, r, rule, batch_);
      speed.prefill_s += common_prefill_s_ + prompt.seconds;
      speed.decode_step_s += common_decode_s_ + token.seconds;
      speed.copied += token.copied;
      speed.on_cores += token.on_cores;
      speed.active += token.active;
    }
    finish(speed);
    const double missing = experts() * static_cast<double>(layers()) - held;
    policy.device_bytes = fixed_bytes_ + (held + (missing > 0 ? kCopyBuffers : 0)) * times_.bytes();
    policy.host_bytes = missing * times_.bytes();
    policy.exists = policy.host_bytes <= system_.host->usable_bytes();
    return policy;
  }

  // A layer's experts arrive while the layer before is computed.
  ExpertPolicy copied_all() {
    ExpertPolicy policy = placed("copy-all", "all experts are copied in each pass",
                                 std::vector<std::int64_t>(layers(), 0), ExpertRule::kCopy);
    const double copies_s = experts() * times_.copy_s();
    const std::vector<std::int64_t> all(layers(), setup_.experts);
    const ExpertPolicy resident = placed("", "", all, ExpertRule::kCopy);
    const auto count = static_cast<double>(layers());
    policy.speed.prefill_s = std::max(count * copies_s, resident.speed.prefill_s);
    policy.speed.decode_step_s = std::max(count * copies_s, resident.speed.decode_step_s);
    policy.speed.copied = count * experts();
    policy.speed.on_cores = 0;
    finish(policy.speed);
    // Two layers of experts are on the accelerator.
    policy.device_bytes = fixed_bytes_ + 2 * experts() * times_.bytes();
    if (policy.device_bytes > system_.accelerator.memory_bytes - system_.accelerator.reserved_bytes)
      policy.exists = false;
    return policy;
  }

  ExpertPolicy whole_layers() {
    const auto count = static_cast<double>(layers());
    const double each = layer_bytes_ + cache_bytes_ + experts() * times_.bytes();
    const double device = system_.accelerator.memory_bytes - system_.accelerator.reserved_bytes;
    const double room = device - ends_bytes_ - work_bytes_;
    const double held = std::clamp(std::floor(room / each), 0.0, count);
    std::vector<std::int64_t> resident(layers(), 0);
    std::fill_n(resident.begin(), static_cast<std::size_t>(held), setup_.experts);
    ExpertPolicy policy =
        placed("whole-layers", "whole layers on the accelerator, the others on the cores", resident,
               ExpertRule::kCores);
    // The cores compute the rest of their layers, too.
    const double on_cores = count - held;
    const Host& host = *system_.host;
    const auto attention = [&](double tokens, double context) {
      const double numbers = layer_bytes_ / kFullBytes;
      return host.seconds(2 * tokens * numbers, layer_bytes_) + 4 * host.seconds_per_kernel +
             host.seconds(
                 4 * tokens * setup_.query_elements() * context,
                 static_cast<double>(batch_) * context * setup_.cache_elements() * kFullBytes);
    };
    const double context = BlockSizes(setup_).mean_context;
    policy.speed.prefill_s += on_cores * (attention(static_cast<double>(prefill_tokens()),
                                                    static_cast<double>(setup_.prompt)) -
                                          common_prefill_s_);
    policy.speed.decode_step_s +=
        on_cores * (attention(static_cast<double>(batch_), context) - common_decode_s_);
    finish(policy.speed);
    policy.device_bytes = ends_bytes_ + work_bytes_ + held * each;
    policy.host_bytes = on_cores * each;
    policy.exists = room >= 0 && policy.host_bytes <= host.usable_bytes();
    return policy;
  }

  const HostedSystem& system_;
  const GenerationSetup& setup_;
  const ExpertTimes times_;
  const std::int64_t batch_;
  const double steps_;
  const std::vector<std::vector<double>> popularity_;
  std::vector<std::vector<std::size_t>> order_;  // experts by popularity, by layer
  std::map<std::vector<double>, std::size_t> kinds_;
  std::vector<std::size_t> kind_;
  std::map<std::pair<std::size_t, std::int64_t>, std::vector<ExpertDraw>> draws_;
  std::map<std::tuple<std::size_t, std::int64_t, int, std::int64_t>, ExpectedLayer> expected_;
  double layer_bytes_ = 0, cache_bytes_ = 0, work_bytes_ = 0, ends_bytes_ = 0, fixed_bytes_ = 0;
  double room_ = 0;
  std::int64_t slots_ = 0;
  double common_prefill_s_ = 0, common_decode_s_ = 0, ends_prefill_s_ = 0, ends_decode_s_ = 0;
};

}  // namespace

std::vector<std::int64_t> divide_slots(const std::vector<std::vector<double>>& costs,
                                       std::int64_t slots) {
  const auto places = static_cast<std::size_t>(slots) + 1;
  std::vector<double> least(places, 0);
  std::vector<std::vector<std::uint32_t>> chosen(costs.size());
  for (std::size_t layer = 0; layer < costs.size(); ++layer) {
    std::vector<double> next(places, std::numeric_limits<double>::infinity());
    chosen[layer].assign(places, 0);
    for (std::size_t used = 0; used < places; ++used) {
      for (std::size_t r = 0; r < costs[layer].size() && r <= used; ++r) {
        const double value = least[used - r] + costs[layer][r];
        if (value >= next[used]) continue;
        next[used] = value;
        chosen[layer][used] = static_cast<std::uint32_t>(r);
      }
    }
    least = std::move(next);
  }
  std::vector<std::int64_t> result(costs.size(), 0);
  std::size_t left = places - 1;
  for (std::size_t layer = costs.size(); layer-- > 0;) {
    result[layer] = chosen[layer][left];
    left -= chosen[layer][left];
  }
  return result;
}

base::Result<ExpertPlan> plan_experts(const HostedSystem& system, const GenerationSetup& setup) {
  EGRET_RETURN_IF_ERROR(setup.check());
  if (setup.experts == 0) return base::usage_error("plan_experts() needs --experts");
  if (!system.host) {
    return base::usage_error("the machine '" + system.name +
                             "' has no [host]: its memory and its link to the accelerator");
  }
  EGRET_ASSIGN_OR_RETURN(auto popularity, expert_popularity(setup));
  return ExpertPlanner(system, setup, std::move(popularity)).plan();
}

}  // namespace egret::parallel
