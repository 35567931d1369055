// SPDX-License-Identifier: Apache-2.0
// The profiled cost model: measured times where the database has them, an optimistic estimate where
// it has not, and a list of what would be worth measuring.
//
// Measuring every operator of an e-graph would take hours, most of it for operators that no good
// graph uses. So extraction and profiling alternate: extract under what is known, measure those
// chosen operators that were only estimated, extract again, until the choice rests on measurements
// alone. As estimates are below what is measured, the loop ends at the same graph as if everything
// had been measured.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "cost/database.h"
#include "cost/model.h"

namespace egret::cost {

class ProfiledModel final : public Model {
 public:
  // Measures one operator on this machine.
  using Measure = std::function<base::Result<Entry>(const Query&)>;

  // `database` outlives the model. `optimism` scales estimates down, so that what is not measured
  // yet looks cheap enough to be tried.
  ProfiledModel(Database& database, std::string machine, const Rates& rates, double optimism = 0.7);

  std::string_view name() const override { return "profiled"; }
  base::Result<Cost> cost(const Query& query) override;

  // Measures and stores, unless it is known already. False: it was known.
  base::Result<bool> profile(const Query& query, const Measure& measure);

  std::int64_t measured_count() const { return measured_; }  // entries added by profile()

 private:
  base::Result<std::optional<Entry>> known(const std::string& key);

  Database& database_;
  std::string machine_;
  std::unique_ptr<Model> estimate_;
  double optimism_;
  std::unordered_map<std::string, std::optional<Entry>> cache_;
  std::int64_t measured_ = 0;
};

}  // namespace egret::cost
