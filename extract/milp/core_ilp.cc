// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/core_ilp.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "extract/core/components.h"
#include "extract/core/flat_core.h"
#include "extract/core/implied.h"
#include "extract/milp/cut_loop.h"
#include "extract/milp/loop_cuts.h"
#include "extract/milp/milp_process.h"
#include "extract/milp/primal_dual_lp.h"

namespace egret::extract {
namespace {

constexpr double kChosen = 0.5;

// Shares of the candidates: useless ones that end the rounds of cuts, and those that are worth
// reducing the core anew for when these have ended.
constexpr double kEnoughUseless = 0.25;
constexpr double kWorthReducing = 0.05;

class CoreIlp {
 public:
  CoreIlp(const Core& core, MilpSolver& solver, const CoreAnswer& known,
          const base::Deadline& deadline, const std::function<bool()>& should_stop,
          const IlpOptions& options)
      : core_(core),
        solver_(solver),
        options_(options),
        best_(known),
        deadline_(deadline),
        should_stop_(should_stop),
        flat_(core),
        components_(strong_components(core)),
        implied_(core),
        unit_(core.granularity()) {}

  // The relaxation with cuts is the tighter, the one without branches faster: which of them proves
  // more is not known beforehand. Of large programs the solver would branch little.
  base::Result<CoreAnswer> run() {
    make_columns();
    make_rows();
    EGRET_RETURN_IF_ERROR(load());
    const bool large = is_large();
    if (std::isfinite(best_.cost) && !core_.has_negative_costs()) {
      if (!large && options_.sides.empty() && options_.branches_first) {
        EGRET_RETURN_IF_ERROR(tighten(0.05, Cuts::kForget));
        if (!best_.useless.empty()) return std::move(best_);
        EGRET_RETURN_IF_ERROR(branch(share_of_time(0.25)));
      }
      EGRET_RETURN_IF_ERROR(tighten(large ? 0.95 : 0.5, Cuts::kKeep));
      if (!best_.useless.empty()) return std::move(best_);
    }
    EGRET_RETURN_IF_ERROR(branch(deadline_));
    if (best_.proven) best_.bound = best_.cost;
    return std::move(best_);
  }

 private:
  // For the simplex method.
  bool is_large() const {
    constexpr std::size_t kLarge = 8000;  // columns
    return milp_.columns.size() > kLarge;
  }

  // Anew, without what is useless. Reductions do not know rows beside the costs; and of large
  // programs the cuts are worth more than what may be found.
  bool may_be_reduced() const { return options_.sides.empty() && !is_large(); }

  base::Deadline share_of_time(double share) const {
    return base::Deadline::after(deadline_.remaining() * share);
  }

  // Solves the program, adding cuts of cycles that turn up, until the best answer is proven.
  base::Status branch(const base::Deadline& deadline) {
    constexpr int kRoundsOfCuts = 12;
    for (int round = 1; !best_.proven; ++round) {
      const double left = deadline.remaining();
      if (left <= 0 || (should_stop_ && should_stop_())) break;
      EGRET_ASSIGN_OR_RETURN(
          const MilpAnswer answer,
          solve_in_process([&](double seconds) { return solver_.solve(seconds); }, left,
                           should_stop_));
      if (answer.lost) {
        if (!answer.fate.empty()) best_.notes.push_back(answer.fate);
        break;
      }
      if (answer.infeasible && !options_.sides.empty()) {
        best_.bound = Milp::kInfinite;
        break;
      }
      if (answer.infeasible) return base::internal_error("extraction: the program has no answer");
      best_.bound = std::max(best_.bound, core_.raised(answer.bound));
      const std::vector<Milp::Row> cuts = cuts_of(answer);
      const bool taken = cuts.empty() && take(answer);
      best_.proven = best_.is_closed() || (taken && answer.proven);
      if (cuts.empty()) break;
      for (const Milp::Row& row : cuts) {
        milp_.rows.push_back(row);
        EGRET_RETURN_IF_ERROR(solver_.add(row, 0));
      }
      if (round % kRoundsOfCuts == 0) {
        order_components();
        EGRET_RETURN_IF_ERROR(load());
      }
    }
    return base::ok();
  }

