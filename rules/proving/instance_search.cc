// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/instance_search.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "base/stop.h"
#include "rules/testing/guard_solver.h"

namespace egret::rules {
namespace {

constexpr std::uint64_t kDraws = 600;  // of sources
constexpr std::size_t kKinds = 64;
constexpr std::size_t kPaths = 1000;  // of a kind
constexpr int kOfKind = 4;            // instances on different paths of a kind
constexpr int kFruitless = 60;        // changes of numbers in a row that give no new instance
constexpr std::int64_t kMostOfOne = std::int64_t{1} << 22;  // elements of a tensor
constexpr std::int64_t kMostOfAll = std::int64_t{1} << 25;  // elements of all variables
constexpr std::size_t kPathsToExclude = 400;  // of a kind, for each condition left out

std::int64_t elements_of(const Instance& instance) {
  std::int64_t all = 0;
  for (const auto& [slot, type] : instance.choice.variables) all += type.elements();
  return all;
}

// Conjunctions as separate conditions.
void flatten(const Expr& condition, std::vector<Expr>& conjuncts) {
  if (condition.kind != Expr::Kind::kAnd) {
    conjuncts.push_back(condition);
    return;
  }
  for (const Expr& part : condition.arguments) flatten(part, conjuncts);
}

// The kinds of sources that random draws meet, those with few numbers first.
std::vector<Instance> draw_kinds(Instantiator& instantiator, const base::Random& random) {
  std::map<std::pair<std::size_t, std::string>, Instance> kinds;
  for (std::uint64_t draw = 0; draw < kDraws && !base::stop_requested(); ++draw) {
    auto sources = instantiator.attempt_sources(random.split(draw));
    if (!sources) continue;
    Numbers numbers = numbers_of(instantiator.rule(), *sources);
    kinds.try_emplace({numbers.integers.size(), std::move(numbers.structure)},
                      *std::move(sources));
  }
  std::vector<Instance> result;
  for (auto& [kind, sources] : kinds) {
    if (result.size() < kKinds) result.push_back(std::move(sources));
  }
  return result;
}

// Whether some kind of sources has numbers with which a rule with these conditions applies.
class Exclusion {
 public:
  Exclusion(const Rule& rule, std::span<const Instance> kinds, verifier::SolverSession& session)
      : rule_(rule), from_(source_applications(rule)), kinds_(kinds), session_(session) {}

  bool excludes(std::vector<Expr> conditions) {
    Rule copy = rule_;
    copy.conditions = std::move(conditions);
    const auto terms = source_applications(copy);
    return std::ranges::all_of(kinds_, [&](const Instance& kind) {
      Instance like = kind;
      like.choice.attrs.clear();
      for (std::size_t i = 0; i < terms.size(); ++i) {
        const auto found = kind.choice.attrs.find(from_[i]);
        if (found != kind.choice.attrs.end()) like.choice.attrs.emplace(terms[i], found->second);
      }
      Cover paths(copy, like, session_, {.paths = kPathsToExclude});
      return !paths.run(like.choice) && !paths.next() && paths.open().empty();
    });
  }

