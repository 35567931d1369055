// SPDX-License-Identifier: Apache-2.0
#include "extract/recompute/wait_program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "extract/recompute/linear_bound.h"

namespace egret::extract {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class Waits {
 public:
  Waits(const RecomputeProblem& problem, std::int64_t limit)
      : problem_(problem),
        n_(static_cast<int>(problem.size())),
        unit_(std::max<double>(1, static_cast<double>(limit))),
        uses_(problem.size()),
        kept_(problem.size()),
        brought_(problem.size()),
        later_(problem.size()),
        again_(problem.size(), -1),
        brought_again_(problem.size(), -1),
        leaves_(problem.size(), -1) {
    scale_ = cost_scale(problem.least_cost());
    for (int i = 0; i < n_; ++i) uses_[at(i)].push_back(i);
    for (int i = 0; i < n_; ++i) {
      for (const int input : problem.tasks[at(i)].inputs) uses_[at(input)].push_back(i);
    }
    for (int i = 0; i < n_; ++i) {
      if (problem.tasks[at(i)].result) uses_[at(i)].push_back(n_);  // the end reads it
    }
    for (int t = 0; t < n_; ++t) memory_.push_back(memory_row(t));
    for (int i = 0; i < n_; ++i) add_waits(i);
    for (int i = 0; i < n_; ++i) add_needs(i);
    for (int i = 0; i < n_; ++i) add_later(i);
    for (Milp::Row& row : memory_) milp_.rows.push_back(std::move(row));
  }

  const Milp& milp() const { return milp_; }
  double cost_of(double objective) const { return (objective + given_) / scale_; }

  // Values that are given up are freed behind each reader, and computed or copied back when they
  // are needed.
  std::vector<int> order_of(const std::vector<double>& values) const {
    std::vector<int> order;
    std::vector<bool> there(problem_.size(), false);
    std::vector<bool> known(problem_.size(), false);
    std::vector<std::size_t> next(problem_.size(), 1);  // of uses_
    const auto is_set = [&](int column) { return column >= 0 && values[at(column)] > 0.5; };
    const auto comes_back = [&](int task) {
      const std::size_t k = next[at(task)];
      return known[at(task)] &&
             is_set(k < uses_[at(task)].size() ? brought_[at(task)][k] : brought_again_[at(task)]);
    };
    const auto compute = [&](auto&& self, int task) -> void {
      if (comes_back(task)) {
        order.push_back(back(task));
        there[at(task)] = true;
        return;
      }
      for (const int input : problem_.tasks[at(task)].inputs) {
        if (!there[at(input)]) self(self, input);
      }
      order.push_back(task);
      there[at(task)] = known[at(task)] = true;
    };
    const auto settle = [&](int value, int now) {  // behind a reader
      const auto& uses = uses_[at(value)];
      std::size_t& k = next[at(value)];
      while (k < uses.size() && uses[k] <= now) ++k;
      if (k >= uses.size()) {
        there[at(value)] = false;
      } else if (const int column = kept_[at(value)][k]; column >= 0) {
        there[at(value)] = is_set(column);
      }
    };
    for (int i = 0; i < n_; ++i) {
      compute(compute, i);
      for (const int input : problem_.tasks[at(i)].inputs) settle(input, i);
      settle(i, i);
    }
    for (int i = 0; i < n_; ++i) {
      if (problem_.tasks[at(i)].result && !there[at(i)]) compute(compute, i);
    }
    return order;
  }

 private:
  int column(double cost) {
    milp_.columns.push_back({.cost = cost, .lower = 0, .upper = 1, .integer = true});
    return static_cast<int>(milp_.columns.size()) - 1;
  }
  double size(int i) const { return static_cast<double>(problem_.tasks[at(i)].bytes) / unit_; }
  double cost(int i) const { return problem_.tasks[at(i)].cost * scale_; }

  Milp::Row memory_row(int t) const {
    const RecomputeTask& task = problem_.tasks[at(t)];
    double taken = static_cast<double>(task.bytes + task.scratch) / unit_;
    for (const int input : task.inputs) taken += size(input);
    return {.lower = -Milp::kInfinite, .upper = 1 - taken, .columns = {}, .values = {}};
  }

  // A copy back of a value, which was then copied out.
  int copied_back(int value) {
    const RecomputeTask& task = problem_.tasks[at(value)];
    if (leaves_[at(value)] < 0) leaves_[at(value)] = column(task.copy_out * scale_);
    const int brought = column(task.copy_back * scale_);
    Milp::Row row{.lower = 0, .upper = Milp::kInfinite, .columns = {}, .values = {}};
    row.add(leaves_[at(value)], 1);
    row.add(brought, -1);
    milp_.rows.push_back(std::move(row));
    return brought;
  }

