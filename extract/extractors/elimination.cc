// SPDX-License-Identifier: Apache-2.0
#include "extract/extractors/elimination.h"

#include <algorithm>
#include <set>
#include <utility>

#include "extract/core/flat_core.h"

namespace egret::extract {
namespace {

using Variable = std::uint32_t;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostOfRow = 12;  // variables

// A cost for each assignment of its variables: bit i of the index is the value of variables[i].
struct Factor {
  std::vector<Variable> variables;  // ascending
  std::vector<double> costs;
};

// Minimizes a sum of factors over binary variables.
class Elimination {
 public:
  // Bucket elimination (Dechter 1999), which is dynamic programming over a tree decomposition.
  // Infinite costs express hard constraints.
  explicit Elimination(const EliminationLimits& limits) : limits_(limits) {}

  Variable new_variable() { return count_++; }
  // Adds a factor: cost(values) for each assignment, with the values in the given variable order.
  template <typename Cost>
  void add(std::vector<Variable> variables, Cost cost) {
    Factor factor;
    factor.variables = variables;
    std::ranges::sort(factor.variables);
    factor.costs.resize(std::size_t{1} << variables.size());
    std::vector<bool> values(variables.size());
    for (std::size_t index = 0; index < factor.costs.size(); ++index) {
      for (std::size_t i = 0; i < variables.size(); ++i) {
        const auto at = std::ranges::lower_bound(factor.variables, variables[i]);
        values[i] = (index >> (at - factor.variables.begin()) & 1) != 0;
      }
      factor.costs[index] = cost(values);
    }
    factors_.push_back(std::move(factor));
  }

  // The optimal value of each variable; empty if the width or the table limit is exceeded, or
  // `stopped`. Uses the min-degree order: the variable with the fewest neighbours is eliminated
  // next. Its neighbours become a clique.
  template <typename Stopped>
  // An order of elimination corresponds to a tree decomposition of the same width. Min-degree is a
  // heuristic, because the best order is NP-hard to find. The tables have O(variables * 2^width)
  // entries.
  std::optional<std::vector<bool>> solve(Stopped stopped) {
    link();
    std::set<std::pair<std::size_t, Variable>> queue;  // by number of neighbours
    for (Variable v = 0; v < count_; ++v) queue.insert({neighbours_[v].size(), v});
    while (!queue.empty()) {
      const auto [width, v] = *queue.begin();
      queue.erase(queue.begin());
      entries_ += std::size_t{1} << std::min<std::size_t>(width, 60);
      if (width > limits_.width || entries_ > limits_.entries || stopped()) return std::nullopt;
      eliminate(v);
      for (const Variable n : neighbours_[v]) queue.erase({neighbours_[n].size(), n});
      for (const Variable n : neighbours_[v]) {
        neighbours_[n].erase(v);
        for (const Variable m : neighbours_[v]) {
          if (m != n) neighbours_[n].insert(m);
        }
      }
      for (const Variable n : neighbours_[v]) queue.insert({neighbours_[n].size(), n});
    }
    return values();
  }

 private:
  struct Step {
    Variable v;
    std::vector<Variable> scope;  // ascending; its variables are eliminated after v, so they are
                                  // assigned before v
    std::vector<bool> best;       // v's value for each assignment of the scope
  };

  void link() {
    neighbours_.resize(count_);
    of_.resize(count_);
    for (std::uint32_t f = 0; f < factors_.size(); ++f) {
      for (const Variable v : factors_[f].variables) {
        of_[v].push_back(f);
        for (const Variable other : factors_[f].variables) {
          if (other != v) neighbours_[v].insert(other);
        }
      }
    }
  }

