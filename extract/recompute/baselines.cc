// SPDX-License-Identifier: Apache-2.0
#include "extract/recompute/baselines.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace egret::extract {
namespace {

const RecomputeTask& at(const RecomputeProblem& problem, int task) {
  return problem.tasks[static_cast<std::size_t>(task)];
}

std::int64_t peak_of(const RecomputeProblem& problem, const std::vector<int>& order) {
  const auto schedule = schedule_of(problem, order);
  return schedule.ok() ? schedule->peak : std::numeric_limits<std::int64_t>::max();
}

// Of the tasks that are ready, the first one that frees at least as much as it stores; else the
// first one.
std::vector<int> eager_order(const RecomputeProblem& problem, const std::vector<int>& given) {
  const std::size_t n = problem.size();
  std::vector<int> unread(n, 0), missing(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    missing[i] = static_cast<int>(problem.tasks[i].inputs.size());
    for (const int input : problem.tasks[i].inputs) ++unread[static_cast<std::size_t>(input)];
  }
  std::vector<std::vector<int>> readers(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (const int input : problem.tasks[i].inputs)
      readers[static_cast<std::size_t>(input)].push_back(static_cast<int>(i));
  }
  const auto growth = [&](int task) {
    std::int64_t sum = at(problem, task).bytes;
    for (const int input : at(problem, task).inputs) {
      if (unread[static_cast<std::size_t>(input)] == 1 && !at(problem, input).result)
        sum -= at(problem, input).bytes;
    }
    return sum;
  };
  std::vector<int> order, left = given;
  while (!left.empty()) {
    auto next = left.end();
    for (auto it = left.begin(); it != left.end(); ++it) {
      if (missing[static_cast<std::size_t>(*it)] > 0) continue;
      if (next == left.end()) next = it;
      if (growth(*it) <= 0) {
        next = it;
        break;
      }
    }
    const int task = *next;
    left.erase(next);
    order.push_back(task);
    for (const int input : at(problem, task).inputs) --unread[static_cast<std::size_t>(input)];
    for (const int reader : readers[static_cast<std::size_t>(task)])
      --missing[static_cast<std::size_t>(reader)];
  }
  return order;
}

// Each task that stores more than it frees moves behind, directly before its first reader.
std::vector<int> late_order(const RecomputeProblem& problem, std::vector<int> order) {
  const std::size_t n = problem.size();
  std::vector<int> last_reader(n, -1);
  for (const int task : order) {
    for (const int input : at(problem, task).inputs)
      last_reader[static_cast<std::size_t>(input)] = task;
  }
  for (std::size_t k = n; k-- > 0;) {
    const int task = order[k];
    std::int64_t freed = 0;
    for (const int input : at(problem, task).inputs) {
      if (last_reader[static_cast<std::size_t>(input)] == task) freed += at(problem, input).bytes;
    }
    if (freed >= at(problem, task).bytes) continue;
    std::size_t to = k + 1;
    while (to < n && std::ranges::count(at(problem, order[to]).inputs, task) == 0) ++to;
    if (to == n) continue;
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(k),
                order.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                order.begin() + static_cast<std::ptrdiff_t>(to));
  }
  return order;
}

// Computes tasks in order. Values outside of `kept` that forward tasks made are freed after their
// last forward reader, and computed again, with what that takes, when a later task reads them.
std::vector<int> order_with_kept(const RecomputeProblem& problem, const std::vector<bool>& kept) {
  const std::size_t n = problem.size();
  std::vector<int> order;
  std::vector<bool> there(n, false);
  const auto compute = [&](auto&& self, int task) -> void {
    for (const int input : at(problem, task).inputs) {
      if (!there[static_cast<std::size_t>(input)]) self(self, input);
    }
    order.push_back(task);
    there[static_cast<std::size_t>(task)] = true;
  };
  std::size_t forward_end = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (problem.tasks[i].forward) forward_end = i + 1;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (i == forward_end) {
      for (std::size_t k = 0; k < i; ++k)
        there[k] = there[k] && (kept[k] || !problem.tasks[k].forward);
    }
    compute(compute, static_cast<int>(i));
  }
  return order;
}

