// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/schedule.h"

#include <algorithm>

namespace egret::backends::codegen {
namespace {

// A sum this long, of so few elements, is worth a block of threads for each element.
constexpr std::int64_t kLongReduction = 256;
constexpr std::int64_t kFewElements = 1 << 15;

std::int64_t count(const ir::LoopNest& nest, const std::vector<int>& symbols) {
  std::int64_t product = 1;
  for (const int symbol : symbols) product *= nest.extent(symbol);
  return product;
}

ir::VariableSet variables(const ir::LoopNest& nest, const std::vector<int>& symbols) {
  ir::VariableSet set = 0;
  for (const int symbol : symbols) set |= nest.symbol(symbol).depends;
  return set;
}

// All variables of reductions. (A value's set may name variables that were merged into others.)
ir::VariableSet reduced(const ir::LoopNest& nest) {
  ir::VariableSet set = 0;
  for (const ir::NestNode& node : nest.nodes) set |= variables(nest, node.variables);
  return set;
}

// The output variables that decide the reductions worth sharing; all of them when there are none.
ir::VariableSet shared_rows(const ir::LoopNest& nest, ir::VariableSet outputs) {
  const ir::VariableSet inner = reduced(nest);
  ir::VariableSet joint = 0, longest = outputs;
  std::int64_t most = 0;
  bool any = false;
  for (const ir::NestNode& node : nest.nodes) {
    if (node.op != ir::ExprOp::kReduce) continue;
    const ir::VariableSet own = node.depends & outputs;
    if (own == outputs || (node.depends & inner) != 0) continue;
    any = true;
    joint |= own;
    const std::int64_t terms = count(nest, node.variables);
    if (terms > most) {
      most = terms;
      longest = own;
    }
  }
  if (!any) return outputs;
  return joint == outputs ? longest : joint;
}

// Terms of the longest reduction that depends on none but `rows` of the `outputs`.
std::int64_t longest_reduction(const ir::LoopNest& nest, ir::VariableSet outputs,
                               ir::VariableSet rows) {
  const ir::VariableSet others = (outputs & ~rows) | reduced(nest);
  std::int64_t most = 0;
  for (const ir::NestNode& node : nest.nodes) {
    if (node.op == ir::ExprOp::kReduce && (node.depends & others) == 0)
      most = std::max(most, count(nest, node.variables));
  }
  return most;
}

}  // namespace

Schedule schedule(const ir::LoopNest& nest, Target target) {
  Schedule result;
  const ir::VariableSet outputs = variables(nest, nest.output_variables);
  ir::VariableSet rows = shared_rows(nest, outputs);
  const std::int64_t elements = count(nest, nest.output_variables);
  result.by_rows = rows != outputs;
  if (!result.by_rows && target == Target::kCuda) {
    result.by_rows =
        longest_reduction(nest, outputs, outputs) >= kLongReduction && elements <= kFewElements;
    if (!result.by_rows) rows = 0;
  } else if (!result.by_rows) {
    // On the host the innermost variable runs inside a step of the outer loop.
    result.by_rows = nest.output_variables.size() > 1;
    rows = result.by_rows ? outputs & ~nest.symbol(nest.output_variables.back()).depends : 0;
  }
  for (const int symbol : nest.output_variables) {
    const bool is_row = (nest.symbol(symbol).depends & rows) != 0;
    (is_row ? result.rows : result.lanes).push_back(symbol);
  }
  result.row_count = count(nest, result.rows);
  result.lane_count = count(nest, result.lanes);
  result.row_work = std::max(result.lane_count, longest_reduction(nest, outputs, rows));
  return result;
}

}  // namespace egret::backends::codegen
