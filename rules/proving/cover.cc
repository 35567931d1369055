// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/cover.h"

#include <algorithm>
#include <span>

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
  if (!tree_.add(trace.decisions, trace.numbers)) failure_ = "decisions do not determine the path";
  return trace.complete;
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

std::string Cover::open() const {
  if (!failure_.empty()) return failure_;
  const auto gaps = tree_.gaps();
  if (gaps.empty()) return "";
  return "the solver finds no numbers and no contradiction where " +
         ir::to_string(gaps.front().back());
}

}  // namespace egret::rules