 private:
  const Rule& rule_;
  const std::vector<const Term*> from_;
  std::span<const Instance> kinds_;
  verifier::SolverSession& session_;
};

}  // namespace

InstanceSearch::InstanceSearch(Instantiator& instantiator, base::Random random,
                               verifier::SolverSession* session)
    : rule_(instantiator.rule()),
      instantiator_(instantiator),
      random_(random),
      session_(session != nullptr ? *session : own_) {}

std::optional<Instance> InstanceSearch::next() {
  if (!std::exchange(started_, true)) kinds_ = draw_kinds(instantiator_, random_.split(0));
  if (elements_ >= kMostOfAll) return std::nullopt;
  if (auto instance = next_path()) return instance;
  return next_member();
}

// Instances on paths that none was on before, kind by kind.
std::optional<Instance> InstanceSearch::next_path() {
  for (; kind_ < kinds_.size() && !base::stop_requested(); ++kind_, paths_.reset(), of_kind_ = 0) {
    const Instance& like = kinds_[kind_];
    std::optional<Choice> choice;
    if (paths_ == nullptr) {
      paths_ = std::make_unique<Cover>(rule_, like, session_, Cover::Limits{.paths = kPaths});
      if (paths_->run(like.choice)) choice = like.choice;
    }
    while (of_kind_ < kOfKind && !base::stop_requested()) {
      if (!choice) choice = paths_->next();
      if (!choice) break;
      auto instance = accept(*std::exchange(choice, std::nullopt));
      if (!instance) continue;
      ++of_kind_;
      return instance;
    }
    if (open_.empty() && of_kind_ < kOfKind) open_ = paths_->open();
  }
  return std::nullopt;
}

// Changes up to four numbers of an instance and repairs what its path then violates.
std::optional<Instance> InstanceSearch::next_member() {
  constexpr std::int64_t kMostChanges = 4;
  constexpr std::int64_t kFarthest = 9;
  if (found_.empty()) return std::nullopt;
  while (fruitless_ < kFruitless && !base::stop_requested()) {
    base::Random own = random_.split(1).split(changes_++);
    const Instance& from = found_[own.below(found_.size())];
    const Trace trace = Tracer(rule_, from).trace(from.choice);
    ir::SymbolValues numbers = trace.numbers;
    ++fruitless_;
    if (numbers.empty()) continue;
    for (std::int64_t left = own.between(1, kMostChanges); left > 0; --left) {
      auto& number = std::next(numbers.begin(), static_cast<std::ptrdiff_t>(own.below(numbers.size())))->second;
      number = std::max<std::int64_t>(1, number + own.between(-2, kFarthest));
    }
    const auto fitting = solve_near(trace.conditions, std::move(numbers), own.split(1));
    if (!fitting) continue;
    if (auto instance = accept(with_integers(rule_, from.choice, *fitting))) return instance;
  }
  return std::nullopt;
}

// The instance, if it is one, is new and may be run.
std::optional<Instance> InstanceSearch::accept(const Choice& choice) {
  auto instance = instantiator_.of(choice, random_.split(2).split(seen_.size()), kMostOfOne);
  if (!instance || !seen_.insert(instance->text).second) return std::nullopt;
  fruitless_ = 0;
  elements_ += elements_of(*instance);
  found_.push_back(*instance);
  return instance;
}

InstanceSource::None InstanceSearch::none() {
  if (!open_.empty()) return {.certain = false, .reason = "no instance was found: " + open_};
  std::vector<Expr> needed;
  for (const Expr& condition : rule_.conditions) flatten(condition, needed);
  const auto text = [&] {
    std::string conditions;
    for (const Expr& condition : needed)
      conditions += (conditions.empty() ? "" : " and ") + to_string(rule_, condition);
    return conditions;
  };
  if (kinds_.empty()) {
    return {.certain = false,
            .reason = needed.empty() ? "no operands were found that the sources accept"
                                     : "no operands were found that the sources accept and whose "
                                       "ranks and element types satisfy " +
                                           text()};
  }
  Exclusion exclusion(rule_, kinds_, session_);
  if (exclusion.excludes({}))
    return {.certain = true, .reason = "a target never has the type of its source"};
  for (std::size_t i = 0; i < needed.size();) {
    std::vector<Expr> fewer = needed;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (exclusion.excludes(fewer)) {
      needed = std::move(fewer);
    } else {
      ++i;
    }
  }
  return {.certain = true,
          .reason = "no sizes and attributes satisfy " + text() + " (" +
                    std::to_string(kinds_.size()) + " kinds of sources examined)"};
}

std::unique_ptr<InstanceSource> solved_instances(Instantiator& instantiator, base::Random random) {
  return std::make_unique<InstanceSearch>(instantiator, random);
}

}  // namespace egret::rules
