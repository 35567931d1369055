// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/core_maxsat.h"

#include <z3++.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "extract/core/components.h"
#include "extract/milp/milp_process.h"

namespace egret::extract {
namespace {

// Weighted partial MaxSAT: hard clauses for needs and acyclicity, soft clauses for costs.
class MaxSat {
 public:
  explicit MaxSat(const Core& core)
      : core_(core),
        unit_(std::max(1.0, core.granularity())),
        components_(strong_components(core)),
        program_(z3_) {}

  // The values in the answer are per candidate, class by class.
  base::Result<MilpAnswer> solve(double seconds) {
    try {
      for (ClassIndex c = 0; c < core_.classes.size(); ++c) name(c);
      for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
        state_needs(c);
        state_costs(c);
      }
      z3::params options(z3_);
      options.set("timeout", static_cast<unsigned>(seconds * 1000));
      program_.set(options);
      return answered(program_.check());
    } catch (const z3::exception& error) {
      return base::internal_error(std::string("Z3: ") + error.msg());
    }
  }

 private:
  void name(ClassIndex c) {
    const std::string name = std::to_string(c);
    classes_.push_back(z3_.bool_const(("class" + name).c_str()));
    positions_.push_back(z3_.int_const(("position" + name).c_str()));
    auto& candidates = candidates_.emplace_back();
    for (std::size_t i = 0; i < core_.classes[c].size(); ++i)
      candidates.push_back(z3_.bool_const((name + "_" + std::to_string(i)).c_str()));
  }

  // A chosen class has a chosen candidate, and a chosen candidate has its needs. Within a
  // component, a need must have a smaller position than the class, which excludes cycles.
  void state_needs(ClassIndex c) {
    z3::expr_vector any(z3_);
    for (std::size_t i = 0; i < candidates_[c].size(); ++i) {
      const z3::expr& candidate = candidates_[c][i];
      any.push_back(candidate);
      for (const ClassIndex need : core_.classes[c][i].needs) {
        program_.add(z3::implies(candidate, classes_[need]));
        if (components_[need] == components_[c])
          program_.add(z3::implies(candidate, positions_[need] < positions_[c]));
      }
    }
    program_.add(z3::implies(classes_[c], z3::mk_or(any)));
    if (core_.required[c]) program_.add(classes_[c]);
  }

  // The minimum over the candidates' costs is charged to the class, the excess to each candidate. A
  // class that must be chosen then conflicts with one soft clause. With all costs at the
  // candidates, that conflict would contain a clause of each candidate.
  void state_costs(ClassIndex c) {
    const auto& candidates = core_.classes[c];
    const double least = std::ranges::min(candidates, {}, &Candidate::cost).cost;
    avoid(classes_[c], least);
    for (std::size_t i = 0; i < candidates.size(); ++i)
      avoid(candidates_[c][i], candidates[i].cost - least);
  }
  // A soft clause: `what` is false, or its cost is paid, in units of the granularity.
  void avoid(const z3::expr& what, double cost) {
    if (cost == 0) return;
    const auto weight = static_cast<std::int64_t>(std::round(cost / unit_));
    paid_ = program_.add_soft(!what, std::to_string(weight).c_str());
  }

  MilpAnswer answered(z3::check_result result) {
    MilpAnswer answer;
    answer.infeasible = result == z3::unsat;
    answer.proven = result == z3::sat;
    if (result == z3::unknown && paid_) {
      double least = 0;
      // A search that ran out of time has still proven a lower bound: the cores of clauses that it
      // found each cost something.
      if (program_.lower(*paid_).is_numeral(least)) answer.bound = least * unit_;
    }
    if (!answer.proven) return answer;
    const z3::model model = program_.get_model();
    for (const auto& candidates : candidates_) {
      for (const z3::expr& candidate : candidates)
        answer.values.push_back(model.eval(candidate, true).is_true() ? 1 : 0);
    }
    return answer;
  }

  const Core& core_;
  double unit_;
  std::vector<std::uint32_t> components_;
  z3::context z3_;
  z3::optimize program_;
  std::vector<z3::expr> classes_;
  std::vector<z3::expr> positions_;  // per class
  std::vector<std::vector<z3::expr>> candidates_;
  std::optional<z3::optimize::handle> paid_;  // the sum of all that was avoided in vain
};

// Several candidates of a class may be true in the model; the cheapest one is taken.
std::vector<NodeIndex> chosen_of(const Core& core, const std::vector<double>& values) {
  std::vector<NodeIndex> chosen(core.classes.size(), kNoNode);
  std::size_t next = 0;
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < core.classes[c].size(); ++i) {
      if (values[next++] == 0 || core.classes[c][i].cost >= least) continue;
      least = core.classes[c][i].cost;
      chosen[c] = static_cast<NodeIndex>(i);
    }
  }
  return chosen;
}

}  // namespace

bool suits_maxsat(const Core& core) {
  constexpr std::size_t kMostCandidates = 20'000;
  return core.granularity() > 0 && !core.has_negative_costs() &&
         core.candidate_count() <= kMostCandidates;
}

// Without a proof only the lower bound of the solver is used, not its answer.
base::Result<CoreAnswer> solve_by_maxsat(const Core& core, const CoreAnswer& known,
                                         const base::Deadline& deadline,
                                         const std::function<bool()>& should_stop) {
  const auto solve = [&](double seconds) { return MaxSat(core).solve(seconds); };
  EGRET_ASSIGN_OR_RETURN(const MilpAnswer answer,
                         solve_in_process(solve, deadline.remaining(), should_stop));
  CoreAnswer best = known;
  if (answer.infeasible) return base::internal_error("extraction: the clauses have no answer");
  if (answer.lost && !answer.fate.empty()) best.notes.push_back(answer.fate);
  if (answer.proven) {
    best = needed_of(core, chosen_of(core, answer.values));
    best.bound = best.cost;
    best.proven = true;
  } else if (!answer.lost) {
    best.bound = std::max(best.bound, answer.bound);
  }
  return best;
}

}  // namespace egret::extract
