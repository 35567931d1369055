// SPDX-License-Identifier: Apache-2.0
#include "extract/recompute/schedule.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace egret::extract {
namespace {

base::Status fault(std::size_t step, const std::string& what) {
  return base::bad_input("step " + std::to_string(step) + " of the schedule " + what);
}

std::string value(int task) { return "value " + std::to_string(task); }

}  // namespace

double RecomputeProblem::least_cost() const {
  double sum = 0;
  for (const RecomputeTask& task : tasks) sum += task.cost;
  return sum;
}

base::Status RecomputeProblem::check() const {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const RecomputeTask& task = tasks[i];
    const auto is_before = [&](int input) {
      return input >= 0 && static_cast<std::size_t>(input) < i;
    };
    if (!std::ranges::all_of(task.inputs, is_before))
      return base::bad_input("task " + std::to_string(i) +
                             " reads a task that does not precede it");
    const bool copies = task.copy_out >= 0 && task.copy_back >= 0;
    if (!std::isfinite(task.cost) || task.cost < 0 || task.bytes < 0 || task.scratch < 0 || !copies)
      return base::bad_input("task " + std::to_string(i) + " has a negative cost or size");
  }
  return base::ok();
}

std::vector<int> RecomputeSchedule::order() const {
  std::vector<int> tasks;
  tasks.reserve(steps.size());
  for (const Step& step : steps) tasks.push_back(step.back ? extract::back(step.task) : step.task);
  return tasks;
}

std::size_t RecomputeSchedule::copies() const {
  return static_cast<std::size_t>(std::ranges::count(steps, true, &Step::back));
}

base::Result<RecomputeSchedule> schedule_of(const RecomputeProblem& problem,
                                            std::span<const int> order) {
  std::vector<int> made(problem.size(), -1);   // by task: the step that has made its value last
  std::vector<int> first(problem.size(), -1);  // by task: the step of its first computation
  std::vector<bool> leaves(problem.size(), false);
  std::vector<std::size_t> last(order.size());  // by step: the last step that reads its value
  for (std::size_t step = 0; step < order.size(); ++step) {
    const auto task = static_cast<std::size_t>(task_of(order[step]));
    if (task >= problem.size()) return fault(step, "computes a task that does not exist");
    if (is_back(order[step])) {
      if (first[task] < 0)
        return fault(step, "copies back " + value(task_of(order[step])) + " before it is computed");
      if (!problem.tasks[task].may_leave())
        return fault(step, "copies back " + value(task_of(order[step])) + ", which cannot leave");
      leaves[task] = true;
      made[task] = static_cast<int>(step);
      last[step] = step;
      continue;
    }
    if (first[task] < 0) first[task] = static_cast<int>(step);
    for (const int input : problem.tasks[task].inputs) {
      const int from = made[static_cast<std::size_t>(input)];
      if (from < 0) return fault(step, "reads " + value(input) + " before it is computed");
      last[static_cast<std::size_t>(from)] = step;
    }
    made[task] = static_cast<int>(step);
    last[step] = step;
  }
  std::vector<bool> stays(order.size(), false);
  RecomputeSchedule schedule;
  for (std::size_t task = 0; task < problem.size(); ++task) {
    if (made[task] < 0)
      return base::bad_input("the schedule leaves out task " + std::to_string(task));
    if (problem.tasks[task].result) stays[static_cast<std::size_t>(made[task])] = true;
  }
  for (const int step : order)
    schedule.steps.push_back({.task = task_of(step), .back = is_back(step)});
  for (std::size_t step = 0; step < order.size(); ++step) {
    if (!stays[step]) schedule.steps[last[step]].freed.push_back(task_of(order[step]));
  }
  for (std::size_t task = 0; task < problem.size(); ++task) {
    if (leaves[task]) schedule.steps[static_cast<std::size_t>(first[task])].out = true;
  }
  std::int64_t live = 0;
  for (RecomputeSchedule::Step& step : schedule.steps) {
    const RecomputeTask& task = problem.tasks[static_cast<std::size_t>(step.task)];
    live += task.bytes;
    schedule.cost += step.back ? task.copy_back : task.cost;
    if (step.out) schedule.cost += task.copy_out;
    schedule.peak = std::max(schedule.peak, live + (step.back ? 0 : task.scratch));
    std::ranges::sort(step.freed);
    for (const int freed : step.freed) live -= problem.tasks[static_cast<std::size_t>(freed)].bytes;
  }
  return schedule;
}

base::Status check_schedule(const RecomputeProblem& problem, const RecomputeSchedule& schedule) {
  std::vector<bool> there(problem.size(), false);
  std::vector<bool> computed(problem.size(), false);
  std::vector<bool> stored(problem.size(), false);
  double cost = 0;
  std::int64_t peak = 0;
  for (std::size_t k = 0; k < schedule.steps.size(); ++k) {
    const RecomputeSchedule::Step& step = schedule.steps[k];
    if (step.task < 0 || static_cast<std::size_t>(step.task) >= problem.size())
      return fault(k, "computes a task that does not exist");
    const auto at = static_cast<std::size_t>(step.task);
    for (const int input : problem.tasks[at].inputs) {
      if (!step.back && !there[static_cast<std::size_t>(input)])
        return fault(k, "reads " + value(input) + ", which is not in memory");
    }
    if (there[at]) return fault(k, "computes " + value(step.task) + ", which is in memory");
    if (step.back && !stored[at])
      return fault(k, "copies back " + value(step.task) + ", which was not copied out");
    if (step.out && (step.back || stored[at] || !problem.tasks[at].may_leave()))
      return fault(k, "copies out " + value(step.task) + ", which it cannot");
    there[at] = true;
    computed[at] = computed[at] || !step.back;
    stored[at] = stored[at] || step.out;
    std::int64_t live = step.back ? 0 : problem.tasks[at].scratch;
    for (std::size_t i = 0; i < there.size(); ++i) live += there[i] ? problem.tasks[i].bytes : 0;
    peak = std::max(peak, live);
    cost += step.back ? problem.tasks[at].copy_back : problem.tasks[at].cost;
    if (step.out) cost += problem.tasks[at].copy_out;
    for (const int freed : step.freed) {
      if (freed < 0 || static_cast<std::size_t>(freed) >= problem.size() ||
          !there[static_cast<std::size_t>(freed)])
        return fault(k, "frees " + value(freed) + ", which is not in memory");
      there[static_cast<std::size_t>(freed)] = false;
    }
  }
  for (std::size_t i = 0; i < problem.size(); ++i) {
    if (!computed[i]) return base::bad_input("the schedule leaves out task " + std::to_string(i));
    if (problem.tasks[i].result && !there[i])
      return base::bad_input("the schedule frees the result " + std::to_string(i));
  }
  if (peak != schedule.peak)
    return base::bad_input("the schedule states a peak of " + std::to_string(schedule.peak) +
                           " bytes and has one of " + std::to_string(peak));
  if (std::abs(cost - schedule.cost) > 1e-9 * std::max(cost, 1e-30))
    return base::bad_input("the schedule states another cost than it has");
  return base::ok();
}

std::int64_t least_memory(const RecomputeProblem& problem) {
  std::int64_t least = 0;
  for (const RecomputeTask& task : problem.tasks) {
    std::int64_t sum = task.bytes + task.scratch;
    for (const int input : task.inputs) sum += problem.tasks[static_cast<std::size_t>(input)].bytes;
    least = std::max(least, sum);
  }
  return least;
}

}  // namespace egret::extract
