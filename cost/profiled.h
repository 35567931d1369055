// SPDX-License-Identifier: Apache-2.0
// The profiled cost model: measured times where the database has them, an optimistic estimate where
// it has not, and a list of what would be worth measuring.
//
// Measuring every operator of an e-graph would take hours, most of it for operators that no good
// graph uses. So extraction and profiling alternate: extract under what is known, measure those
// chosen operators that were only estimated, extract again, until the choice rests on measurements
// alone. As estimates are below what is measured, the loop ends at the same graph as if everything
// had been measured. What is left to say of an operator that was not measured (the time was over)
// is another question: expected() answers it from measured ones of other shapes.
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

  // `database` outlives the model. `fastest` are rates that the machine does not exceed, and
  // `optimism` scales estimates down, so that what is not measured yet looks cheap enough to be
  // tried. `usual` are those that it reaches: they draw the roofline of expected(); where there are
  // none, they are the fastest.
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

  // Measures what is known already once more, and keeps the better of the two: a neighbour on the
  // machine slows measurements down and spreads them, so it is the one whose time and deviation
  // together are less. True: the new one is kept.
  base::Result<bool> measure_again(const Query& query, const Measure& measure);

  std::int64_t measured_count() const { return measured_; }  // entries added by profile()

 private:
  base::Result<std::optional<Entry>> known(const std::string& key);

  Database& database_;
  std::string machine_;
  std::unique_ptr<Model> estimate_;
  Rates usual_;
  std::unique_ptr<InterpolatedModel> interpolated_;  // of the entries at its making
  double optimism_;
  std::unordered_map<std::string, std::optional<Entry>> cache_;
  std::int64_t measured_ = 0;
};

// Whether an entry's deviation is large beside its time: more than a tenth of it.
bool is_noisy(const Entry& entry);

}  // namespace egret::cost
