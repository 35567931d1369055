// SPDX-License-Identifier: Apache-2.0
#include "extract/extractors/budget.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/timer.h"

namespace egret::extract {
namespace {

constexpr int kMostPrices = 12;
constexpr double kClosed = 1e-6;  // a gap that is none

class Budget {
 public:
  Budget(const Problem& problem, const SideRow& row, const ExtractorRow& extractor,
         const Options& options)
      : problem_(problem),
        row_(row),
        extractor_(extractor),
        options_(options),
        weights_(problem.graph.node_count(), 0) {
    for (std::size_t i = 0; i < row.nodes.size(); ++i) weights_[row.nodes[i]] += row.weights[i];
  }

  base::Result<Solution> run(const Solution* known) {
    if (known != nullptr) offer(*known);
    EGRET_ASSIGN_OR_RETURN(const Point free, at_price(0));
    if (free.weight > row_.most) EGRET_RETURN_IF_ERROR(search(free));
    if (best_) fill();
    if (!is_closed()) solve_exactly();
    if (!best_) return infeasible();
    best_->bound = std::min(bound_, best_->dag_cost);
    best_->quality = is_closed() ? Quality::kOptimal : Quality::kFeasible;
    if (is_closed()) best_->bound = best_->dag_cost;
    return *std::move(best_);
  }

 private:
  struct Point {
    double cost = 0, weight = 0;
  };

  bool is_closed() const { return best_ && best_->dag_cost <= bound_ + kClosed * std::abs(bound_); }
  bool may_go_on() const {
    return !watch_.expired() && !(options_.should_stop && options_.should_stop());
  }

  void offer(const Solution& solution) {
    const SideRow rows[] = {row_};
    if (!keeps_to(rows, solution, problem_.graph)) return;
    if (!best_ || solution.dag_cost < best_->dag_cost) best_ = solution;
  }

  // The answer at a price of the weights; infinite: by weights alone, which bounds no cost.
  base::Result<Point> at_price(double price) {
    const bool by_weight = std::isinf(price);
    std::vector<double> costs(problem_.costs.begin(), problem_.costs.end());
    for (std::size_t node = 0; node < costs.size(); ++node) {
      if (std::isinf(costs[node])) continue;
      costs[node] = by_weight ? weights_[node] : costs[node] + price * weights_[node];
    }
    EGRET_ASSIGN_OR_RETURN(Solution solution,
                           extractor_.extract({problem_.graph, costs}, options_));
    if (!by_weight) bound_ = std::max(bound_, solution.bound - price * row_.most);
    const Solution priced = solution_of(problem_, std::move(solution.choice));
    offer(priced);
    return Point{priced.dag_cost, weight_of(row_, priced, problem_.graph)};
  }

  // The price at which the answers on both sides of the budget cost the same, until no new answer
  // comes: the greatest lower bound (a function of the price that is concave and piecewise linear).
  base::Status search(Point light) {
    Point heavy = light;  // beyond the budget
    double price =
        row_.most > 0 ? light.cost / light.weight : std::numeric_limits<double>::infinity();
    bool found = false;
    for (int i = 0; i < kMostPrices && !found && may_go_on(); ++i, price *= 8) {
      if (i + 1 == kMostPrices) price = std::numeric_limits<double>::infinity();
      EGRET_ASSIGN_OR_RETURN(light, at_price(price));
      found = light.weight <= row_.most;
      if (!found) heavy = light;
      if (std::isinf(price)) break;
    }
    for (int i = 0; i < kMostPrices && found && may_go_on(); ++i) {
      if (heavy.weight <= light.weight || light.cost <= heavy.cost) break;
      const double next = (light.cost - heavy.cost) / (heavy.weight - light.weight);
      EGRET_ASSIGN_OR_RETURN(const Point point, at_price(next));
      const double line = heavy.cost + next * heavy.weight;
      if (point.cost + next * point.weight >= line * (1 - kClosed)) break;
      (point.weight <= row_.most ? light : heavy) = point;
    }
    return base::ok();
  }

  // Uses what is left of the budget: nodes of the same class with the same children that cost less,
  // those that gain most for their weight first.
  void fill() {
    struct Change {
      NodeIndex node;
      double gain, weight;
    };
    const EGraphView& graph = problem_.graph;
    while (true) {
      const double left = row_.most - weight_of(row_, *best_, graph);
      std::optional<Change> chosen;
      for (ClassIndex c = 0; c < graph.class_count(); ++c) {
        const NodeIndex now = best_->choice[c];
        if (now == kNoNode) continue;
        for (NodeIndex node = graph.class_begin[c]; node < graph.class_begin[c + 1]; ++node) {
          const Change change{node, problem_.costs[now] - problem_.costs[node],
                              weights_[node] - weights_[now]};
          if (!(change.gain > 0) || change.weight > left ||
              !std::ranges::equal(graph.children_of(node), graph.children_of(now)))
            continue;
          const bool better = !chosen || change.gain * std::max(chosen->weight, 1e-300) >
                                             chosen->gain * std::max(change.weight, 1e-300);
          if (better) chosen = change;
        }
      }
      if (!chosen) return;
      std::vector<NodeIndex> choice = best_->choice;
      choice[graph.node_class[chosen->node]] = chosen->node;
      const Solution changed = solution_of(problem_, std::move(choice));
      const double before = best_->dag_cost;
      offer(changed);
      if (best_->dag_cost >= before) return;
    }
  }

  // A failure of the solver leaves what is known.
  void solve_exactly() {
    if (!may_go_on()) return;
    const SideRow rows[] = {row_};
    const auto exact = extract_within(problem_, rows, options_, best_ ? &*best_ : nullptr);
    if (!exact.ok()) return;
    offer(*exact);
    bound_ = std::max(bound_, exact->bound);
  }

  const Problem& problem_;
  const SideRow& row_;
  const ExtractorRow& extractor_;
  const Options& options_;
  // All prices together take some times as long as one extraction may.
  const base::Deadline watch_ = base::Deadline::after(4 * options_.time_limit_s);
  std::vector<double> weights_;  // by node
  std::optional<Solution> best_;
  double bound_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

double weight_of(const SideRow& row, const Solution& solution, const EGraphView& graph) {
  double sum = 0;
  for (std::size_t i = 0; i < row.nodes.size(); ++i) {
    if (solution.choice[graph.node_class[row.nodes[i]]] == row.nodes[i]) sum += row.weights[i];
  }
  return sum;
}

base::Result<Solution> extract_within_budget(const Problem& problem, const SideRow& row,
                                             const ExtractorRow& extractor, const Options& options,
                                             const Solution* known) {
  return Budget(problem, row, extractor, options).run(known);
}

}  // namespace egret::extract
