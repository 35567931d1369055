// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/lane_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ir/nest/merge_variables.h"

namespace egret::ir {
namespace {

// Costs in nanoseconds, measured roughly; only their ratios matter.
constexpr double kDispatch = 25;  // overhead of one operation, on an array or on one number
constexpr double kContiguous = 0.4;
constexpr double kStrided = 2;
constexpr double kFarStrided = 3;
constexpr double kGathered = 5;
constexpr double kArithmetic = 0.4;
constexpr double kCall = 8;
constexpr int kStridedBlock = 64;  // elements of a strided read that stay in the L1 cache

// Assigns a lane to every node for one choice of output lane, and estimates the cost of the result.
// lane_program() compares all choices.
class LaneCompiler {
 public:
  explicit LaneCompiler(const LoopNest& nest, int output_lane)
      : nest_(nest),
        lanes_(nest.nodes.size(), kUnassigned),
        reduction_lanes_(nest.nodes.size(), -1),
        depths_(nest.variables.size(), 0),
        output_lane_(output_lane) {}

  bool assign_all() { return assign(nest_.root, output_lane_, 1); }
  const std::vector<int>& lanes() const { return lanes_; }
  const std::vector<int>& reduction_lanes() const { return reduction_lanes_; }

  // A node runs once for each combination of the variables that it depends on. A node with a lane
  // pays the dispatch once per array of lanes, a node without one pays it per number.
  double cost() const {
    double output_count = 1;
    VariableSet outputs = 0;
    for (const int v : nest_.output_variables) {
      output_count *= static_cast<double>(nest_.extent(v));
      outputs |= nest_.symbol(v).depends;
    }
    double total = 0;
    for (std::size_t id = 0; id < nest_.nodes.size(); ++id) {
      const NestNode& node = nest_.nodes[id];
      const int lane = lanes_[id];
      // Constants are computed once and cost nothing.
      if (lane == kUnassigned || (node.depends == 0 && node.op != ExprOp::kReduce)) continue;
      VariableSet loops = node.depends & ~outputs;
      for (const int v : node.variables) loops |= nest_.symbol(v).depends;
      double count = output_count;
      for (std::size_t ordinal = 0; ordinal < nest_.variables.size(); ++ordinal) {
        if ((loops >> ordinal & 1) != 0) {
          count *= static_cast<double>(nest_.extent(nest_.variables[ordinal]));
        }
      }
      if (lane >= 0) {
        total += count * (kDispatch / width(lane) + element_cost(node, lane));
      } else if (reduction_lanes_[id] >= 0) {  // folds whole arrays
        total += count * (kDispatch / width(reduction_lanes_[id]) + kArithmetic);
      } else {
        total += count * kDispatch / (output_lane_ >= 0 ? width(output_lane_) : 1);
      }
    }
    const double store = output_lane_ < 0 ? kDispatch
                                          : kDispatch / width(output_lane_) +
                                                stride_cost(nest_.output.factor(output_lane_));
    return total + output_count * store;
  }

  // The innermost variable on which a value depends decides how long it stays valid: for ever, for
  // one block of lanes, or for one value of the variable.
  int scope(VariableSet depends) const {
    int deepest = -1;
    for (std::size_t ordinal = 0; ordinal < depths_.size(); ++ordinal) {
      if ((depends >> ordinal & 1) == 0) continue;
      if (deepest < 0 || depths_[ordinal] > depths_[static_cast<std::size_t>(deepest)]) {
        deepest = static_cast<int>(ordinal);
      }
    }
    if (deepest < 0) return kNeverScope;
    return depths_[static_cast<std::size_t>(deepest)] == 0 ? kBlockScope
                                                           : scope_of_variable(deepest);
  }

 private:
  static constexpr int kUnassigned = -2;

  bool depends(VariableSet set, int lane) const {
    return lane >= 0 && (set & nest_.symbol(lane).depends) != 0;
  }
  double width(int lane) const {
    return static_cast<double>(std::min<std::int64_t>(nest_.extent(lane), kLanes));
  }

  static double stride_cost(std::int64_t stride) {
    if (stride >= -1 && stride <= 1) return kContiguous;
    return stride > -8 && stride < 8 ? kStrided : kFarStrided;
  }

  // What one more lane costs.
  double element_cost(const NestNode& node, int lane) const {
    if (node.op == ExprOp::kCall) return kCall;
    if (node.op != ExprOp::kRead) return kArithmetic;
    for (const auto& part : node.form.parts) {
      const IndexSymbol& symbol = nest_.symbol(part.symbol);
      if (symbol.kind != IndexSymbol::Kind::kVariable && depends(symbol.depends, lane)) {
        return kGathered;
      }
    }
    return stride_cost(node.form.factor(lane));
  }

  // `lane` is that of the user. False: the node is used under two lanes.
  bool assign(int id, int lane, int depth) {
    const NestNode& node = nest_.node(id);
    const bool varies = depends(node.depends, lane);
    int& own = lanes_[static_cast<std::size_t>(id)];
    // A shared node has one buffer, so all its users must agree on the lane.
    if (own != kUnassigned) return own == (varies ? lane : -1);
    own = varies ? lane : -1;

    int inner = varies ? lane : -1;
    if (node.op == ExprOp::kReduce) {
      if (!varies) inner = reduction_lanes_[static_cast<std::size_t>(id)] = reduction_lane(node);
      // The lane of a reduction to one number is its innermost loop.
      for (const int v : node.variables) {
        if (v != inner) set_depth(v, ++depth);
      }
      if (!varies && inner >= 0) set_depth(inner, ++depth);
    }
    bool good = assign_form(node.form, inner, depth);
    for (const auto& checked : node.checked) {
      good = good && assign_form(checked.index, inner, depth);
    }
    if (node.guard >= 0) good = good && assign_guard(node.guard, inner, depth);
    for (const int kid : node.kids) good = good && assign(kid, inner, depth);
    return good;
  }

