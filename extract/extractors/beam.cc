// SPDX-License-Identifier: Apache-2.0
// Beam search on the reduced core, from the required classes down. Partial answers are ranked by
// dual ascent: the bound, plus the remaining costs of the candidates chosen so far. Every
// completion costs at least that much.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/timer.h"
#include "extract/bounds/dual_ascent.h"
#include "extract/core/components.h"
#include "extract/greedy/local_search.h"
#include "extract/reduce/reduce.h"

namespace egret::extract {
namespace {

constexpr std::array kWidths = {1, 4, 16, 64};  // increasing widths, while time allows

class Beam {
 public:
  Beam(const Core& core, const Options& options, const base::Deadline& deadline)
      : core_(core),
        options_(options),
        deadline_(deadline),
        flat_(core),
        component_(strong_components(core)) {
    if (core.has_negative_costs()) {
      for (const Candidate* candidate : flat_.content) dual_.rest.push_back(candidate->cost);
    } else {
      dual_ = dual_ascent(core, flat_, dual_options());
    }
  }

  double bound() const { return dual_.bound; }  // 0 with negative costs, where it is none
  // A candidate per class; empty if no answer better than `known` was found in time.
  std::optional<std::vector<NodeIndex>> run(double known) {
    best_cost_ = known;
    for (const int width : kWidths) {
      if (!stopped()) descend(static_cast<std::size_t>(width));
    }
    return std::move(best_);
  }

 private:
  struct Partial {
    std::vector<NodeIndex> chosen;    // candidate per class
    std::vector<ClassIndex> pending;  // needed, nothing chosen yet; each once
    double cost = 0;
    double rest = 0;
  };
  struct Step {
    std::size_t from;
    ClassIndex c;
    CandidateIndex k;
    double rest;
  };

  DualAscentOptions dual_options() const {
    DualAscentOptions dual;
    dual.refresh = 8;
    dual.should_stop = [this] { return stopped(); };
    return dual;
  }
  bool stopped() const {
    return deadline_.expired() || (options_.should_stop && options_.should_stop());
  }

  // One pass with a fixed width. Each level extends every partial answer by one class and keeps the
  // `width` extensions of least estimate. Every level chooses one more class per partial answer, so
  // a pass ends.
  void descend(std::size_t width) {
    std::vector<Partial> beam(1);
    beam[0].chosen.assign(core_.classes.size(), kNoNode);
    for (ClassIndex c = 0; c < core_.classes.size(); ++c) {
      if (core_.required[c]) beam[0].pending.push_back(c);
    }
    const auto drop_finished = [&] {
      std::erase_if(beam, [&](Partial& partial) { return finish(partial); });
    };
    drop_finished();
    while (!beam.empty() && !stopped()) {
      std::vector<Step> steps;
      for (std::size_t i = 0; i < beam.size(); ++i) add_steps(beam[i], i, steps);
      // The bound is the same for all partial answers, so the remaining costs alone order them.
      std::ranges::stable_sort(steps, {}, &Step::rest);
      std::vector<Partial> next;
      for (const Step& step : steps) {
        if (next.size() == width) break;
        next.push_back(after(beam[step.from], step));
      }
      beam = std::move(next);
      drop_finished();
    }
  }

  // Extends by the pending class in the highest component. Components are numbered from the leaves,
  // so no class still to be chosen needs it, except within its own component.
  void add_steps(Partial& partial, std::size_t from, std::vector<Step>& steps) {
    const auto highest = std::ranges::max_element(
        partial.pending, {}, [&](ClassIndex c) { return std::pair(component_[c], c); });
    const ClassIndex c = *highest;
    partial.pending.erase(highest);
    for (CandidateIndex k = flat_.begin[c]; k < flat_.begin[c + 1]; ++k) {
      const double rest = partial.rest + dual_.rest[k];
      // Every completion costs at least bound + rest, so a step at or above the incumbent is
      // pruned.
      if (dual_.bound + rest >= best_cost_ || closes_circle(partial, c, k)) continue;
      steps.push_back({from, c, k, rest});
    }
  }

  // Whether the candidate closes a cycle with the candidates already chosen.
  bool closes_circle(const Partial& partial, ClassIndex c, CandidateIndex k) {
    std::vector<ClassIndex> queue = flat_.needs_of(k);
    std::vector<bool> seen(core_.classes.size(), false);
    while (!queue.empty()) {
      const ClassIndex next = queue.back();
      queue.pop_back();
      if (next == c) return true;
      // A class in another component never leads back.
      if (seen[next] || component_[next] != component_[c]) continue;
      seen[next] = true;
      if (partial.chosen[next] == kNoNode) continue;
      const auto& needs = core_.classes[next][partial.chosen[next]].needs;
      queue.insert(queue.end(), needs.begin(), needs.end());
    }
    return false;
  }

  Partial after(const Partial& before, const Step& step) const {
    Partial partial = before;
    partial.chosen[step.c] = step.k - flat_.begin[step.c];
    partial.cost += flat_.content[step.k]->cost;
    partial.rest = step.rest;
    for (const ClassIndex need : flat_.needs_of(step.k)) {
      if (partial.chosen[need] != kNoNode) continue;
      if (std::ranges::find(partial.pending, need) == partial.pending.end())
        partial.pending.push_back(need);
    }
    return partial;
  }

  bool finish(Partial& partial) {
    if (!partial.pending.empty()) return false;
    if (partial.cost < best_cost_) {
      best_cost_ = partial.cost;
      best_ = std::move(partial.chosen);
    }
    return true;
  }

  const Core& core_;
  const Options& options_;
  const base::Deadline& deadline_;
  FlatCore flat_;
  std::vector<std::uint32_t> component_;
  DualAscent dual_;
  std::optional<std::vector<NodeIndex>> best_;
  double best_cost_ = 0;
};

base::Result<Solution> extract_beam(const Problem& problem, const Options& options) {
  const base::Deadline deadline = base::Deadline::after(options.time_limit_s);
  Options shorter = options;
  // The incumbent prunes steps and serves as the answer if the beam finds nothing better.
  shorter.time_limit_s = options.time_limit_s / 4;
  EGRET_ASSIGN_OR_RETURN(Solution best, extract_local_search(problem, shorter));
  EGRET_ASSIGN_OR_RETURN(Core core, Core::of(problem));
  reduce(core, problem,
         {best.dag_cost,
          [&] { return deadline.expired() || (options.should_stop && options.should_stop()); }});
  const bool positive = !core.has_negative_costs();
  Beam beam(core, options, deadline);
  const auto chosen = beam.run(best.dag_cost - core.paid);
  if (chosen) {
    Solution found = solution_of(problem, core.lift(problem, *chosen));
    if (found.dag_cost < best.dag_cost) best = std::move(found);
  }
  if (positive)
    best.bound = std::max(best.bound, std::min(core.paid + beam.bound(), best.dag_cost));
  return best;
}

}  // namespace

namespace extracting {

ExtractorRow beam() {
  return {"beam", "local-search, then beam search from the roots guided by dual ascent",
          &extract_beam};
}

}  // namespace extracting

}  // namespace egret::extract
