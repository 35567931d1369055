// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/experts.h"

#include <algorithm>
#include <cmath>

namespace egret::parallel {
namespace {

constexpr double kElement = 2;  // bytes of an activation

double choices_of(const TrainingSetup& setup) {
  return static_cast<double>(setup.top_k) * routed_tokens(setup);
}

// Of an expert, for the tokens of one device; with a capacity.
double places_of(const TrainingSetup& setup) {
  return std::ceil(setup.capacity_factor * choices_of(setup) / static_cast<double>(setup.experts));
}

// Parts of the choices by Zipf's law, none above MOST: what exceeds it goes to the others in
// proportion.
std::vector<double> popularity(std::int64_t experts, double skew, double most) {
  std::vector<double> parts(static_cast<std::size_t>(experts));
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = std::pow(static_cast<double>(i + 1), -skew);
  double rest = 0;
  for (const double part : parts) rest += part;
  double left = 1;  // of all choices, for the experts that are not at the most
  for (double& part : parts) {
    const double wanted = rest > 0 ? left * part / rest : 0;
    rest -= part;
    part = std::min(wanted, most);
    left -= part;
  }
  return parts;
}

}  // namespace

double routed_tokens(const TrainingSetup& setup) {
  return static_cast<double>(setup.micro_batch) * static_cast<double>(setup.sequence) /
         static_cast<double>(setup.context * (setup.sequence_parallel ? setup.tensor : 1));
}

double ExpertLoads::fullest() const {
  return by_rank.empty() ? 1 : *std::ranges::max_element(by_rank);
}

ExpertLoads expert_loads(const TrainingSetup& setup) {
  ExpertLoads loads;
  if (setup.experts == 0) return loads;
  const auto experts = static_cast<double>(setup.experts);
  const auto ranks = static_cast<std::size_t>(setup.expert_parallel);
  loads.by_expert =
      popularity(setup.experts, setup.expert_skew, 1 / static_cast<double>(setup.top_k));
  loads.by_rank.resize(ranks);
  const double places = places_of(setup) * experts / choices_of(setup);  // as loads
  double kept = 0;
  for (std::size_t i = 0; i < loads.by_expert.size(); ++i) {
    double& load = loads.by_expert[i];
    load *= experts;
    loads.by_rank[i % ranks] += load * static_cast<double>(ranks) / experts;
    kept += std::min(load, places) / experts;
  }
  if (setup.capacity_factor > 0) loads.dropped = std::max(0.0, 1 - kept);
  return loads;
}

ExpertRows expert_rows(const TrainingSetup& setup) {
  if (setup.experts == 0) return {};
  const auto experts = static_cast<double>(setup.experts);
  const bool has_places = setup.capacity_factor > 0;
  ExpertRows rows;
  rows.sent = has_places ? experts * places_of(setup) : choices_of(setup);
  rows.received = rows.sent * (has_places ? 1 : expert_loads(setup).fullest());
  // Each part of an expert needs the tokens of all ranks that share it.
  rows.computed = rows.received * static_cast<double>(setup.expert_tensor_degree());
  rows.per_expert = rows.computed * static_cast<double>(setup.expert_parallel) / experts;
  return rows;
}

bool sorts_expert_rows(const TrainingSetup& setup) {
  return setup.experts > setup.expert_parallel &&
         (setup.expert_parallel > 1 || setup.expert_tensor_degree() > 1);
}

double expert_exchange_bytes(const TrainingSetup& setup) {
  if (setup.expert_parallel == 1) return 0;
  return expert_rows(setup).received * static_cast<double>(setup.hidden) * kElement;
}

double expert_exchanges(Recompute recompute) { return recompute == Recompute::kFull ? 6 : 4; }

RankGroup expert_group(const TrainingSetup& setup) {
  return {setup.expert_parallel, setup.expert_tensor_degree()};
}

RankGroup expert_data_group(const TrainingSetup& setup, std::int64_t copies) {
  const std::int64_t ranks = setup.expert_parallel * setup.expert_tensor_degree();
  return {copies * setup.tensor / ranks, ranks};
}

// A place is missed if each choice falls on one of the other experts that are left.
double distinct_places(double places, double experts, double choices) {
  double missed = 1;
  for (double made = 0; made < choices && missed > 0; ++made)
    missed *= std::max(0.0, experts - experts / places - made) / (experts - made);
  return places * (1 - missed);
}

double expert_exchange_s(const Fabric& fabric, const TrainingSetup& setup) {
  const double bytes = expert_exchange_bytes(setup);
  const RankGroup group = expert_group(setup);
  const auto seconds = [&](CollectiveAlgorithm algorithm, double size, RankGroup among) {
    return fabric.collective(CollectiveKind::kAllToAll, size, among, algorithm)->seconds();
  };
  const auto direct = [&] { return seconds(CollectiveAlgorithm::kDirect, bytes, group); };
  const auto staged = [&] { return seconds(CollectiveAlgorithm::kStaged, bytes, group); };
  switch (setup.expert_exchange) {
    case ExpertExchange::kDirect: return direct();
    case ExpertExchange::kHierarchical: return staged();
    case ExpertExchange::kFastest: return std::min(direct(), staged());
    case ExpertExchange::kOnce: break;
  }
  const auto choices = static_cast<double>(setup.top_k);
  const auto of_places = [&](std::int64_t places) {
    return bytes *
           distinct_places(static_cast<double>(places), static_cast<double>(setup.experts),
                           choices) /
           choices;
  };
  const std::int64_t devices = fabric.tiers.front().devices;
  const std::int64_t inside =
      devices == 0 ? group.size : std::min((devices + group.stride - 1) / group.stride, group.size);
  const std::int64_t nodes = (group.size + inside - 1) / inside;
  // Between equal places of all nodes, beside the forwarding inside of them.
  return std::max(
      seconds(CollectiveAlgorithm::kDirect, of_places(group.size), {inside, group.stride}),
      seconds(CollectiveAlgorithm::kDirect, of_places(nodes), {nodes, group.stride * inside}));
}

}  // namespace egret::parallel