  // Replaces the factors of v by one factor over its neighbours: the minimum over v of their sum. A
  // tie takes the value 0, so no candidate is chosen without need.
  void eliminate(Variable v) {
    Step step{v, {neighbours_[v].begin(), neighbours_[v].end()}, {}};
    Factor made;
    made.variables = step.scope;
    const std::size_t size = std::size_t{1} << step.scope.size();
    std::vector<double> costs[2] = {std::vector<double>(size, 0), std::vector<double>(size, 0)};
    for (const std::uint32_t f : of_[v]) {
      Factor& factor = factors_[f];
      if (factor.variables.empty()) continue;
      add_to(costs, step, factor);
      factor = {};
    }
    step.best.resize(size);
    made.costs.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      step.best[i] = costs[1][i] < costs[0][i];
      made.costs[i] = std::min(costs[0][i], costs[1][i]);
    }
    for (const Variable n : made.variables)
      of_[n].push_back(static_cast<std::uint32_t>(factors_.size()));
    if (!made.variables.empty()) factors_.push_back(std::move(made));
    steps_.push_back(std::move(step));
  }
  // Adds a factor to both tables, for v = 0 and v = 1. The index into the factor collects its
  // variables' bits from the assignment of the scope, with a gap for v itself.
  static void add_to(std::vector<double> (&costs)[2], const Step& step, const Factor& factor) {
    std::vector<std::size_t>
        shift;  // of each of the factor's variables in an assignment of the scope
    std::size_t own = 0;
    for (std::size_t i = 0; i < factor.variables.size(); ++i) {
      const auto at = std::ranges::lower_bound(step.scope, factor.variables[i]);
      if (factor.variables[i] == step.v) own = i;
      shift.push_back(static_cast<std::size_t>(at - step.scope.begin()));
    }
    for (std::size_t assignment = 0; assignment < costs[0].size(); ++assignment) {
      std::size_t index = 0;
      for (std::size_t i = 0; i < shift.size(); ++i) {
        if (i != own) index |= (assignment >> shift[i] & 1) << i;
      }
      costs[0][assignment] += factor.costs[index];
      costs[1][assignment] += factor.costs[index | std::size_t{1} << own];
    }
  }

  // Back substitution: assigns variables in reverse order of elimination, so each scope is known.
  std::vector<bool> values() const {
    std::vector<bool> values(count_, false);
    for (std::size_t i = steps_.size(); i-- > 0;) {
      std::size_t index = 0;
      for (std::size_t j = 0; j < steps_[i].scope.size(); ++j)
        index |= static_cast<std::size_t>(values[steps_[i].scope[j]]) << j;
      values[steps_[i].v] = steps_[i].best[index];
    }
    return values;
  }

  const EliminationLimits& limits_;
  Variable count_ = 0;
  std::vector<Factor> factors_;  // empty where one was replaced
  std::vector<std::set<Variable>> neighbours_;
  std::vector<std::vector<std::uint32_t>> of_;  // factors that speak of a variable
  std::vector<Step> steps_;
  std::size_t entries_ = 0;
};

class Narrow {
 public:
  Narrow(const Core& core, const EliminationLimits& limits, const base::Deadline& deadline,
         const std::function<bool()>& should_stop, std::span<const Milp::Row> sides)
      : core_(core),
        limits_(limits),
        deadline_(deadline),
        should_stop_(should_stop),
        sides_(sides),
        flat_(core) {}

  // Solves, follows the answer, forbids the cycles that it contains, and repeats. Without cycles
  // the answer is optimal: forbidding cycles only removes invalid answers. A forbidden cycle cannot
  // return. Every cycle adds factors and may raise the width over the limit.
  std::optional<CoreAnswer> run() {
    constexpr int kMostRounds = 100;
    if (core_.has_negative_costs()) return std::nullopt;
    if (std::ranges::any_of(
            sides_, [&](const Milp::Row& row) { return variables_of(row).size() > kMostOfRow; })) {
      return std::nullopt;
    }
    for (int round = 0; round < kMostRounds; ++round) {
      Elimination elimination(limits_);
      state_candidates(elimination);
      for (const Milp::Row& row : sides_) state_row(elimination, row);
      for (const std::vector<ClassIndex>& loop : loops_) forbid(elimination, loop);
      const auto values = elimination.solve([&] { return stopped(); });
      if (!values) return std::nullopt;
      const std::vector<NodeIndex> chosen = chosen_of(*values);
      const std::size_t before = loops_.size();
      std::optional<CoreAnswer> answer = follow(chosen);
      if (!answer) return std::nullopt;
      if (loops_.size() == before) return keeps_to_sides(*answer) ? answer : std::nullopt;
    }
    return std::nullopt;
  }

 private:
  bool stopped() const { return deadline_.expired() || (should_stop_ && should_stop_()); }

  // A ladder: candidate k has variable k, which is true if the chosen candidate of its class is k
  // or an earlier one. So k is chosen if variable k is true and k - 1 is not, and at most one
  // candidate per class is chosen. The variable of a class is that of its last candidate.
  Variable last(ClassIndex c) const { return flat_.begin[c + 1] - 1; }
  bool is_first(CandidateIndex k) const { return k == flat_.begin[flat_.owner[k]]; }

