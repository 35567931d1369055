// SPDX-License-Identifier: Apache-2.0
// The profiled cost model: measured times where the database has them, an optimistic estimate
// elsewhere, and a list of operators worth measuring.
//
// Measuring every operator of an e-graph would take hours, mostly for operators that no good graph
// uses. Extraction and profiling therefore alternate: extract under the known costs, measure the
// chosen operators that were only estimated, and repeat until the choice rests on measurements
// only. Estimates are below measured times, so the loop ends at the same graph as if everything had
// been measured. If time runs out, expected() predicts the remaining operators from measured ones
// of other shapes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "cost/database.h"
#include "cost/interpolation.h"
#include "cost/model.h"

namespace egret::cost {

class ProfiledModel final : public Model {
 public:
  // Measures one operator on this machine.
  using Measure = std::function<base::Result<Entry>(const Query&)>;

  // `database` outlives the model. `fastest` are rates that the machine does not exceed. `optimism`
  // scales estimates down, so that unmeasured operators look cheap enough to be tried. `usual` are
  // the rates that it reaches, for the roofline of expected(); by default the fastest.
  ProfiledModel(Database& database, std::string machine, const Rates& fastest,
                std::optional<Rates> usual = std::nullopt, double optimism = 0.7);

  std::string_view name() const override { return "profiled"; }
  base::Result<Cost> cost(const Query& query) override;
  // Measured, else interpolated from what the database has by now, else the roofline. Without
  // optimism.
  base::Result<Cost> expected(const Query& query) override;

  // The entry of an operator, where it was measured.
  base::Result<std::optional<Entry>> entry(const Query& query) { return known(key_of(query)); }
  // Measures and stores, unless it is known already. False: it was known.
  base::Result<bool> profile(const Query& query, const Measure& measure);

  // Measures a known operator again and keeps the better entry: the one with the smaller sum of
  // time and deviation, because other processes only slow measurements down and spread them. True:
  // the new one is kept.
  base::Result<bool> measure_again(const Query& query, const Measure& measure);

  // What an operator took in a graph, where others may be fused with it. It replaces what the
  // operator took alone, and what it took in another graph.
  base::Status learn_in_graph(const Query& query, const Entry& entry);
  // The cost of an operator by itself.
  base::Result<double> alone(const Query& query);
  // Views cost what is measured of them. Otherwise they are free.
  void measure_views() { views_are_free_ = false; }

  std::int64_t measured_count() const { return measured_; }  // entries added by profile()

 private:
  base::Result<std::optional<Entry>> known(const std::string& key);
  bool is_free(const Query& query) const;

  Database& database_;
  std::string machine_;
  std::unique_ptr<Model> estimate_;
  Rates usual_;
  std::unique_ptr<InterpolatedModel> interpolated_;  // of the entries at its making
  double optimism_;
  bool views_are_free_ = true;
  std::unordered_map<std::string, std::optional<Entry>> cache_;
  std::int64_t measured_ = 0;
};

// Whether an entry's deviation is large beside its time: more than a tenth of it.
bool is_noisy(const Entry& entry);

}  // namespace egret::cost