  base::Status load() {
    EGRET_RETURN_IF_ERROR(solver_.load(milp_));
    // Answers differ by a unit at least.
    if (unit_ > 0) solver_.set_gap(0.999 * unit_);
    if (!best_.chosen.empty()) solver_.start_from(values_of(best_.chosen));
    return base::ok();
  }

  // With a known answer to be better than.
  enum class Cuts : std::uint8_t { kForget, kKeep };
  base::Status tighten(double share, Cuts cuts) {
    if (best_.proven) return base::ok();
    const base::Deadline deadline = share_of_time(share);
    TightenOptions options;
    if (!options_.sides.empty()) options.searches = Searches::kNone;
    if (may_be_reduced()) options.enough_useless = kEnoughUseless;
    PrimalDualLp relaxation(milp_);
    EGRET_ASSIGN_OR_RETURN(
        Tightened tightened,
        extract::tighten(core_, milp_, best_.cost, relaxation, deadline, should_stop_, options));
    if (!tightened.chosen.empty()) {
      best_.chosen = std::move(tightened.chosen);
      best_.cost = tightened.cost;
    }
    best_.bound = std::max(best_.bound, core_.raised(tightened.bound));
    best_.proven = best_.is_closed();
    const auto worth = static_cast<std::size_t>(kWorthReducing * flat_.size());
    if (may_be_reduced() && !best_.proven && tightened.useless.size() > worth) {
      best_.useless = std::move(tightened.useless);
      return base::ok();
    }
    if (cuts == Cuts::kKeep)
      milp_.rows.insert(milp_.rows.end(), tightened.cuts.begin(), tightened.cuts.end());
    for (const int candidate : tightened.useless)
      milp_.columns[static_cast<std::size_t>(candidate)].upper = 0;
    return load();
  }

  int column(ClassIndex c, std::size_t candidate) const {
    return static_cast<int>(first_[c] + candidate);
  }
  int column(ClassIndex c) const { return static_cast<int>(class_columns_ + c); }

  void make_columns() {
    for (const auto& candidates : core_.classes) {
      first_.push_back(milp_.columns.size());
      for (const Candidate& candidate : candidates) milp_.columns.push_back({candidate.cost});
    }
    class_columns_ = milp_.columns.size();
    for (ClassIndex c = 0; c < core_.classes.size(); ++c)
      milp_.columns.push_back({0, core_.required[c] ? 1.0 : 0.0, 1, false});
  }

  // Candidates of one class that need another.
  using Users = std::map<ClassIndex, std::vector<std::size_t>>;
  Users users_in(ClassIndex c) const {
    Users users;
    for (std::size_t i = 0; i < core_.classes[c].size(); ++i) {
      for (const ClassIndex need : core_.classes[c][i].needs) users[need].push_back(i);
    }
    return users;
  }

  void make_rows() {
    const bool supported = core_.has_negative_costs();
    std::vector<Milp::Row> support(core_.classes.size());
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      Milp::Row one{0, 0, {}, {}};
      for (std::size_t i = 0; i < core_.classes[c].size(); ++i) one.add(column(c, i), 1);
      one.add(column(c), -1);
      milp_.rows.push_back(std::move(one));
      for (const auto& [need, users] : users_in(c)) {
        if (supported) {
          for (const std::size_t i : users) support[need].add(column(c, i), -1);
        }
        const bool within = components_[need] == components_[c];
        if (within) edges_[{c, need}] = users;
        if (core_.required[need] && !within) continue;
        milp_.rows.push_back(need_row(c, users, need));
      }
    }
    for (ClassIndex c = 0; supported && c < core_.classes.size(); ++c) {
      if (core_.required[c]) continue;
      support[c].upper = 0;
      support[c].add(column(c), 1);
      milp_.rows.push_back(std::move(support[c]));
    }
    make_implied_rows();
    milp_.rows.insert(milp_.rows.end(), options_.sides.begin(), options_.sides.end());
  }