  // The cost of a candidate is a factor over its own variable and the one before it on the ladder.
  // A ladder that falls (true before false) is excluded.
  void state_candidates(Elimination& elimination) const {
    for (CandidateIndex k = 0; k < flat_.size(); ++k) elimination.new_variable();
    for (CandidateIndex k = 0; k < flat_.size(); ++k) {
      const double cost = flat_.content[k]->cost;
      if (is_first(k)) {
        elimination.add({k}, [cost](const std::vector<bool>& v) { return v[0] ? cost : 0.0; });
      } else {
        elimination.add({k - 1, k}, [cost](const std::vector<bool>& v) {
          if (v[0] && !v[1]) return kInfinite;
          return !v[0] && v[1] ? cost : 0.0;
        });
      }
      for (const ClassIndex need : flat_.needs_of(k)) add_need(elimination, k, need);
    }
    for (ClassIndex c = 0; c < flat_.class_count(); ++c) {
      if (core_.required[c])
        elimination.add({last(c)},
                        [](const std::vector<bool>& v) { return v[0] ? 0.0 : kInfinite; });
    }
  }
  // Candidate k, if chosen, requires the class `need`. A class without candidates cannot be chosen.
  void add_need(Elimination& elimination, CandidateIndex k, ClassIndex need) const {
    const bool possible = flat_.begin[need] < flat_.begin[need + 1];
    std::vector<Variable> variables = {k};
    if (possible) variables.push_back(last(need));
    if (!is_first(k)) variables.push_back(k - 1);
    elimination.add(variables, [possible](const std::vector<bool>& v) {
      const bool before = v.size() == (possible ? 3U : 2U) && v.back();
      const bool chosen = v[0] && !before;
      return chosen && !(possible && v[1]) ? kInfinite : 0.0;
    });
  }

  // Forbids a cycle: a class of `loop` may be chosen only if some chosen candidate of these classes
  // needs none of them. The chain variables compute that disjunction with factors of at most four
  // variables. A chain variable may be false although its disjunction holds. This is harmless: the
  // variables only permit, and the minimum sets those that it needs.
  void forbid(Elimination& elimination, const std::vector<ClassIndex>& loop) const {
    std::optional<Variable> so_far;
    for (const ClassIndex c : loop) {
      for (CandidateIndex k = flat_.begin[c]; k < flat_.begin[c + 1]; ++k) {
        const bool inside = std::ranges::any_of(flat_.needs_of(k), [&](ClassIndex need) {
          return std::ranges::binary_search(loop, need);
        });
        if (inside) continue;
        const Variable next = elimination.new_variable();
        std::vector<Variable> variables = {next, k};
        if (so_far) variables.push_back(*so_far);
        if (!is_first(k)) variables.push_back(k - 1);
        const bool chained = so_far.has_value();
        const bool first = is_first(k);
        elimination.add(variables, [chained, first](const std::vector<bool>& v) {
          const bool chosen = v[1] && (first || !v.back());
          return v[0] && !chosen && !(chained && v[2]) ? kInfinite : 0.0;
        });
        so_far = next;
      }
    }
    for (const ClassIndex c : loop) {
      // No candidate leads out of the cycle, so none of its classes can be chosen.
      if (!so_far) {
        elimination.add({last(c)},
                        [](const std::vector<bool>& v) { return v[0] ? kInfinite : 0.0; });
        continue;
      }
      elimination.add({last(c), *so_far},
                      [](const std::vector<bool>& v) { return v[0] && !v[1] ? kInfinite : 0.0; });
    }
  }

