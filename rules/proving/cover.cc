// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/cover.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/stop.h"
#include "rules/testing/guard_solver.h"
#include "rules/testing/instance_numbers.h"

namespace egret::rules {
namespace {

// Sizes, and the absolute values of negative attributes, are at least 1; other attributes and
// elements at least 0.
ir::SymbolValues least_of(const ir::SymbolValues& numbers) {
  ir::SymbolValues least;
  for (const auto& [name, number] : numbers) {
    const bool is_size = name.front() == '?' && !name.ends_with(".element");
    least[name] = is_size || name.front() == '-' ? 1 : 0;
  }
  return least;
}

// Makes the numbers as small as the guards allow, one after the other, if some are large: a witness
// of moderate size can be run. Halves the distance to the smallest value while the guards hold.
void shrink(ir::SymbolValues& numbers, std::span<const ir::Guard> guards,
            const ir::SymbolValues& least) {
  constexpr std::int64_t kSmall = 16;
  if (std::ranges::all_of(numbers, [](const auto& one) { return one.second <= kSmall; })) return;
  const ir::GuardProgram program(guards);
  for (auto& [name, number] : numbers) {
    std::int64_t fails = least.at(name) - 1;  // holds at `number`; nothing below the least is tried
    while (number - fails > 1) {
      const std::int64_t before = number;
      number = fails + (number - fails) / 2;
      if (program.holds(numbers)) continue;
      fails = number;
      number = before;
    }
  }
}

// Small, so that instances with large other sizes can be run.
ir::SymbolValues equal_sizes_along(const BatchSizes& batch) {
  constexpr std::int64_t kSize = 2;
  ir::SymbolValues sizes;
  for (const auto& group : batch.groups) {
    for (const std::string& name : group) sizes[name] = kSize;
  }
  return sizes;
}

}  // namespace

Cover::Cover(const Rule& rule, const Instance& like, const BatchSizes& batch,
             verifier::SolverSession& session, Limits limits)
    : rule_(rule),
      tracer_(rule, like, batch),
      like_(like.choice),
      fixed_(equal_sizes_along(batch)),
      limits_(limits),
      feasibility_(session) {}

Choice Cover::evened(const Choice& choice) const { return with_integers(rule_, choice, fixed_); }

bool Cover::add(const Choice& choice) {
  const Trace trace = tracer_.trace(choice);
  if (trace.exception) {
    exception_ = trace.exception;
    return false;
  }
  runs_.push_back(trace.numbers);
  if (!tree_.add(trace.decisions, trace.numbers)) failure_ = "decisions do not determine the path";
  return trace.complete;
}

// Only what the kind leaves open may differ from the example. A choice of another kind would stand
// for a path that no choice of this kind takes.
base::Result<std::optional<Choice>> Cover::run(const ir::SymbolValues& numbers) {
  if (!symbols_) symbols_ = tracer_.trace(evened(like_)).numbers;
  const ir::SymbolValues least = least_of(numbers);
  for (const auto& [name, number] : numbers) {
    if (!symbols_->contains(name)) return base::mismatch("'" + name + "' is not open");
    if (number < least.at(name)) return base::mismatch("'" + name + "' is too small");
  }
  Choice choice = evened(tracer_.with(like_, numbers));
  if (!add(choice)) return std::optional<Choice>();
  return std::optional(std::move(choice));
}

std::optional<ir::SymbolValues> Cover::numbers_for(const DecisionTree::Branch& branch, bool& none) {
  const ir::SymbolValues least = least_of(*branch.near);
  if (auto near = solve_near(branch.guards, *branch.near, random_.split(draws_++))) {
    shrink(*near, branch.guards, least);
    return near;
  }
  verifier::Feasibility::Result found = feasibility_.find(branch.guards, least, *branch.near);
  none = found.outcome == verifier::Feasibility::Outcome::kNone;
  if (found.outcome != verifier::Feasibility::Outcome::kNumbers) return std::nullopt;
  shrink(found.numbers, branch.guards, least);
  return found.numbers;
}

std::optional<Choice> Cover::next() {
  while (failure_.empty() && !exception_) {
    if (tree_.leaves() >= limits_.paths) {
      failure_ = "more paths than tried";
      break;
    }
    if (questions() >= limits_.questions) {
      failure_ = "more questions to the solver than asked";
      break;
    }
    if (base::stop_requested()) {
      failure_ = "stopped";
      break;
    }
    const auto branch = tree_.open_branch();
    if (!branch) break;
    bool none = false;
    const auto numbers = numbers_for(*branch, none);
    if (!numbers) {
      if (none) {
        tree_.close(branch->node);
      } else {
        tree_.give_up(branch->node);
      }
      continue;
    }
    const std::size_t before = tree_.leaves();
    const Choice choice = evened(tracer_.with(like_, *numbers));
    const bool fits = add(choice);
    if (exception_) break;
    if (tree_.leaves() == before && failure_.empty()) failure_ = "a run left its path";
    if (fits) return choice;
  }
  return std::nullopt;
}

void Cover::close() {
  while (const auto branch = tree_.open_branch()) {
    if (feasibility_.excludes(branch->guards, least_of(*branch->near), *branch->near)) {
      tree_.close(branch->node);
    } else {
      tree_.give_up(branch->node);
    }
  }
}

std::string Cover::open() const {
  if (!failure_.empty()) return failure_;
  const auto gaps = tree_.gaps();
  if (gaps.empty()) return "";
  return "the solver finds no numbers and no contradiction where " +
         ir::to_string(gaps.front().back());
}

void KindNotes::add(const Choice& like, const BatchSizes& batch, std::size_t paths,
                    std::string open) {
  covered_.paths += paths;
  std::vector<int> ranks;
  for (const auto& [slot, type] : like.variables) ranks.push_back(type.rank());
  covered_.rank = std::max(covered_.rank, rank_of(like));
  ++covered_.kinds;
  covered_.ranks.insert(ranks);
  if (open.empty()) {
    ++covered_.complete;
  } else {
    covered_.open_ranks.insert(std::move(ranks));
    if (covered_.open.empty()) covered_.open = std::move(open);
  }
  note_first_axis(like, batch);
}

// Notes whether the first axes of the variables of the highest rank are one batch axis.
void KindNotes::note_first_axis(const Choice& like, const BatchSizes& batch) {
  const int top = rank_of(like);
  std::set<std::string> first;
  for (const auto& [slot, type] : like.variables) {
    if (top > 0 && type.rank() == top) first.insert(size_name(rule_, slot, 0));
  }
  const bool is_batch = std::ranges::any_of(batch.groups, [&](const auto& group) {
    return std::set<std::string>(group.begin(), group.end()) == first;
  });
  bool& all = first_axis_is_batch_.emplace(top, true).first->second;
  all = all && is_batch;
}

// That two ranks have such axes shows that the definitions treat the next alike.
bool KindNotes::first_axes_are_batch() const {
  constexpr int kLeastRank = 4;
  const auto is_batch = [&](int rank) {
    const auto found = first_axis_is_batch_.find(rank);
    return found != first_axis_is_batch_.end() && found->second;
  };
  const int top = covered_.rank;
  return top >= kLeastRank && is_batch(top) && is_batch(top - 1);
}

}  // namespace egret::rules
