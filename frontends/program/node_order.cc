// SPDX-License-Identifier: Apache-2.0
#include "frontends/program/node_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace egret::frontends {
namespace {

std::vector<ValueId> read_by(const OnnxProgramNode& node) {
  std::vector<ValueId> values = node.inputs;
  values.insert(values.end(), node.captured.begin(), node.captured.end());
  return values;
}

// The node that defines each value; -1: none does.
std::vector<int> producers_of(const OnnxProgram& program) {
  std::vector<int> producer(program.value_names.size(), -1);
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    for (const ValueId output : program.nodes[i].outputs) {
      if (output.valid()) producer[output.index()] = static_cast<int>(i);
    }
  }
  return producer;
}

// `missing` has the number of inputs of each node that never became ready. Among these nodes, going
// back to a producer that did not become ready either must come around to a cycle.
// Each step moves to a producer that is not ready, and there are finitely many nodes, so the walk
// meets a node again. That node lies on the cycle, while the start may only depend on it.
const OnnxProgramNode& node_on_cycle(const OnnxProgram& program, const std::vector<int>& producer,
                                     const std::vector<int>& missing) {
  std::vector<bool> seen(missing.size(), false);
  auto at = static_cast<std::size_t>(std::ranges::find_if(missing, [](int m) { return m > 0; }) -
                                     missing.begin());
  while (!seen[at]) {
    seen[at] = true;
    for (const ValueId input : read_by(program.nodes[at])) {
      if (!input.valid() || producer[input.index()] < 0) continue;
      const auto back = static_cast<std::size_t>(producer[input.index()]);
      if (missing[back] == 0) continue;
      at = back;
      break;
    }
  }
  return program.nodes[at];
}

}  // namespace

// Kahn's algorithm with a priority queue.
// The queue yields the smallest index first, so that nodes that are already in order keep their
// order and the result is deterministic. A node that reads a value twice counts it twice in
// `missing` and in `readers`, so the counts agree. O((nodes + inputs) log nodes).
base::Status sort_nodes(OnnxProgram& program) {
  const std::size_t count = program.nodes.size();
  const std::vector<int> producer = producers_of(program);
  std::vector<int> missing(count, 0);  // inputs of each node that are not defined yet
  std::vector<std::vector<int>> readers(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (const ValueId input : read_by(program.nodes[i])) {
      if (!input.valid() || producer[input.index()] < 0) continue;
      readers[static_cast<std::size_t>(producer[input.index()])].push_back(static_cast<int>(i));
      ++missing[i];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (missing[i] == 0) ready.push(static_cast<int>(i));
  }
  std::vector<OnnxProgramNode> sorted;
  sorted.reserve(count);
  while (!ready.empty()) {
    const auto i = static_cast<std::size_t>(ready.top());
    ready.pop();
    for (const int reader : readers[i]) {
      if (--missing[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
    }
    sorted.push_back(program.nodes[i]);
  }
  if (sorted.size() < count) {
    return base::bad_input(program.place(node_on_cycle(program, producer, missing)) +
                           ": depends on its own output (the graph has a cycle)");
  }
  program.nodes = std::move(sorted);
  return base::ok();
}

}  // namespace egret::frontends
