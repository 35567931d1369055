// SPDX-License-Identifier: Apache-2.0
#include "extract/recompute/stage_program.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/timer.h"
#include "extract/recompute/linear_bound.h"

namespace egret::extract {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The program, and where its columns are.
class Stages {
 public:
  Stages(const RecomputeProblem& problem, std::int64_t limit)
      : problem_(problem),
        n_(static_cast<int>(problem.size())),
        limit_(limit),
        users_(problem.size()) {
    for (int i = 0; i < n_; ++i) {
      for (const int input : problem.tasks[at(i)].inputs) users_[at(input)].push_back(i);
    }
    unit_ = std::max<double>(1, static_cast<double>(limit));
    scale_ = cost_scale(problem.least_cost());
    for (int t = 0; t < n_; ++t) add_columns(t);
    for (int t = 0; t < n_; ++t) {
      add_dependencies(t);
      add_memory(t);
    }
    for (int i = 0; i < n_; ++i) {
      if (problem.tasks[at(i)].result && i < n_ - 1)
        row({{computes_[at(n_ - 1)][at(i)], 1}, {stays_[at(n_ - 1)][at(i)], 1}}, 1,
            Milp::kInfinite);
    }
  }

  const Milp& milp() const { return milp_; }
  double cost_of(double objective) const { return objective / scale_; }

  std::vector<int> order_of(const std::vector<double>& values) const {
    std::vector<int> order;
    for (int t = 0; t < n_; ++t) {
      for (int i = 0; i <= t; ++i) {
        if (values[at(computes_[at(t)][at(i)])] > 0.5) order.push_back(i);
      }
    }
    return order;
  }

  // Values of the columns for the computations of an order: a stage ends with the first computation
  // of its task, and what a later one reads stays. Empty where that exceeds the limit, or where the
  // order goes on behind the last stage.
  std::vector<double> values_of(const std::vector<int>& order) const {
    std::vector<std::vector<bool>> computes(at(n_)), stays(at(n_ + 1));
    for (int t = 0; t <= n_; ++t) stays[at(t)].assign(problem_.size(), false);
    for (int t = 0; t < n_; ++t) computes[at(t)].assign(problem_.size(), false);
    int stage = 0;
    for (const int task : order) {
      if (stage >= n_ || task > stage) return {};
      computes[at(stage)][at(task)] = true;
      stage += task == stage ? 1 : 0;
    }
    if (stage < n_) return {};
    for (int i = 0; i < n_; ++i) stays[at(n_)][at(i)] = problem_.tasks[at(i)].result;
    for (int t = n_ - 1; t >= 0; --t) {
      for (int i = 0; i <= t; ++i) {
        const auto reads = [&](int user) { return user <= t && computes[at(t)][at(user)]; };
        const bool needed = stays[at(t + 1)][at(i)] || std::ranges::any_of(users_[at(i)], reads);
        stays[at(t)][at(i)] = needed && !computes[at(t)][at(i)];
        if (i == t && stays[at(t)][at(i)]) return {};
      }
    }
    std::vector<double> values(milp_.columns.size(), 0);
    const double most = static_cast<double>(limit_) / unit_;
    for (int t = 0; t < n_; ++t) {
      double used = 0;
      for (int i = 0; i < t; ++i) used += stays[at(t)][at(i)] ? size(i) : 0;
      for (int i = 0; i <= t; ++i) {
        const bool runs = computes[at(t)][at(i)];
        values[at(computes_[at(t)][at(i)])] = runs ? 1 : 0;
        if (i < t) values[at(stays_[at(t)][at(i)])] = stays[at(t)][at(i)] ? 1 : 0;
        if (runs) used += size(i);
        values[at(used_[at(t)][at(i)])] = used;
        const double scratch = static_cast<double>(problem_.tasks[at(i)].scratch) / unit_;
        if (used > most || (runs && used + scratch > most)) return {};
        const std::vector<int> freed = freed_behind(i);
        for (std::size_t k = 0; k < freed.size() && runs; ++k) {
          const auto reads_later = [&](int user) {
            return user > i && user <= t && computes[at(t)][at(user)];
          };
          if (stays[at(t + 1)][at(freed[k])] ||
              std::ranges::any_of(users_[at(freed[k])], reads_later))
            continue;
          values[at(frees_[at(t)][at(i)][k])] = 1;
          used -= size(freed[k]);
        }
      }
    }
    return values;
  }

