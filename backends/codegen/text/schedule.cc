// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/text/schedule.h"

#include <algorithm>

#include "backends/codegen/text/nest_facts.h"

namespace egret::backends::codegen {
namespace {

// A reduction with at least kLongReduction terms and few elements gets a block of threads for each
// element (or pack). So does one of at least kWarpReduction terms whose threads read neighbours;
// with many elements only if no other loop reads neighbours.
constexpr std::int64_t kLongReduction = 256, kWarpReduction = 32;
constexpr std::int64_t kFewElements = 1 << 15;

constexpr int kThreads = 128;  // of a block that shares nothing
constexpr std::int64_t kWarp = 32, kMostThreads = 1024;
constexpr std::int64_t kMostBlocks = 1 << 16;  // beyond this, threads take several elements
// Elements of a row for each thread, where there are more rows than the GPU runs at once.
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

// The output variables of the reductions that lanes can share; all of them when there are none.
ir::VariableSet shared_rows(const ir::LoopNest& nest, ir::VariableSet outputs) {
  const ir::VariableSet inner = reduced(nest);
  ir::VariableSet joint = 0, longest = outputs;
  std::int64_t most = 0;
  bool any = false;
  for (const ir::NestNode& node : nest.nodes) {
    if (node.op != ir::ExprOp::kReduce) continue;
    // The result of a reduction is shared by all lanes that differ only in the other output
    // variables.
    const ir::VariableSet own = node.depends & outputs;
    // A reduction of all output variables is no row's; one inside another belongs to the outer one.
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
  // Reductions over different rows: keep the one with the most terms.
  return joint == outputs ? longest : joint;
}

// The longest reduction that depends only on `rows` of the `outputs`: its terms and variables.
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

// Whether each element, or each pack, should get a block of threads.
bool elements_are_rows(const ir::LoopNest& nest, const Packing& packing, ir::VariableSet outputs) {
  const std::int64_t elements = extents(nest, nest.output_variables);
  // `rows` is the set of all outputs here, so every element is a row of its own.
  const LongReduction longest = longest_reduction(nest, outputs, outputs);
  if (longest.terms >= kLongReduction && elements <= kFewElements) return true;
  if (longest.terms < kWarpReduction) return false;
  const int width = packing.width(nest.output_variables, Packing::Loop::kRows);
  if (width > 1) return elements / width <= kFewElements;
  // Many elements: only where one thread an element would read far from its neighbours.
  return packing.reads_along(longest.variables.back()) &&
         (elements <= kFewElements || !packing.reads_along(nest.output_variables.back()));
}

// Threads of a row's block: one for each lane or term, or for a few of them.
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
    // With few blocks the GPU is not full, so each thread takes one element to have as many threads
    // as possible.
    const std::int64_t each =
        of.blocks < kFewBlocks ? 1 : std::max<std::int64_t>(1, kElementsAThread / share.width);
    most = std::max(most, (share.packs + each - 1) / each);
  }
  // The least number of turns, and no more threads than that many turns need.
  const std::int64_t turns = (most + kMostThreads - 1) / kMostThreads;
  const std::int64_t threads = (most + turns - 1) / turns;
  return static_cast<int>((threads + kWarp - 1) / kWarp * kWarp);
}

}  // namespace

// Divides the output variables into rows (outer loops, blocks of threads on a GPU) and lanes. Rows
// are the variables on which reductions depend, so that the lanes of a row share the reductions'
// results, as in softmax and norms.
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
