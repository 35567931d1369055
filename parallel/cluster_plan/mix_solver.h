// SPDX-License-Identifier: Apache-2.0
// The dynamic program of stage_mix.h: stages from the last to the first, each with a submesh, its
// degrees and its layers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "parallel/cluster_plan/stage_terms.h"

namespace egret::parallel {

class MixSolver {
 public:
  struct Answer {
    double bound_s = 0;
    std::vector<std::vector<StageDegrees>> stages = {};  // of plans, by their terms
  };

  // STAGES: their number; 0: at least two. Only plans of less than LIMIT_S count. With ONLY_PASSES,
  // memory is unlimited, and nothing follows the passes.
  MixSolver(const StagePrices& prices, const PlanFrame& group, std::int64_t stages, double limit_s,
            std::int64_t most_stages, bool only_passes);
  // Units of the innermost tier; 1 where a submesh has a whole one at least.
  void set_node(std::int64_t units);
  void add_pool(std::int64_t units);
  // DEGREES: the ways to divide the work of a stage among these units of a pool.
  void add_submesh(std::size_t pool, std::int64_t units, std::vector<StageDegrees> degrees);

  std::optional<Answer> solve();

 private:
  // A stage with certain layers, as a pair that no other degrees are better than.
  struct Entry {
    double sum, bottleneck;
    std::uint32_t degrees;
  };
  struct Submesh {
    std::size_t pool;
    std::int64_t units;
    std::vector<StageDegrees> degrees;
    bool inside = false;  // a part of a node
    // By degrees, then by what of near_of() there is.
    std::vector<std::vector<StageTerms>> terms = {};
  };
  // What a submesh costs under the present bottleneck, by the number of layers from 1 on.
  struct Choices {
    std::vector<double> sums;
    std::vector<std::uint32_t> degrees;
  };
  // By number of layers - 1.
  struct Row {
    std::vector<std::vector<Entry>> entries;
    std::vector<double> ends;  // the least of all degrees
  };
  struct State {
    double sum;
    std::size_t before;  // the state without the last stage that was added
    std::uint32_t submesh, degrees, row;
    std::int32_t layers;
  };
  struct Plan {
    double sum = 0, bottleneck = 0;
    std::vector<StageDegrees> stages = {};
    double value() const { return sum + bottleneck; }
  };
  // All plans whose bottleneck is above LOW and at most HIGH have at least this sum, and take at
  // least LEAST.
  struct Interval {
    double low, high, sum;
    double least = 0;
    double bound() const { return std::max(low + sum, least); }
  };

  // Stages one after the other that are in one node have its units together. So the last stage that
  // was added either has the one before it anywhere (link 0), or in its node, of which the stages
  // in it use at least least_used(link) units.
  static NearStages near_of(std::size_t near) { return {(near & 2) != 0, (near & 1) != 0}; }
  static constexpr std::size_t kNear = 4;
  // Whether a submesh can follow in the node.
  bool has_room(std::size_t link, const Submesh& submesh) const {
    return submesh.inside && least_used(link) + submesh.units <= node_;
  }
  // Of one unit and more that are used, in parts of a node: exact in nodes of few units.
  std::int64_t least_used(std::size_t link) const {
    return 1 + static_cast<std::int64_t>(link - 1) * part_;
  }
  std::size_t link_of(std::int64_t used) const {
    return static_cast<std::size_t>(1 + (used - 1) / part_);
  }
  // With it, where the stage before it is to follow; 0 where there is no room for any.
  std::size_t link_after(std::size_t link, const Submesh& submesh) const;

  // Of a stage with so many stages after it, whose first layer is START where layers differ.
  std::size_t row_of(std::size_t submesh, std::int64_t after, bool first, std::int64_t start,
                     std::size_t near) const {
    const std::size_t place =
        (submesh * static_cast<std::size_t>(most_) + static_cast<std::size_t>(after)) * 2 +
        (first ? 1 : 0);
    return (place * static_cast<std::size_t>(starts_) +
            static_cast<std::size_t>(starts_ > 1 ? start : 0)) *
               kNear +
           near;
  }
  std::size_t state_of(std::int64_t stages, std::int64_t layers, std::size_t units,
                       std::size_t link) const {
    return ((static_cast<std::size_t>(stages) * static_cast<std::size_t>(layers_ + 1) +
             static_cast<std::size_t>(layers)) *
                unit_states_ +
            units) *
               links_ +
           link;
  }
  void fill_rows();
  // Unless it has one that is as good.
  static void add_entry(Row& row, std::int64_t layers, const Entry& entry, double end);
  void fill_row(std::size_t submesh, std::int64_t after, bool first, std::int64_t start);
  // The least sum of plans with bottlenecks up to HIGH that may take less than LIMIT, if it is less
  // than CUT. With what each layer and each unit can contribute at best.
  std::optional<Plan> least_sum(double high, double cut, double limit);
  void choose(double high);
  bool can_finish(std::size_t units, std::int64_t layers) const;
  // Adds stages before the last one of a state; BEST and FIRST are those of the plans that it ends.
  void extend(std::int64_t stages, std::int64_t covered, std::size_t units, std::size_t link,
              double limit, double& best, std::optional<State>& first);
  Plan plan_of(const State& first, double sum) const;

  const StagePrices& prices_;
  const PlanFrame& group_;
  PlanFrame frame_;            // of the submeshes' terms
  const std::int64_t stages_;  // 0: any
  const double limit_s_;
  const bool only_passes_;
  const std::int64_t layers_;
  const std::int64_t starts_;  // numbers of layers before a stage that matter to it
  const std::int64_t most_;    // stages
  std::vector<std::int64_t> pools_;
  std::vector<std::size_t> strides_;
  std::size_t unit_states_ = 1;
  std::int64_t node_ = 1;  // units
  std::int64_t part_ = 1;  // units of a node that states count together
  std::size_t links_ = 1;
  std::vector<Submesh> submeshes_;
  std::vector<Row> rows_;
  std::vector<Choices> choices_;
  std::vector<double> layers_of_unit_;  // by pool, at most
  double sum_of_layer_ = 0;             // at least
  std::vector<State> states_;
};

}  // namespace egret::parallel
