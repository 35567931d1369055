// SPDX-License-Identifier: Apache-2.0
#include "extract/recompute/order_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "base/timer.h"
#include "extract/recompute/order_profile.h"

namespace egret::extract {
namespace {

using Order = std::vector<int>;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// A value that waits at the fullest step, and what computing it again before its next reader takes.
struct Move {
  std::size_t reader = 0;  // the step before which tasks are inserted
  Order inserted{};
  double score = 0;
};

class Search {
 public:
  Search(const RecomputeProblem& problem, std::int64_t limit, const OrderSearchOptions& options)
      : problem_(problem),
        limit_(limit),
        options_(options),
        profile_(problem, limit),
        trial_(problem, limit),
        random_(options.seed),
        deadline_(base::Deadline::after(options.seconds)) {}

  std::optional<Order> run(std::span<const Order> starts) {
    Order all(problem_.size());
    std::iota(all.begin(), all.end(), 0);
    start_from(all);
    for (const Order& start : starts) start_from(start);
    // Other choices, by chance, may fit: with growing noise, and through orders that exceed the
    // limit by more.
    for (int k = 0; !found_ && !over(); ++k) {
      worse_ = std::min(0.4, 0.02 * k);
      const std::size_t from = random_.below(starts.size() + 1);
      start_from(from == 0 ? all : starts[from - 1], std::min(2.0, 0.3 + 0.05 * k));
    }
    worse_ = 0;
    if (!found_) return std::nullopt;
    improve();
    return best_;
  }

 private:
  bool over() const {
    return deadline_.expired() || (options_.should_stop && options_.should_stop());
  }

  void start_from(Order order, double noise = 0) {
    if (!repair(order, noise)) return;
    prune(order);
    keep(order);
  }

  void keep(const Order& order) {
    trial_.evaluate(order);
    if (trial_.excess() > 0 || (found_ && trial_.cost() >= best_cost_)) return;
    best_ = order;
    best_cost_ = trial_.cost();
    found_ = true;
  }

  void improve() {
    Order current = best_;
    double cost = best_cost_;
    const double floor = problem_.least_cost();
    int idle = 0;
    for (std::int64_t round = 0; round < options_.rounds && !over(); ++round) {
      if (best_cost_ <= options_.least_cost * (1 + 1e-9) || best_cost_ <= floor * (1 + 1e-12))
        return;
      Order next = current;
      destroy(next);
      if (!repair(next, random_.chance(0.3) ? 0 : random_.uniform(0.05, 0.8))) continue;
      prune(next);
      trial_.evaluate(next);
      const double found = trial_.cost();
      // Simulated annealing on the overhead: worse orders are taken less and less often.
      const double share = static_cast<double>(round) / static_cast<double>(options_.rounds);
      const double heat = 0.03 * (1 - share) * (best_cost_ - floor) + 1e-15;
      if (found <= cost || random_.chance(std::exp((cost - found) / heat))) {
        current = std::move(next);
        cost = found;
      }
      if (cost < best_cost_ * (1 - 1e-12)) {
        best_ = current;
        best_cost_ = cost;
        idle = 0;
      } else if (++idle > 400) {
        current = best_;
        cost = best_cost_;
        idle = 0;
      }
    }
  }

  // Of a computation or a copy back, without the copy out.
  double cost_of(int step) const {
    const RecomputeTask& task = problem_.tasks[at(task_of(step))];
    return is_back(step) ? task.copy_back : task.cost;
  }

  std::vector<std::size_t> repeats(const Order& order) const {
    std::vector<bool> seen(problem_.size(), false);
    std::vector<std::size_t> steps;
    for (std::size_t step = 0; step < order.size(); ++step) {
      const std::size_t task = at(task_of(order[step]));
      if (seen[task]) steps.push_back(step);
      seen[task] = true;
    }
    return steps;
  }