  // What each stage must compute where values stay that exceed the threshold.
  std::vector<int> rounded(const std::vector<double>& values, double threshold) const {
    const auto stays = [&](int t, int i) {
      if (t >= n_) return problem_.tasks[at(i)].result;
      return i < t && values[at(stays_[at(t)][at(i)])] > threshold;
    };
    std::vector<int> order;
    std::vector<bool> there(problem_.size(), false);
    for (int t = 0; t < n_; ++t) {
      std::vector<bool> needed(problem_.size(), false);
      needed[at(t)] = true;
      for (int i = 0; i <= t; ++i)
        needed[at(i)] = needed[at(i)] || (stays(t + 1, i) && !there[at(i)]);
      for (int i = t; i >= 0; --i) {
        if (!needed[at(i)]) continue;
        for (const int input : problem_.tasks[at(i)].inputs)
          if (!there[at(input)]) needed[at(input)] = true;
      }
      for (int i = 0; i <= t; ++i) {
        if (needed[at(i)]) order.push_back(i);
        there[at(i)] = (there[at(i)] || needed[at(i)]) && stays(t + 1, i);
      }
    }
    return order;
  }

 private:
  int column(double cost, double lower, double upper, bool integer) {
    milp_.columns.push_back({.cost = cost, .lower = lower, .upper = upper, .integer = integer});
    return static_cast<int>(milp_.columns.size()) - 1;
  }
  void row(std::initializer_list<std::pair<int, double>> entries, double lower, double upper) {
    Milp::Row added{.lower = lower, .upper = upper, .columns = {}, .values = {}};
    for (const auto& [which, value] : entries) added.add(which, value);
    milp_.rows.push_back(std::move(added));
  }
  double size(int i) const { return static_cast<double>(problem_.tasks[at(i)].bytes) / unit_; }

  void add_columns(int t) {
    std::vector<int>& computes = computes_.emplace_back();
    std::vector<int>& stays = stays_.emplace_back();
    std::vector<int>& used = used_.emplace_back();
    auto& frees = frees_.emplace_back(at(t + 1));
    for (int i = 0; i <= t; ++i) {
      const RecomputeTask& task = problem_.tasks[at(i)];
      computes.push_back(column(task.cost * scale_, i == t ? 1 : 0, 1, true));
      if (i < t) stays.push_back(column(0, 0, 1, true));
      used.push_back(column(0, 0, static_cast<double>(limit_) / unit_, false));
      for (const int freed : freed_behind(i)) {
        const bool kept = t == n_ - 1 && problem_.tasks[at(freed)].result;
        frees[at(i)].push_back(column(0, 0, kept ? 0 : 1, false));
      }
    }
  }

  // Values that may die with a task: what it reads, and its own.
  std::vector<int> freed_behind(int task) const {
    std::vector<int> values;
    for (const int input : problem_.tasks[at(task)].inputs) {
      if (problem_.tasks[at(input)].bytes > 0) values.push_back(input);
    }
    if (problem_.tasks[at(task)].bytes > 0) values.push_back(task);
    return values;
  }

  void add_dependencies(int t) {
    for (int i = 0; i <= t; ++i) {
      for (const int input : problem_.tasks[at(i)].inputs) {
        Milp::Row needs{.lower = 0, .upper = Milp::kInfinite, .columns = {}, .values = {}};
        needs.add(computes_[at(t)][at(input)], 1);
        needs.add(stays_[at(t)][at(input)], 1);
        needs.add(computes_[at(t)][at(i)], -1);
        milp_.rows.push_back(std::move(needs));
      }
    }
    for (int i = 0; i < t; ++i) {
      Milp::Row there{.lower = 0, .upper = Milp::kInfinite, .columns = {}, .values = {}};
      there.add(computes_[at(t - 1)][at(i)], 1);
      if (i < t - 1) there.add(stays_[at(t - 1)][at(i)], 1);
      there.add(stays_[at(t)][at(i)], -1);
      milp_.rows.push_back(std::move(there));
    }
  }

