// SPDX-License-Identifier: Apache-2.0
#include "cost/profiled.h"

namespace egret::cost {

ProfiledModel::ProfiledModel(Database& database, std::string machine, const Rates& rates,
                             double optimism)
    : database_(database),
      machine_(std::move(machine)),
      estimate_(make_model("roofline", rates)),
      optimism_(optimism) {}

base::Result<std::optional<Entry>> ProfiledModel::known(const std::string& key) {
  if (const auto found = cache_.find(key); found != cache_.end()) return found->second;
  EGRET_ASSIGN_OR_RETURN(const std::optional<Entry> entry, database_.find(machine_, key));
  cache_.emplace(key, entry);
  return entry;
}

base::Result<Cost> ProfiledModel::cost(const Query& query) {
  if (is_view(*query.op) || query.all_constant()) return Cost{.measured = true};
  EGRET_ASSIGN_OR_RETURN(const std::optional<Entry> entry, known(key_of(query)));
  EGRET_ASSIGN_OR_RETURN(Cost cost, estimate_->cost(query));
  cost.seconds = entry ? entry->median_s : cost.seconds * optimism_;
  cost.measured = entry.has_value();
  return cost;
}

base::Result<bool> ProfiledModel::profile(const Query& query, const Measure& measure) {
  const std::string key = key_of(query);
  EGRET_ASSIGN_OR_RETURN(const std::optional<Entry> entry, known(key));
  if (entry) return false;
  EGRET_ASSIGN_OR_RETURN(const Entry fresh, measure(query));
  EGRET_RETURN_IF_ERROR(database_.store(machine_, key, fresh));
  cache_[key] = fresh;
  ++measured_;
  return true;
}

}  // namespace egret::cost
