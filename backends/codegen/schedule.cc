// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/schedule.h"

#include <algorithm>

#include "backends/codegen/nest_facts.h"

namespace egret::backends::codegen {
namespace {

// A sum this long, of so few elements, is worth a block of threads for each element (or pack);
// where its threads read neighbours, a shorter one is too, and of many elements where no others
// would.
constexpr std::int64_t kLongReduction = 256, kWarpReduction = 32;
constexpr std::int64_t kFewElements = 1 << 15;

constexpr int kThreads = 128;  // of a block that shares nothing
constexpr std::int64_t kWarp = 32, kMostThreads = 1024;
constexpr std::int64_t kMostBlocks = 1 << 16;  // threads take several elements beyond
// Of a row: so many elements where there are more rows than the GPU takes at once.
constexpr std::int64_t kElementsAThread = 4, kFewBlocks = 512;

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

// The longest reduction that depends on none but `rows` of the `outputs`: its terms, and its
// variables.
struct LongReduction {
  std::int64_t terms = 0;
  std::vector<int> variables{};
};
LongReduction longest_reduction(const ir::LoopNest& nest, ir::VariableSet outputs,
                                ir::VariableSet rows) {
  const ir::VariableSet others = (outputs & ~rows) | reduced(nest);
  LongReduction longest;
  for (const ir::NestNode& node : nest.nodes) {
    if (node.op != ir::ExprOp::kReduce || (node.depends & others) != 0) continue;
    if (const std::int64_t terms = extents(nest, node.variables); terms > longest.terms)
      longest = {terms, node.variables};
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
  if (width > 1) return elements / width <= kFewElements;
  // More than few: where threads with an element each would read far from one another.
  return packing.reads_along(longest.variables.back()) &&
         (elements <= kFewElements || !packing.reads_along(nest.output_variables.back()));
}

// Threads of a row's block: one for each of what they share, lanes or terms, or for a few of them.
int threads_of_row(const Schedule& of, const LongReduction& terms, const Packing& packing) {
  struct Share {
    std::int64_t packs;
    int width;
  };
  std::vector<Share> shares{{of.lane_count / of.lane_width, of.lane_width}};
  if (terms.terms > 0) {
    const int width = of.row_width > 1 ? 1 : packing.width(terms.variables, Packing::Loop::kTerms);
    shares.push_back({terms.terms / width, width});
  }
  std::int64_t most = 1;
  for (const Share& share : shares) {
    const std::int64_t each =
        of.blocks < kFewBlocks ? 1 : std::max<std::int64_t>(1, kElementsAThread / share.width);
    most = std::max(most, (share.packs + each - 1) / each);
  }
  // As many turns as it takes, and no more threads than that many need.
  const std::int64_t turns = (most + kMostThreads - 1) / kMostThreads;
  const std::int64_t threads = (most + turns - 1) / turns;
  return static_cast<int>((threads + kWarp - 1) / kWarp * kWarp);
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
  if (target == Target::kHost) return result;
  using Loop = Packing::Loop;
  if (result.by_rows) result.row_width = packing.width(result.rows, Loop::kRows);
  if (result.row_width == 1)
    result.lane_width =
        packing.width(result.lanes, result.by_rows ? Loop::kRowLanes : Loop::kLanes);
  if (result.by_rows) {
    result.blocks = std::min(result.row_count / result.row_width, kMostBlocks);
    result.threads = threads_of_row(result, longest_reduction(nest, outputs, rows), packing);
  } else {
    const std::int64_t packs = result.lane_count / result.lane_width;
    result.blocks = std::min((packs + kThreads - 1) / kThreads, kMostBlocks);
    result.threads = kThreads;
  }
  return result;
}

}  // namespace egret::backends::codegen