  void add_memory(int t) {
    // During task i: what was there during the one before, less what that freed, and its value.
    for (int i = 0; i <= t; ++i) {
      Milp::Row memory{.lower = 0, .upper = 0, .columns = {}, .values = {}};
      memory.add(used_[at(t)][at(i)], -1);
      memory.add(computes_[at(t)][at(i)], size(i));
      if (i == 0) {
        for (int k = 0; k < t; ++k) memory.add(stays_[at(t)][at(k)], size(k));
      } else {
        memory.add(used_[at(t)][at(i - 1)], 1);
        const std::vector<int> freed = freed_behind(i - 1);
        for (std::size_t k = 0; k < freed.size(); ++k)
          memory.add(frees_[at(t)][at(i - 1)][k], -size(freed[k]));
      }
      milp_.rows.push_back(std::move(memory));
      const auto scratch = static_cast<double>(problem_.tasks[at(i)].scratch) / unit_;
      if (scratch > 0)
        row({{used_[at(t)][at(i)], 1}, {computes_[at(t)][at(i)], scratch}}, -Milp::kInfinite,
            static_cast<double>(limit_) / unit_);
      const std::vector<int> freed = freed_behind(i);
      for (std::size_t k = 0; k < freed.size(); ++k) {
        const int frees = frees_[at(t)][at(i)][k];
        row({{frees, 1}, {computes_[at(t)][at(i)], -1}}, -Milp::kInfinite, 0);
        if (t + 1 < n_)
          row({{frees, 1}, {stays_[at(t + 1)][at(freed[k])], 1}}, -Milp::kInfinite, 1);
        for (const int user : users_[at(freed[k])]) {
          if (user > i && user <= t)
            row({{frees, 1}, {computes_[at(t)][at(user)], 1}}, -Milp::kInfinite, 1);
        }
      }
    }
  }

  const RecomputeProblem& problem_;
  int n_;
  std::int64_t limit_;
  std::vector<std::vector<int>> users_;
  double unit_ = 1, scale_ = 1;
  Milp milp_;
  std::vector<std::vector<int>> computes_, stays_, used_;  // by stage and task
  std::vector<std::vector<std::vector<int>>> frees_;       // by stage, task, and freed_behind()
};

void keep_better(const RecomputeProblem& problem, const std::vector<int>& order, std::int64_t limit,
                 std::optional<RecomputeSchedule>& best) {
  auto schedule = schedule_of(problem, order);
  if (!schedule.ok() || schedule->peak > limit) return;
  if (!best || schedule->cost < best->cost) best = *std::move(schedule);
}

}  // namespace

std::size_t stage_program_columns(const RecomputeProblem& problem) {
  std::size_t columns = 0, inputs = 0;
  for (std::size_t t = 0; t < problem.size(); ++t) {
    inputs += problem.tasks[t].inputs.size();
    columns += 4 * (t + 1) + inputs;
  }
  return columns;
}

StageAnswer solve_stages(const RecomputeProblem& problem, std::int64_t limit, double seconds,
                         const std::function<bool()>& should_stop, const std::vector<int>& start) {
  const Stages stages(problem, limit);
  const ProgramAnswer solved =
      solve_program(stages.milp(), Solves::kProgram, seconds, should_stop, stages.values_of(start));
  StageAnswer answer;
  answer.bound = std::max(problem.least_cost(), stages.cost_of(solved.bound));
  answer.infeasible = solved.infeasible;
  answer.end = solved.end;
  if (!solved.values.empty())
    keep_better(problem, stages.order_of(solved.values), limit, answer.schedule);
  answer.proven = solved.proven && answer.schedule;
  return answer;
}

std::optional<std::vector<int>> order_in_stages(const RecomputeProblem& problem, std::int64_t limit,
                                                const std::vector<int>& order) {
  const Stages stages(problem, limit);
  const std::vector<double> values = stages.values_of(order);
  if (values.empty()) return std::nullopt;
  return stages.order_of(values);
}

StageAnswer round_stages(const RecomputeProblem& problem, std::int64_t limit, double seconds,
                         const std::function<bool()>& should_stop) {
  const base::Deadline deadline = base::Deadline::after(seconds);
  StageAnswer answer{.bound = problem.least_cost()};
  for (const double share : {1.0, 0.9, 0.8, 0.7, 0.6, 0.5}) {
    if (deadline.expired() || (should_stop && should_stop())) break;
    const Stages stages(problem, static_cast<std::int64_t>(share * static_cast<double>(limit)));
    const ProgramAnswer solved =
        solve_program(stages.milp(), Solves::kRelaxation, deadline.remaining(), should_stop);
    if (share == 1) answer.bound = std::max(answer.bound, stages.cost_of(solved.bound));
    if (share == 1) answer.end = solved.end;  // within less, there may be no values at all
    if (solved.end == SolverEnd::kUnavailable) break;
    if (solved.relaxed.empty()) continue;
    for (int k = 1; k < 20; ++k)
      keep_better(problem, stages.rounded(solved.relaxed, 0.05 * k), limit, answer.schedule);
  }
  return answer;
}

}  // namespace egret::extract