// One run of DTR.
class Dtr {
 public:
  Dtr(const RecomputeProblem& problem, std::int64_t limit, DtrCost cost,
      const std::function<bool()>& should_stop)
      : problem_(problem),
        limit_(limit),
        cost_(cost),
        should_stop_(should_stop),
        there_(problem.size(), false),
        computed_(problem.size(), false),
        locks_(problem.size(), 0),
        used_(problem.size(), 0),
        unread_(problem.size(), 0),
        readers_(problem.size()) {
    for (std::size_t i = 0; i < problem.size(); ++i) {
      for (const int input : problem.tasks[i].inputs) {
        ++unread_[index(input)];
        readers_[index(input)].push_back(static_cast<int>(i));
      }
    }
  }

  std::optional<std::vector<int>> run() {
    for (std::size_t i = 0; i < problem_.size(); ++i) {
      if (!compute(static_cast<int>(i))) return std::nullopt;
      for (const int input : problem_.tasks[i].inputs) --unread_[index(input)];
      drop_unread();
    }
    for (std::size_t i = 0; i < problem_.size(); ++i) {
      if (problem_.tasks[i].result && !there_[i] && !compute(static_cast<int>(i)))
        return std::nullopt;
    }
    return order_;
  }

 private:
  static std::size_t index(int task) { return static_cast<std::size_t>(task); }

  // Inputs stay locked while others are computed.
  bool compute(int task) {
    const RecomputeTask& what = problem_.tasks[index(task)];
    bool made = true;
    for (const int input : what.inputs) ++locks_[index(input)];
    for (const int input : what.inputs) {
      if (made && !there_[index(input)]) made = compute(input);
    }
    made = made && order_.size() < 100 * problem_.size() && make_room(what.bytes + what.scratch);
    for (const int input : what.inputs) --locks_[index(input)];
    if (!made) return false;
    order_.push_back(task);
    clock_ += what.cost;
    there_[index(task)] = computed_[index(task)] = true;
    live_ += what.bytes;
    used_[index(task)] = clock_;
    for (const int input : what.inputs) used_[index(input)] = clock_;
    return true;
  }

  bool make_room(std::int64_t bytes) {
    while (live_ + bytes > limit_) {
      if (should_stop_ && should_stop_()) return false;
      const int worst = least_worth();
      if (worst < 0) return false;
      evict(worst);
    }
    return true;
  }

  int least_worth() const {
    int best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < problem_.size(); ++i) {
      const RecomputeTask& task = problem_.tasks[i];
      if (!there_[i] || locks_[i] > 0 || task.bytes == 0) continue;
      const double stale = clock_ - used_[i] + 1e-12;
      const double h =
          unread_[i] == 0 && !task.result
              ? -1
              : cost_of(static_cast<int>(i)) / (static_cast<double>(task.bytes) * stale);
      if (h < least) {
        least = h;
        best = static_cast<int>(i);
      }
    }
    return best;
  }

  // The value, the evicted values that it would need, and the evicted values that would need it.
  double cost_of(int task) const {
    double sum = problem_.tasks[index(task)].cost;
    if (cost_ == DtrCost::kLocal) return sum;
    std::vector<bool> seen(problem_.size(), false);
    for (const bool up : {true, false}) {
      std::vector<int> open{task};
      while (!open.empty()) {
        const int next = open.back();
        open.pop_back();
        for (const int other : up ? problem_.tasks[index(next)].inputs : readers_[index(next)]) {
          if (!computed_[index(other)] || there_[index(other)] || seen[index(other)]) continue;
          seen[index(other)] = true;
          sum += problem_.tasks[index(other)].cost;
          open.push_back(other);
        }
      }
    }
    return sum;
  }

  void evict(int task) {
    there_[index(task)] = false;
    live_ -= problem_.tasks[index(task)].bytes;
  }

  // The program has dropped its references to them.
  void drop_unread() {
    for (std::size_t i = 0; i < problem_.size(); ++i) {
      if (there_[i] && unread_[i] == 0 && !problem_.tasks[i].result) evict(static_cast<int>(i));
    }
  }

  const RecomputeProblem& problem_;
  std::int64_t limit_;
  DtrCost cost_;
  const std::function<bool()>& should_stop_;
  std::vector<int> order_{};
  std::vector<bool> there_, computed_;
  std::vector<int> locks_;
  std::vector<double> used_;
  std::vector<int> unread_;
  std::vector<std::vector<int>> readers_;
  std::int64_t live_ = 0;
  double clock_ = 0;
};