  // The variables that tell which candidates of a row are chosen, ascending.
  std::vector<Variable> variables_of(const Milp::Row& row) const {
    std::vector<Variable> variables;
    for (const int column : row.columns) {
      const auto k = static_cast<CandidateIndex>(column);
      variables.push_back(k);
      if (!is_first(k)) variables.push_back(k - 1);
    }
    std::ranges::sort(variables);
    const auto rest = std::ranges::unique(variables);
    variables.erase(rest.begin(), rest.end());
    return variables;
  }
  static bool is_within(const Milp::Row& row, double sum) {
    constexpr double kTolerance = 1e-9;
    return sum >= row.lower - kTolerance && sum <= row.upper + kTolerance;
  }
  void state_row(Elimination& elimination, const Milp::Row& row) const {
    const std::vector<Variable> variables = variables_of(row);
    const auto place = [&](Variable v) {
      return static_cast<std::size_t>(std::ranges::lower_bound(variables, v) - variables.begin());
    };
    elimination.add(variables, [&](const std::vector<bool>& v) {
      double sum = 0;
      for (std::size_t i = 0; i < row.columns.size(); ++i) {
        const auto k = static_cast<CandidateIndex>(row.columns[i]);
        if (v[place(k)] && (is_first(k) || !v[place(k - 1)])) sum += row.values[i];
      }
      return is_within(row, sum) ? 0.0 : kInfinite;
    });
  }
  // Candidates that nothing needs may have made a row hold; the answer is without them.
  bool keeps_to_sides(const CoreAnswer& answer) const {
    return std::ranges::all_of(sides_, [&](const Milp::Row& row) {
      double sum = 0;
      for (std::size_t i = 0; i < row.columns.size(); ++i) {
        const auto k = static_cast<CandidateIndex>(row.columns[i]);
        const ClassIndex c = flat_.owner[k];
        if (answer.chosen[c] == k - flat_.begin[c]) sum += row.values[i];
      }
      return is_within(row, sum);
    });
  }

  std::vector<NodeIndex> chosen_of(const std::vector<bool>& values) const {
    std::vector<NodeIndex> chosen(flat_.class_count(), kNoNode);
    for (CandidateIndex k = 0; k < flat_.size(); ++k) {
      if (values[k] && (is_first(k) || !values[k - 1]))
        chosen[flat_.owner[k]] = k - flat_.begin[flat_.owner[k]];
    }
    return chosen;
  }

  // The part that the required classes reach; records the cycles on the way. Empty if the core has
  // no answer. A depth-first search with an explicit stack. A need that is still open closes a
  // cycle with the current path.
  std::optional<CoreAnswer> follow(const std::vector<NodeIndex>& chosen) {
    enum : char { kNew, kOpen, kDone };
    std::vector<char> state(chosen.size(), kNew);
    CoreAnswer answer;
    answer.chosen.assign(chosen.size(), kNoNode);
    answer.cost = 0;
    std::vector<std::pair<ClassIndex, std::size_t>> path;  // and the next need
    const auto enter = [&](ClassIndex c) {
      state[c] = kOpen;
      answer.chosen[c] = chosen[c];
      answer.cost += core_.classes[c][chosen[c]].cost;
      path.emplace_back(c, 0);
    };
    for (ClassIndex root = 0; root < chosen.size(); ++root) {
      if (!core_.required[root] || state[root] != kNew) continue;
      if (chosen[root] == kNoNode) return std::nullopt;
      enter(root);
      while (!path.empty()) {
        auto& [c, next] = path.back();
        const auto& needs = core_.classes[c][chosen[c]].needs;
        if (next == needs.size()) {
          state[c] = kDone;
          path.pop_back();
          continue;
        }
        const ClassIndex need = needs[next++];
        if (state[need] == kNew) {
          if (chosen[need] == kNoNode) return std::nullopt;
          enter(need);
        } else if (state[need] == kOpen) {
          note_loop(path, need);
        }
      }
    }
    answer.bound = answer.cost;
    answer.proven = true;
    return answer;
  }
  // The cycle is the end of the path, from `need` on.
  void note_loop(const std::vector<std::pair<ClassIndex, std::size_t>>& path, ClassIndex need) {
    std::vector<ClassIndex> loop;
    for (std::size_t i = path.size(); i-- > 0;) {
      loop.push_back(path[i].first);
      if (path[i].first == need) break;
    }
    std::ranges::sort(loop);
    loops_.push_back(std::move(loop));
  }

  const Core& core_;
  const EliminationLimits& limits_;
  const base::Deadline& deadline_;
  const std::function<bool()>& should_stop_;
  const std::span<const Milp::Row> sides_;
  FlatCore flat_;
  std::vector<std::vector<ClassIndex>> loops_;  // ascending
};

}  // namespace

std::optional<CoreAnswer> solve_by_elimination(const Core& core, const EliminationLimits& limits,
                                               const base::Deadline& deadline,
                                               const std::function<bool()>& should_stop,
                                               std::span<const Milp::Row> sides) {
  return Narrow(core, limits, deadline, should_stop, sides).run();
}

}  // namespace egret::extract