  // Removes a run of neighbouring recomputations, those of a stretch of tasks, or some anywhere.
  void destroy(Order& order) {
    const std::vector<std::size_t> steps = repeats(order);
    if (steps.empty()) return;
    const std::size_t most = std::max<std::size_t>(2, std::min<std::size_t>(12, steps.size() / 3));
    const std::size_t count = 1 + random_.below(std::min(most, steps.size()));
    std::vector<bool> gone(order.size(), false);
    if (random_.chance(0.5)) {
      const std::size_t first = random_.below(steps.size());
      for (std::size_t k = 0; k < count && first + k < steps.size(); ++k)
        gone[steps[first + k]] = true;
    } else if (random_.chance(0.3)) {  // all repeats of a stretch of tasks
      const int low = task_of(order[steps[random_.below(steps.size())]]);
      const int high = low + static_cast<int>(1 + random_.below(1 + problem_.size() / 12));
      for (const std::size_t step : steps)
        gone[step] = task_of(order[step]) >= low && task_of(order[step]) < high;
    } else {
      for (std::size_t k = 0; k < count; ++k) gone[steps[random_.below(steps.size())]] = true;
    }
    std::size_t to = 0;
    for (std::size_t step = 0; step < order.size(); ++step) {
      if (!gone[step]) order[to++] = order[step];
    }
    order.resize(to);
  }

  // Removes recomputations that the limit does not need, the dearest first.
  void prune(Order& order) {
    for (bool changed = true; changed && !over();) {
      changed = false;
      std::vector<std::size_t> steps = repeats(order);
      std::ranges::stable_sort(steps, [&](std::size_t a, std::size_t b) {
        return cost_of(order[a]) > cost_of(order[b]);
      });
      std::vector<bool> gone(order.size(), false);
      Order rest;
      for (const std::size_t step : steps) {
        if (over()) break;
        gone[step] = true;
        rest.clear();
        for (std::size_t k = 0; k < order.size(); ++k) {
          if (!gone[k]) rest.push_back(order[k]);
        }
        trial_.evaluate(rest);
        if (trial_.excess() > 0) {
          gone[step] = false;
        } else {
          changed = true;
        }
      }
      rest.clear();
      for (std::size_t k = 0; k < order.size(); ++k) {
        if (!gone[k]) rest.push_back(order[k]);
      }
      order = rest;
    }
  }

  // Makes moves until the order fits. False where no move helps.
  bool repair(Order& order, double noise) {
    profile_.evaluate(order);
    const std::size_t most = 12 * problem_.size() + 100;
    while (profile_.excess() > 0) {
      if (over() || order.size() > most) return false;
      std::vector<Move> moves = moves_of(order, noise);
      if (moves.empty()) return false;
      std::ranges::sort(moves, [](const Move& a, const Move& b) { return a.score > b.score; });
      const double before = profile_.excess();
      const bool may_worsen = random_.chance(worse_);
      bool made = false;
      for (std::size_t k = 0; k < moves.size() && k < 12; ++k) {
        Order next = order;
        next.insert(next.begin() + static_cast<std::ptrdiff_t>(moves[k].reader),
                    moves[k].inserted.begin(), moves[k].inserted.end());
        trial_.evaluate(next);
        if (trial_.excess() >= (may_worsen ? 1.3 : 1) * before) continue;
        order = std::move(next);
        made = true;
        break;
      }
      if (!made) return false;
      profile_.evaluate(order);
    }
    return true;
  }

  // The fullest step; with worse orders also any other one beyond the limit.
  std::size_t crowded_step() {
    if (!random_.chance(worse_)) return profile_.fullest();
    std::vector<std::size_t> beyond;
    for (std::size_t step = 0; step < profile_.memory().size(); ++step) {
      if (profile_.memory()[step] > limit_) beyond.push_back(step);
    }
    return beyond[random_.below(beyond.size())];
  }

