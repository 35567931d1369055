// SPDX-License-Identifier: Apache-2.0
#include "extract/recompute/coarsen.h"

#include <algorithm>
#include <vector>

namespace egret::extract {

CoarseProblem coarsened(const RecomputeProblem& problem, std::size_t most) {
  const std::size_t n = problem.size();
  std::vector<RecomputeTask> tasks = problem.tasks;
  std::vector<bool> gone(n, false);
  std::vector<std::vector<int>> parts(n);
  for (std::size_t i = 0; i < n; ++i) parts[i] = {static_cast<int>(i)};
  for (std::size_t left = n; left > most; --left) {
    std::vector<int> readers(n, 0), reader(n, -1);
    for (std::size_t i = 0; i < n; ++i) {
      if (gone[i]) continue;
      for (const int input : tasks[i].inputs) {
        ++readers[static_cast<std::size_t>(input)];
        reader[static_cast<std::size_t>(input)] = static_cast<int>(i);
      }
    }
    std::size_t least = n;
    for (std::size_t i = 0; i < n; ++i) {
      const bool fits = !gone[i] && !tasks[i].result && readers[i] == 1 &&
                        tasks[i].forward == tasks[static_cast<std::size_t>(reader[i])].forward;
      if (fits && (least == n || tasks[i].bytes < tasks[least].bytes)) least = i;
    }
    if (least == n) break;
    const RecomputeTask& part = tasks[least];
    RecomputeTask& whole = tasks[static_cast<std::size_t>(reader[least])];
    std::erase(whole.inputs, static_cast<int>(least));
    whole.inputs.insert(whole.inputs.end(), part.inputs.begin(), part.inputs.end());
    std::ranges::sort(whole.inputs);
    const auto repeated = std::ranges::unique(whole.inputs);
    whole.inputs.erase(repeated.begin(), repeated.end());
    // The part's value is there during the whole; the whole's is not yet during the part.
    whole.scratch = std::max(
        {part.bytes + whole.scratch, part.bytes + part.scratch - whole.bytes, std::int64_t{0}});
    whole.cost += part.cost;
    auto& run = parts[static_cast<std::size_t>(reader[least])];
    run.insert(run.begin(), parts[least].begin(), parts[least].end());
    gone[least] = true;
  }
  CoarseProblem result;
  std::vector<int> place(n, -1);
  for (std::size_t i = 0; i < n; ++i) {
    if (gone[i]) continue;
    place[i] = static_cast<int>(result.problem.size());
    for (int& input : tasks[i].inputs) input = place[static_cast<std::size_t>(input)];
    result.problem.tasks.push_back(std::move(tasks[i]));
    result.parts.push_back(std::move(parts[i]));
  }
  return result;
}

}  // namespace egret::extract
