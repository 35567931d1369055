// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/path_search.h"

#include <algorithm>

#include "rules/testing/guard_solver.h"

namespace egret::rules {
namespace {

constexpr int kMostUrgency = 8;
constexpr std::size_t kUrgentDecisions = 3;
constexpr std::int64_t kMostAxis = 4;  // that attributes are set to

bool is_size(std::string_view symbol) { return symbol.front() == '?'; }

// attribute == number: a decision on an attribute's value, mostly one that selects an axis.
bool picks(const ir::ExprNode& decision) {
  return decision.op == ir::ExprOp::kIndexEq && decision.kids[0]->op == ir::ExprOp::kSymbol &&
         decision.kids[1]->op == ir::ExprOp::kIndexConst && !is_size(decision.kids[0]->name);
}

const ir::ExprNode* negation(const ir::Guard& guard) { return (!guard).node(); }

}  // namespace

int PathSearch::context_of(const Choice& choice, const Trace& trace) {
  std::string text;
  for (const auto& [slot, type] : choice.variables) text += std::to_string(type.rank()) + " ";
  for (const ir::Guard& decision : trace.conditions) {
    if (picks(*decision.node())) text += ir::to_string(decision) + " ";
  }
  return contexts_.emplace(std::move(text), contexts_.size()).first->second;
}

// Traces a choice and plans its turns, if its path is new. Returns whether the types fit.
bool PathSearch::run(const Choice& choice) {
  ++run_count_;
  Trace trace = tracer_.trace(choice);
  const bool complete = trace.complete;
  std::vector<const ir::ExprNode*> path;
  for (const ir::Guard& decision : trace.conditions) path.push_back(decision.node());
  std::ranges::sort(path);
  if (!paths_.insert(std::move(path)).second) return complete;
  const int context = context_of(choice, trace);
  for (const ir::Guard& decision : trace.conditions) seen_.emplace(context, decision.node());
  runs_.push_back({choice, std::move(trace), context});
  plan(runs_.size() - 1);
  return complete;
}

// Queues the decisions of a run that may be changed. The last decisions of a run with unfit types
// are urgent.
void PathSearch::plan(std::size_t number) {
  const Run& run = runs_[number];
  const std::vector<ir::Guard>& decisions = run.trace.conditions;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const ir::ExprNode& decision = *decisions[i].node();
    if (picks(decision)) {
      for (std::int64_t value = 0; value <= kMostAxis; ++value) {
        if (value != decision.kids[1]->integer) unseen_.push_back({number, i, value});
      }
    } else {
      const bool seen = seen_.contains({run.context, negation(decisions[i])});
      (seen ? others_ : unseen_).push_back({number, i, std::nullopt});
    }
  }
  if (run.trace.complete) return;
  const std::size_t urgent = std::min(kUrgentDecisions, decisions.size());
  for (std::size_t i = decisions.size() - urgent; i < decisions.size(); ++i)
    urgent_.push_back({number, i, std::nullopt});
}

ir::Guard PathSearch::wanted(const Turn& turn) const {
  const ir::Guard decision = runs_[turn.run].trace.conditions[turn.decision];
  return turn.value ? ir::Index(decision.node()->kids[0]) == ir::Index(*turn.value) : !decision;
}

// Each decision is negated once per set of decisions before it.
bool PathSearch::is_new(const Turn& turn) {
  std::vector<const ir::ExprNode*> key;
  for (std::size_t i = 0; i < turn.decision; ++i)
    key.push_back(runs_[turn.run].trace.conditions[i].node());
  std::ranges::sort(key);
  key.push_back(wanted(turn).node());
  return turned_.insert(std::move(key)).second;
}

PathSearch::Turn PathSearch::drawn(std::vector<Turn>& turns) {
  Turn& place = turns[random_.split(draws_++).below(turns.size())];
  const Turn turn = place;
  place = turns.back();
  turns.pop_back();
  return turn;
}

// The order: urgent turns (at most kMostUrgency in a row), then turns to unseen outcomes, then the
// others. Turns of a kind are drawn at random.
std::optional<PathSearch::Turn> PathSearch::next_turn() {
  if (!urgent_.empty() && urgency_ < kMostUrgency) {
    const Turn turn = urgent_.back();
    urgent_.pop_back();
    return turn;
  }
  urgent_.clear();
  urgency_ = 0;
  while (!unseen_.empty()) {
    const Turn turn = drawn(unseen_);
    if (!seen_.contains({runs_[turn.run].context, wanted(turn).node()})) return turn;
    others_.push_back(turn);
  }
  if (others_.empty()) return std::nullopt;
  return drawn(others_);
}

// Solves for numbers that keep all earlier decisions of the run and change this one.
std::optional<Choice> PathSearch::take(const Turn& turn) {
  const Run& run = runs_[turn.run];
  std::vector<ir::Guard> guards(
      run.trace.conditions.begin(),
      run.trace.conditions.begin() + static_cast<std::ptrdiff_t>(turn.decision));
  guards.push_back(wanted(turn));
  const auto numbers = solve_near(guards, run.trace.numbers, random_.split(draws_++));
  if (!numbers) return std::nullopt;
  return with_integers(rule_, run.choice, *numbers);
}

std::optional<Choice> PathSearch::next() {
  while (run_count_ < limits_.runs && idle_ < limits_.idle) {
    const auto turn = next_turn();
    if (!turn) return std::nullopt;
    if (!is_new(*turn)) continue;
    auto choice = take(*turn);
    if (!choice) continue;
    urgent_.clear();
    ++urgency_;
    ++idle_;
    if (run(*choice)) return choice;
  }
  return std::nullopt;
}

}  // namespace egret::rules