  // One move for each value that waits at the crowded step.
  std::vector<Move> moves_of(const Order& order, double noise) {
    const std::size_t peak = crowded_step();
    // By task: its latest step and latest reader up to the peak, and its next reader behind.
    latest_.assign(problem_.size(), -1);
    since_.assign(problem_.size(), -1);
    next_.assign(problem_.size(), -1);
    for (std::size_t step = 0; step <= peak; ++step) {
      latest_[at(task_of(order[step]))] = static_cast<int>(step);
      since_[at(task_of(order[step]))] = static_cast<int>(step);
      for (const int input : read_by(order[step])) since_[at(input)] = static_cast<int>(step);
    }
    again_.assign(problem_.size(), false);
    for (std::size_t step = peak + 1; step < order.size(); ++step) {
      for (const int input : read_by(order[step])) {
        if (next_[at(input)] < 0 && !again_[at(input)]) next_[at(input)] = static_cast<int>(step);
      }
      again_[at(task_of(order[step]))] = true;
    }
    std::vector<Move> moves;
    for (std::size_t task = 0; task < problem_.size() && !over(); ++task) {
      const RecomputeTask& what = problem_.tasks[task];
      if (latest_[task] < 0 || since_[task] == static_cast<int>(peak) || what.bytes == 0) continue;
      int reader = next_[task];
      // A result waits for the end.
      if (reader < 0 && what.result && !again_[task]) reader = static_cast<int>(order.size());
      if (reader < 0) continue;
      double freed = 0;
      for (std::size_t step = at(since_[task]) + 1; step < at(reader); ++step) {
        const std::int64_t beyond = profile_.memory()[step] - limit_;
        if (beyond > 0) freed += static_cast<double>(std::min(beyond, what.bytes));
      }
      Move move{.reader = at(reader)};
      const auto add = [&] {
        double cost = 0;
        for (const int inserted : move.inserted) cost += added_cost(inserted);
        move.score = freed / (cost + 1e-6 * problem_.least_cost());
        if (noise > 0) move.score *= std::exp(noise * (2 * random_.unit() - 1) * 2);
        moves.push_back(move);
      };
      if (collect(order, static_cast<int>(task), at(reader), move.inserted)) add();
      if (!what.may_leave()) continue;
      move.inserted = {back(static_cast<int>(task))};
      add();
    }
    return moves;
  }

  // As cost_of(), with the copy out where the order has none yet.
  double added_cost(int step) const {
    const std::size_t task = at(task_of(step));
    const bool leaves = is_back(step) && !profile_.left()[task];
    return cost_of(step) + (leaves ? problem_.tasks[task].copy_out : 0);
  }

  std::span<const int> read_by(int step) const {
    if (is_back(step)) return {};
    return problem_.tasks[at(step)].inputs;
  }

  // What has to be computed before the step for this value: itself, behind its inputs that are not
  // in memory there and cannot wait for it. They are copied back where that costs less than to
  // compute them by themselves.
  bool collect(const Order& order, int task, std::size_t step, Order& inserted) {
    constexpr std::size_t kMost = 64;
    for (const int input : problem_.tasks[at(task)].inputs) {
      if (std::ranges::count(inserted, input, task_of) > 0) continue;
      int made = -1;
      for (std::size_t k = step; k-- > 0;) {
        if (task_of(order[k]) == input) {
          made = static_cast<int>(k);
          break;
        }
      }
      if (made < 0) return false;
      const std::size_t last = at(profile_.last()[at(made)]);
      if (last >= step) continue;
      bool may_wait = true;
      const std::int64_t room = limit_ - problem_.tasks[at(input)].bytes;
      for (std::size_t k = last + 1; k < step && may_wait; ++k)
        may_wait = profile_.memory()[k] <= room;
      if (may_wait) continue;
      if (problem_.tasks[at(input)].may_leave() && added_cost(back(input)) < cost_of(input)) {
        inserted.push_back(back(input));
        continue;
      }
      if (inserted.size() >= kMost || !collect(order, input, step, inserted)) return false;
    }
    inserted.push_back(task);
    return true;
  }

  const RecomputeProblem& problem_;
  std::int64_t limit_;
  const OrderSearchOptions& options_;
  OrderProfile profile_, trial_;
  base::Random random_;
  base::Deadline deadline_;
  std::vector<int> latest_, since_, next_;
  std::vector<bool> again_;
  Order best_;
  double best_cost_ = 0;
  double worse_ = 0;  // how often a repair takes a move to an order that exceeds the limit by more
  bool found_ = false;
};

}  // namespace

std::optional<RecomputeSchedule> search_orders(const RecomputeProblem& problem, std::int64_t limit,
                                               std::span<const std::vector<int>> starts,
                                               const OrderSearchOptions& options) {
  const std::optional<Order> order = Search(problem, limit, options).run(starts);
  if (!order) return std::nullopt;
  auto schedule = schedule_of(problem, *order);
  if (!schedule.ok() || schedule->peak > limit) return std::nullopt;
  return *std::move(schedule);
}

}  // namespace egret::extract
