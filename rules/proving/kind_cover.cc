// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/kind_cover.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/stop.h"

namespace egret::rules {
namespace {

// Elements of a tensor of an instance that is only proven.
constexpr std::int64_t kMostImagined = std::int64_t{1} << 40;
constexpr std::uint64_t kPathStream = std::uint64_t{1} << 40;  // far from attempts

bool is_imaginable(const Choice& choice) {
  return std::ranges::all_of(choice.variables, [](const auto& variable) {
    const auto elements = ir::element_count(variable.second.shape());
    return elements && *elements <= kMostImagined;
  });
}

}  // namespace

KindCover::KindCover(const Rule& rule, const VerifyOptions& options, Instantiator& instantiator,
                     const Refutation& refutation, FamilyProofs& families,
                     verifier::SolverSession& session)
    : rule_(rule),
      options_(options),
      instantiator_(instantiator),
      refutation_(refutation),
      families_(families),
      session_(session),
      random_(options.seed),
      notes_(rule) {}

std::optional<Ending> KindCover::explore(std::span<const Choice> instances, int drawn_rank) {
  drawn_rank_ = drawn_rank;
  if (options_.cover_paths == 0) return std::nullopt;
  // By the number of sizes and attributes: most mistakes show in the simplest kinds already.
  std::map<std::pair<std::size_t, std::string>, std::vector<const Choice*>> kinds;
  for (const Choice& choice : instances) {
    const auto instance = instantiator_.of(choice, random_, kMostImagined);
    if (!instance) continue;
    const Numbers numbers = numbers_of(rule_, *instance);
    kinds[{numbers.integers.size(), numbers.structure}].push_back(&choice);
  }
  for (const auto& [kind, choices] : kinds) {
    if (!explored_.insert(kind.second).second) continue;
    if (auto ending = explore_kind(choices)) return ending;
  }
  return std::nullopt;
}

// What stays open is noted. A batch axis that a path contradicts is given up, and the kind explored
// again.
std::optional<Ending> KindCover::explore_kind(std::span<const Choice* const> choices) {
  const auto like = instantiator_.of(*choices.front(), random_, kMostImagined);
  BatchSizes batch;
  if (options_.batch_axes) batch = batch_sizes(rule_, *like, instantiator_);
  ProofTrace::Kind trace{.like = recorded(rule_, *like)};
  const std::size_t left = options_.cover_paths - std::min(options_.cover_paths, covered().paths);
  const std::size_t questions =
      options_.cover_questions - std::min(options_.cover_questions, questions_);
  for (;;) {
    Cover paths(rule_, *like, batch, session_, {.paths = left, .questions = questions});
    std::string open;
    if (auto ending = follow(paths, choices, open)) return ending;
    if (paths.exception()) {
      trace.exceptions.push_back(*paths.exception());
      batch = batch.without(*paths.exception());
      continue;
    }
    questions_ += paths.questions();
    if (open.empty()) open = paths.open();
    trace.complete = open.empty();
    if (trace.complete) trace.runs = paths.runs();
    notes_.add(like->choice, batch, paths.tree().leaves(), std::move(open));
    trace_.push_back(std::move(trace));
    return std::nullopt;
  }
}

// Proves the families of all paths, as far as the limits allow. `open`: why some are not proven.
std::optional<Ending> KindCover::follow(Cover& paths, std::span<const Choice* const> known,
                                        std::string& open) {
  for (const Choice* choice : known) {
    const Choice evened = paths.evened(*choice);
    if (!paths.run(evened)) continue;
    if (auto ending = prove_path_of(evened, open)) return ending;
  }
  while (const auto choice = paths.next()) {
    if (base::stop_requested()) return Ending{Verdict::Status::kUndecided, "stopped"};
    if (auto ending = prove_path_of(*choice, open)) return ending;
  }
  return std::nullopt;
}

std::optional<Ending> KindCover::prove_path_of(const Choice& choice, std::string& open) {
  if (!is_imaginable(choice)) {
    open = "tensors of more than 2^40 elements";
    return std::nullopt;
  }
  const auto instance = instantiator_.of(choice, random_, kMostImagined);
  if (!instance) {
    open = "numbers that fit but cannot be instantiated";
    return std::nullopt;
  }
  if (families_.contain(*instance)) return std::nullopt;
  if (!has_elements(*instance)) return prove_empty(*instance, open);
  if (proven_ < options_.cover_families && families_.may_prove_more()) {
    ++proven_;
    if (rank_of(choice) <= drawn_rank_) return families_.prove(*instance);
    auto ending = families_.prove_optional(*instance);
    if (ending && ending->status == Verdict::Status::kRefuted) return ending;
    if (ending) open = std::move(ending->reason);
    return std::nullopt;
  }
  if (options_.tensor_checks > 0) {
    if (auto found = refutation_.on(*instance, random_.split(kPathStream)))
      return refuted(*std::move(found));
  }
  open = "more families than proven";
  return std::nullopt;
}

// An instance without elements is right, but others on its path may have elements. Such families
// are mostly empty and soon proven, and have a bound of their own.
std::optional<Ending> KindCover::prove_empty(const Instance& instance, std::string& open) {
  if (empty_ == options_.cover_families || !families_.may_prove_more()) {
    open = "more families than proven";
    return std::nullopt;
  }
  ++empty_;
  auto ending = families_.prove_optional(instance);
  if (ending && ending->status == Verdict::Status::kRefuted) return ending;
  if (ending) open = std::move(ending->reason);
  return std::nullopt;
}

}  // namespace egret::rules