  // The same for what candidates imply indirectly: different ways to one class add up, which the
  // relaxation does not see. Of classes that the same candidates imply, the nearest.
  void make_implied_rows() {
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      const auto& candidates = core_.classes[c];
      Users users;
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        for (const ClassIndex other : implied_.by(candidates[i])) {
          if (!core_.required[other] || components_[other] == components_[c])
            users[other].push_back(i);
        }
      }
      for (const auto& [other, by] : users) {
        if (by.size() < 2 || is_need_of_all(c, other, by)) continue;
        const bool nearer = std::ranges::any_of(users, [&, o = other, &b = by](const auto& entry) {
          return entry.first != o && entry.second == b && implied_.implies(entry.first, o);
        });
        if (nearer) continue;
        milp_.rows.push_back(need_row(c, by, other));
      }
    }
  }
  // What is chosen of these candidates of a class is at most what is chosen of the class that they
  // imply, with candidates that do not imply theirs.
  Milp::Row need_row(ClassIndex user, const std::vector<std::size_t>& users,
                     ClassIndex need) const {
    Milp::Row row{-Milp::kInfinite, 0, {}, {}};
    if (users.size() == core_.classes[user].size()) {
      row.add(column(user), 1);
    } else {
      for (const std::size_t i : users) row.add(column(user, i), 1);
    }
    if (components_[need] != components_[user]) {
      row.add(column(need), -1);
      return row;
    }
    for (std::size_t i = 0; i < core_.classes[need].size(); ++i) {
      const bool circular = std::ranges::any_of(
          core_.classes[need][i].needs, [&](ClassIndex n) { return implied_.implies(n, user); });
      if (!circular) row.add(column(need, i), -1);
    }
    return row;
  }
  bool is_need_of_all(ClassIndex c, ClassIndex other, const std::vector<std::size_t>& by) const {
    return std::ranges::all_of(by, [&](std::size_t i) {
      return std::ranges::binary_search(core_.classes[c][i].needs, other);
    });
  }

  // Some for each cycle that a walk through the answer meets.
  std::vector<Milp::Row> cuts_of(const MilpAnswer& answer) {
    std::vector<Milp::Row> cuts;
    if (answer.values.empty()) return cuts;
    const std::vector<NodeIndex> chosen = chosen_of(answer.values);
    enum : char { kNew, kOpen, kDone };
    std::vector<char> state(chosen.size(), kNew);
    struct Frame {
      ClassIndex c;
      std::size_t need;
    };
    std::vector<Frame> path;
    for (ClassIndex start = 0; start < chosen.size(); ++start) {
      if (chosen[start] == kNoNode || state[start] != kNew) continue;
      path.push_back({start, 0});
      state[start] = kOpen;
      while (!path.empty()) {
        Frame& frame = path.back();
        const auto& needs = core_.classes[frame.c][chosen[frame.c]].needs;
        if (frame.need == needs.size()) {
          state[frame.c] = kDone;
          path.pop_back();
          continue;
        }
        const ClassIndex need = needs[frame.need++];
        if (chosen[need] == kNoNode || state[need] == kDone) continue;
        if (state[need] == kNew) {
          state[need] = kOpen;
          path.push_back({need, 0});
          continue;
        }
        std::vector<ClassIndex> cycle;
        for (std::size_t i = path.size(); i-- > 0 && path[i].c != need;) cycle.push_back(path[i].c);
        cycle.push_back(need);
        in_cycles_.insert(components_[need]);
        std::sort(cycle.begin(), cycle.end());
        for (const ClassIndex c : cycle) cuts.push_back(loop_cut(flat_, cycle, c));
      }
    }
    return cuts;
  }

  // A position for each class of the components where cycles were met: what is needed comes first.
  void order_components() {
    std::map<std::uint32_t, double> size;
    for (const std::uint32_t component : components_) size[component] += 1;
    std::set<ClassIndex> fresh;
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      if (!in_cycles_.contains(components_[c]) || position_.contains(c)) continue;
      position_[c] = static_cast<int>(milp_.columns.size());
      milp_.columns.push_back({0, 0, size[components_[c]] - 1, false});
      fresh.insert(c);
    }
    for (const auto& [edge, users] : edges_) {
      const auto& [c, need] = edge;
      if (!fresh.contains(c)) continue;
      // position(need) + 1 <= position(c), where c chooses a candidate that needs it.
      const double n = size[components_[c]];
      Milp::Row row{-Milp::kInfinite, n - 1, {}, {}};
      row.add(position_.at(need), 1);
      row.add(position_.at(c), -1);
      for (const std::size_t i : users) row.add(column(c, i), n);
      milp_.rows.push_back(std::move(row));
    }
  }

  std::vector<NodeIndex> chosen_of(const std::vector<double>& values) const {
    std::vector<NodeIndex> chosen(core_.classes.size(), kNoNode);
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      for (std::size_t i = 0; i < core_.classes[c].size(); ++i) {
        if (values[first_[c] + i] > kChosen) chosen[c] = static_cast<NodeIndex>(i);
      }
    }
    return chosen;
  }

  // Of an acyclic answer.
  std::vector<double> values_of(const std::vector<NodeIndex>& chosen) const {
    std::vector<double> values(milp_.columns.size(), 0);
    for (ClassIndex c = 0; c < chosen.size(); ++c) {
      if (chosen[c] == kNoNode) continue;
      values[first_[c] + chosen[c]] = 1;
      values[class_columns_ + c] = 1;
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto& [c, position] : position_) {
        if (chosen[c] == kNoNode) continue;
        for (const ClassIndex need : core_.classes[c][chosen[c]].needs) {
          const auto other = position_.find(need);
          if (other == position_.end() || components_[need] != components_[c]) continue;
          if (values[position] > values[other->second]) continue;
          values[position] = values[other->second] + 1;
          moved = true;
        }
      }
    }
    return values;
  }

  // Keeps an acyclic answer if it is better. False when there is none, or the solver's tolerance
  // left a class without a candidate.
  bool take(const MilpAnswer& answer) {
    if (answer.values.empty()) return false;
    CoreAnswer found = needed_of(core_, chosen_of(answer.values));
    if (found.chosen.empty()) return false;
    if (found.cost >= best_.cost) return true;
    best_.chosen = std::move(found.chosen);
    best_.cost = found.cost;
    return true;
  }

  const Core& core_;
  MilpSolver& solver_;
  const IlpOptions& options_;
  CoreAnswer best_;
  const base::Deadline& deadline_;
  const std::function<bool()>& should_stop_;
  FlatCore flat_;
  std::vector<std::uint32_t> components_;
  Implied implied_;
  Milp milp_;
  std::vector<std::size_t> first_;  // column of each class's candidates
  std::size_t class_columns_ = 0;
  std::map<std::pair<ClassIndex, ClassIndex>, std::vector<std::size_t>>
      edges_;                          // within components
  std::set<std::uint32_t> in_cycles_;  // components
  std::map<ClassIndex, int> position_;
  double unit_;
};

}  // namespace

base::Result<CoreAnswer> solve_by_ilp(const Core& core, MilpSolver& solver, const CoreAnswer& known,
                                      const base::Deadline& deadline,
                                      const std::function<bool()>& should_stop,
                                      const IlpOptions& options) {
  return CoreIlp(core, solver, known, deadline, should_stop, options).run();
}

}  // namespace egret::extract