// The schedule, where it keeps to the limit.
std::optional<RecomputeSchedule> fitting(const RecomputeProblem& problem,
                                         const std::vector<int>& order, std::int64_t limit) {
  auto schedule = schedule_of(problem, order);
  if (!schedule.ok() || schedule->peak > limit) return std::nullopt;
  return *std::move(schedule);
}

}  // namespace

std::vector<int> frugal_task_order(const RecomputeProblem& problem) {
  std::vector<int> given(problem.size());
  std::iota(given.begin(), given.end(), 0);
  std::vector<int> best = given;
  std::int64_t least = peak_of(problem, given);
  const std::vector<int> late = late_order(problem, given);
  const std::vector<int> eager = eager_order(problem, given);
  const std::vector<int> late_eager = late_order(problem, eager);
  for (const auto& order :
       {late, eager, late_eager, eager_order(problem, late), eager_order(problem, late_eager)}) {
    const std::int64_t peak = peak_of(problem, order);
    if (peak >= least) continue;
    least = peak;
    best = order;
  }
  return best;
}

ReorderedProblem reordered(const RecomputeProblem& problem, const std::vector<int>& order) {
  ReorderedProblem result{.problem = {}, .origin = order};
  std::vector<int> place(problem.size(), 0);
  for (std::size_t k = 0; k < order.size(); ++k) {
    place[static_cast<std::size_t>(order[k])] = static_cast<int>(k);
    RecomputeTask task = at(problem, order[k]);
    for (int& input : task.inputs) input = place[static_cast<std::size_t>(input)];
    std::ranges::sort(task.inputs);
    result.problem.tasks.push_back(std::move(task));
  }
  return result;
}

std::optional<RecomputeSchedule> segment_schedule(const RecomputeProblem& problem,
                                                  std::int64_t limit,
                                                  const std::function<bool()>& should_stop) {
  std::vector<int> forward;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < problem.size(); ++i) {
    if (!problem.tasks[i].forward) continue;
    forward.push_back(static_cast<int>(i));
    bytes += problem.tasks[i].bytes;
  }
  std::optional<RecomputeSchedule> best;
  for (std::size_t segments = 1; segments <= forward.size(); ++segments) {
    if (should_stop && should_stop()) break;
    std::vector<std::size_t> segment(problem.size(), 0);
    std::int64_t sum = 0;
    for (const int task : forward) {
      segment[static_cast<std::size_t>(task)] =
          static_cast<std::size_t>(static_cast<double>(sum) / static_cast<double>(bytes + 1) *
                                   static_cast<double>(segments));
      sum += at(problem, task).bytes;
    }
    std::vector<bool> kept(problem.size(), false);
    for (const int task : forward) {
      for (const int input : at(problem, task).inputs) {
        if (segment[static_cast<std::size_t>(input)] != segment[static_cast<std::size_t>(task)])
          kept[static_cast<std::size_t>(input)] = true;
      }
    }
    const std::size_t last = segment[static_cast<std::size_t>(forward.back())];
    for (const bool keep_last : {false, true}) {
      for (const int task : forward) {
        const auto at_task = static_cast<std::size_t>(task);
        if (keep_last && segment[at_task] == last) kept[at_task] = true;
      }
      auto found = fitting(problem, order_with_kept(problem, kept), limit);
      if (found && (!best || found->cost < best->cost)) best = std::move(found);
    }
  }
  return best;
}

std::optional<RecomputeSchedule> dtr_schedule(const RecomputeProblem& problem, std::int64_t limit,
                                              DtrCost cost,
                                              const std::function<bool()>& should_stop) {
  const auto order = Dtr(problem, limit, cost, should_stop).run();
  return order ? fitting(problem, *order, limit) : std::nullopt;
}

}  // namespace egret::extract