  // Columns of its waits with a task in between. A wait that is not kept costs one computation, or
  // one copy back instead.
  void add_waits(int value) {
    const auto& uses = uses_[at(value)];
    kept_[at(value)].assign(uses.size(), -1);
    brought_[at(value)].assign(uses.size(), -1);
    given_ += cost(value);
    for (std::size_t k = 1; k < uses.size(); ++k) {
      if (problem_.tasks[at(value)].bytes == 0 || uses[k] == uses[k - 1] + 1) continue;
      given_ += cost(value);
      const int kept = kept_[at(value)][k] = column(-cost(value));
      for (int t = uses[k - 1] + 1; t < uses[k]; ++t) memory_[at(t)].add(kept, size(value));
      if (!problem_.tasks[at(value)].may_leave()) continue;
      const int brought = brought_[at(value)][k] = copied_back(value);
      milp_.columns[at(brought)].cost -= cost(value);
      Milp::Row row{.lower = -Milp::kInfinite, .upper = 1, .columns = {}, .values = {}};
      row.add(kept, 1);
      row.add(brought, 1);
      milp_.rows.push_back(std::move(row));
    }
  }

  // For whether a value is computed again after its last reader.
  int again(int value) {
    if (again_[at(value)] < 0) {
      again_[at(value)] = column(cost(value));
      if (problem_.tasks[at(value)].may_leave()) brought_again_[at(value)] = copied_back(value);
      need_inputs(value, uses_[at(value)].back(), 0, {{again_[at(value)], 1}});
    }
    return again_[at(value)];
  }

  // For whether it stays after its last reader until behind task `until`.
  int kept_later(int value, int until) {
    const auto [found, is_new] = later_[at(value)].try_emplace(until, -1);
    if (is_new) found->second = column(0);
    return found->second;
  }

  // Where constant + the sum of factor * column is 1, the value is computed behind task `since`:
  // its inputs are there by then or are computed again, or copied back.
  void need_inputs(int value, int since, double constant,
                   const std::vector<std::pair<int, double>>& computed) {
    for (const int input : problem_.tasks[at(value)].inputs) {
      const int last = uses_[at(input)].back();
      if (problem_.tasks[at(input)].bytes == 0 || last >= since) continue;
      Milp::Row row{.lower = constant, .upper = Milp::kInfinite, .columns = {}, .values = {}};
      row.add(kept_later(input, since), 1);
      row.add(again(input), 1);
      if (brought_again_[at(input)] >= 0) row.add(brought_again_[at(input)], 1);
      for (const auto& [column, factor] : computed) row.add(column, -factor);
      milp_.rows.push_back(std::move(row));
    }
  }

  void add_needs(int value) {
    const auto& uses = uses_[at(value)];
    for (std::size_t k = 1; k < uses.size(); ++k) {
      if (kept_[at(value)][k] < 0) continue;
      std::vector<std::pair<int, double>> computed{{kept_[at(value)][k], -1}};
      if (brought_[at(value)][k] >= 0) computed.emplace_back(brought_[at(value)][k], -1);
      need_inputs(value, uses[k - 1], 1, computed);
    }
  }

  // Who stays until a later task stays until the earlier ones too.
  void add_later(int value) {
    int from = uses_[at(value)].back();
    int before = -1;
    for (const auto& [until, kept] : later_[at(value)]) {
      for (int t = from + 1; t <= until && t < n_; ++t) memory_[at(t)].add(kept, size(value));
      if (before >= 0) {
        Milp::Row row{.lower = 0, .upper = Milp::kInfinite, .columns = {}, .values = {}};
        row.add(before, 1);
        row.add(kept, -1);
        milp_.rows.push_back(std::move(row));
      }
      from = until;
      before = kept;
    }
  }

  const RecomputeProblem& problem_;
  int n_;
  double unit_, scale_ = 1;
  double given_ = 0;  // the part of the cost that no column has
  Milp milp_;
  std::vector<Milp::Row> memory_;          // by task
  std::vector<std::vector<int>> uses_;     // by value: its task, then its readers
  std::vector<std::vector<int>> kept_;     // by value and use: the wait before it; -1: none
  std::vector<std::vector<int>> brought_;  // the same: it is copied back in the wait
  std::vector<std::map<int, int>> later_;  // by value and task
  std::vector<int> again_;                 // by value
  std::vector<int> brought_again_;         // by value: copied back after its last reader
  std::vector<int> leaves_;                // by value: copied out
};

}  // namespace

WaitAnswer solve_waits(const RecomputeProblem& problem, std::int64_t limit, double seconds,
                       const std::function<bool()>& should_stop) {
  const Waits waits(problem, limit);
  if (waits.milp().columns.empty())  // nothing ever waits
    return {.bound = problem.least_cost(),
            .proven_bound = problem.least_cost(),
            .order = waits.order_of({})};
  const ProgramAnswer solved = solve_program(waits.milp(), Solves::kBoth, seconds, should_stop);
  const double least = problem.least_cost();
  WaitAnswer answer{.bound = std::max(least, waits.cost_of(solved.bound)),
                    .proven_bound = std::max(least, waits.cost_of(solved.proven_bound))};
  const auto& values = solved.values.empty() ? solved.relaxed : solved.values;
  if (!values.empty()) answer.order = waits.order_of(values);
  return answer;
}

}  // namespace egret::extract