  void set_depth(int variable, int depth) {
    depths_[static_cast<std::size_t>(nest_.symbol(variable).ordinal)] = depth;
  }

  bool assign_form(const Affine& form, int lane, int depth) {
    return std::ranges::all_of(form.parts, [&](const auto& part) {
      const IndexSymbol& symbol = nest_.symbol(part.symbol);
      if (symbol.kind == IndexSymbol::Kind::kVariable) return true;
      const int own = depends(symbol.depends, lane) ? lane : -1;
      if (symbol.element >= 0) return assign(symbol.element, own, depth);
      return assign_form(symbol.a, own, depth) && assign_form(symbol.b, own, depth);
    });
  }

  bool assign_guard(int id, int lane, int depth) {
    const NestGuard& guard = nest_.guard(id);
    using G = NestGuard::Kind;
    const int own = depends(guard.depends, lane) ? lane : -1;
    switch (guard.kind) {
      case G::kTrue:
      case G::kFalse: return true;
      case G::kLe:
      case G::kEq: return assign_form(guard.form, own, depth);
      case G::kScalarLt:
      case G::kScalarLe:
      case G::kScalarEq: return assign(guard.a, own, depth) && assign(guard.b, own, depth);
      case G::kNot: return assign_guard(guard.a, own, depth);
      case G::kAnd:
      case G::kOr: break;
    }
    return assign_guard(guard.a, own, depth) && assign_guard(guard.b, own, depth);
  }

  // The variable of a reduction to one number that makes its lanes; -1 when none is worth it.
  int reduction_lane(const NestNode& node) const {
    std::vector<int> reads;
    std::vector<bool> seen(nest_.nodes.size(), false);
    collect_reads(node.kids[0], reads, seen);
    // The cheapest variable with at least 8 values; shorter ones do not repay the arrays.
    int best = -1;
    double best_cost = kDispatch / 4;
    for (const int v : node.variables) {
      double cost = kDispatch * static_cast<double>(1 + reads.size()) / width(v);
      for (const int read : reads) {
        if (depends(nest_.node(read).depends, v)) cost += element_cost(nest_.node(read), v);
      }
      if (nest_.extent(v) >= 8 && (best < 0 || cost < best_cost)) {
        best = v;
        best_cost = cost;
      }
    }
    return best;
  }

  void collect_reads(int id, std::vector<int>& reads, std::vector<bool>& seen) const {
    if (seen[static_cast<std::size_t>(id)]) return;
    seen[static_cast<std::size_t>(id)] = true;
    if (nest_.node(id).op == ExprOp::kRead) reads.push_back(id);
    for (const int kid : nest_.node(id).kids) collect_reads(kid, reads, seen);
  }

  const LoopNest& nest_;
  std::vector<int> lanes_, reduction_lanes_;
  std::vector<int> depths_;  // of variables, by ordinal; 0: of the output
  int output_lane_;
};

// A loop whose neighbouring iterations read neighbouring elements goes inside, and the blocks of
// lanes outside of it: a transpose then moves through tiles that fit the cache.
void order_loops(LaneProgram& plan) {
  const LoopNest& nest = plan.nest;
  for (const int v : nest.output_variables) {
    if (v != plan.output_lane) plan.loops.push_back(v);
  }
  plan.chunks_before = plan.loops.size();
  if (plan.output_lane < 0) return;
  for (const NestNode& node : nest.nodes) {
    const std::int64_t stride = node.form.factor(plan.output_lane);
    if (node.op != ExprOp::kRead || (stride >= -2 && stride <= 2)) continue;
    for (std::size_t i = 0; i < plan.loops.size(); ++i) {
      if (std::abs(node.form.factor(plan.loops[i])) != 1) continue;
      std::rotate(plan.loops.begin() + static_cast<std::ptrdiff_t>(i),
                  plan.loops.begin() + static_cast<std::ptrdiff_t>(i) + 1, plan.loops.end());
      plan.chunks_before = plan.loops.size() - 1;
      plan.block = kStridedBlock;
      return;
    }
  }
}

}  // namespace

base::Result<LaneProgram> lane_program(LoopNest nest) {
  merge_variables(nest);
  LaneProgram plan;
  plan.nest = std::move(nest);
  std::vector<int> candidates = plan.nest.output_variables;
  candidates.push_back(-1);
  double best = std::numeric_limits<double>::infinity();
  // Exhaustive over the output's variables: a nest has few of them.
  for (const int lane : candidates) {
    LaneCompiler planner(plan.nest, lane);
    if (!planner.assign_all()) continue;
    const double cost = planner.cost();
    if (cost >= best) continue;
    best = cost;
    plan.output_lane = lane;
    plan.lanes = planner.lanes();
    plan.reduction_lanes = planner.reduction_lanes();
    plan.node_scopes.clear();
    plan.symbol_scopes.clear();
    for (const NestNode& node : plan.nest.nodes) {
      plan.node_scopes.push_back(planner.scope(node.depends));
    }
    for (const IndexSymbol& symbol : plan.nest.symbols) {
      plan.symbol_scopes.push_back(planner.scope(symbol.depends));
    }
  }
  if (!std::isfinite(best)) return base::unsupported("a definition with entangled reductions");
  plan.seconds = best * 1e-9;
  order_loops(plan);
  return plan;
}

}  // namespace egret::ir
