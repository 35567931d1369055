// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/schedule.h"

#include <algorithm>

#include "backends/codegen/nest_facts.h"

namespace egret::backends::codegen {
namespace {

// A sum this long, of so few elements, is worth a block of threads for each element (or pack);
// where its threads read neighbours, a shorter one is too.
constexpr std::int64_t kLongReduction = 256, kWarpReduction = 32;
constexpr std::int64_t kFewElements = 1 << 15;

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
    const std::int64_t terms = extents(nest, node.variables);
    if (terms > most) {
      most = terms;
      longest = own;
    }
  }
  if (!any) return outputs;
  return joint == outputs ? longest : joint;
}

// The longest reduction that depends on none but `rows` of the `outputs`: its terms, and the
// innermost of its variables.
struct LongReduction {
  std::int64_t terms = 0;
  int innermost = -1;
};
LongReduction longest_reduction(const ir::LoopNest& nest, ir::VariableSet outputs,
                                ir::VariableSet rows) {
  const ir::VariableSet others = (outputs & ~rows) | reduced(nest);
  LongReduction longest;
  for (const ir::NestNode& node : nest.nodes) {
    if (node.op != ir::ExprOp::kReduce || (node.depends & others) != 0) continue;
    if (const std::int64_t terms = extents(nest, node.variables); terms > longest.terms)
      longest = {terms, node.variables.back()};
  }
  return longest;
}

// Whether a block of threads should take each element, or each pack of them.
bool elements_are_rows(const ir::LoopNest& nest, const Packing& packing, ir::VariableSet outputs) {
  const std::int64_t elements = extents(nest, nest.output_variables);
  const LongReduction longest = longest_reduction(nest, outputs, outputs);
  if (longest.terms >= kLongReduction && elements <= kFewElements) return true;
  if (longest.terms < kWarpReduction) return false;
  const int width = packing.width(nest.output_variables, Packing::Loop::kRows);
  return elements / width <= kFewElements && (width > 1 || packing.reads_along(longest.innermost));
}

}  // namespace

Schedule schedule(const ir::LoopNest& nest, Target target, const Packing& packing) {
  Schedule result;
  const ir::VariableSet outputs = variables(nest, nest.output_variables);
  ir::VariableSet rows = shared_rows(nest, outputs);
  result.by_rows = rows != outputs;
  if (!result.by_rows && target == Target::kCuda) {
    result.by_rows = elements_are_rows(nest, packing, outputs);
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
  result.row_count = extents(nest, result.rows);
  result.lane_count = extents(nest, result.lanes);
  result.row_work = std::max(result.lane_count, longest_reduction(nest, outputs, rows).terms);
  if (target == Target::kCuda) {
    using Loop = Packing::Loop;
    if (result.by_rows) result.row_width = packing.width(result.rows, Loop::kRows);
    if (result.row_width == 1)
      result.lane_width =
          packing.width(result.lanes, result.by_rows ? Loop::kRowLanes : Loop::kLanes);
  }
  return result;
}

}  // namespace egret::backends::codegen
