// SPDX-License-Identifier: Apache-2.0
#include "cost/profiled.h"

#include <utility>

namespace egret::cost {
namespace {

// Before the key of an operator, for what it took in a graph.
const std::string kInGraph = "in a graph: ";

}  // namespace

ProfiledModel::ProfiledModel(Database& database, std::string machine, const Rates& fastest,
                             std::optional<Rates> usual, double optimism)
    : database_(database),
      machine_(std::move(machine)),
      estimate_(make_model("roofline", fastest)),
      usual_(usual.value_or(fastest)),
      optimism_(optimism) {}

base::Result<std::optional<Entry>> ProfiledModel::known(const std::string& key) {
  if (const auto found = cache_.find(key); found != cache_.end()) return found->second;
  EGRET_ASSIGN_OR_RETURN(const std::optional<Entry> entry, database_.find(machine_, key));
  cache_.emplace(key, entry);
  return entry;
}

bool ProfiledModel::is_free(const Query& query) const {
  return (views_are_free_ && is_view(*query.op)) || query.all_constant();
}

base::Status ProfiledModel::learn_in_graph(const Query& query, const Entry& entry) {
  const std::string key = kInGraph + key_of(query);
  cache_[key] = entry;
  return database_.store(machine_, key, entry);
}

base::Result<double> ProfiledModel::alone(const Query& query) {
  if (is_free(query)) return 0;
  EGRET_ASSIGN_OR_RETURN(const std::optional<Entry> entry, known(key_of(query)));
  if (entry) return entry->median_s;
  EGRET_ASSIGN_OR_RETURN(const Cost estimate, estimate_->cost(query));
  return estimate.seconds;
}

// A key that was not measured costs `optimism` times the fastest roofline: extraction then tends to
// choose it, and it gets measured.
base::Result<Cost> ProfiledModel::cost(const Query& query) {
  if (is_free(query)) return Cost{.kind = CostKind::kMeasured};
  const std::string key = key_of(query);
  EGRET_ASSIGN_OR_RETURN(std::optional<Entry> entry, known(kInGraph + key));
  if (!entry) {
    EGRET_ASSIGN_OR_RETURN(entry, known(key));
  }
  EGRET_ASSIGN_OR_RETURN(Cost cost, estimate_->cost(query));
  cost.seconds = entry ? entry->median_s : cost.seconds * optimism_;
  cost.kind = entry ? CostKind::kMeasured : CostKind::kEstimated;
  return cost;
}

// The expected time of a key without a measurement comes from its neighbours. cost() is optimistic
// instead, so that a search explores; a report must not be.
base::Result<Cost> ProfiledModel::expected(const Query& query) {
  EGRET_ASSIGN_OR_RETURN(const Cost cost, this->cost(query));
  if (cost.measured()) return cost;
  if (interpolated_ == nullptr) {
    EGRET_ASSIGN_OR_RETURN(std::vector<Database::Row> rows, database_.rows(machine_));
    // Others' work would bend the curves of all neighbours.
    std::erase_if(rows, [](const Database::Row& row) { return row.entry.disturbed; });
    interpolated_ = std::make_unique<InterpolatedModel>(rows, usual_);
  }
  return interpolated_->cost(query);
}

base::Result<bool> ProfiledModel::profile(const Query& query, const Measure& measure) {
  const std::string key = key_of(query);
  EGRET_ASSIGN_OR_RETURN(const std::optional<Entry> entry, known(key));
  if (entry) return false;
  EGRET_ASSIGN_OR_RETURN(const Entry fresh, measure(query));
  EGRET_RETURN_IF_ERROR(database_.store(machine_, key, fresh));
  cache_[key] = fresh;
  interpolated_.reset();
  ++measured_;
  return true;
}

// Keeps the entry with the smaller median plus deviation: interference only makes times longer. An
// undisturbed entry beats a disturbed one.
base::Result<bool> ProfiledModel::measure_again(const Query& query, const Measure& measure) {
  const std::string key = key_of(query);
  EGRET_ASSIGN_OR_RETURN(const std::optional<Entry> entry, known(key));
  EGRET_ASSIGN_OR_RETURN(const Entry fresh, measure(query));
  const auto rank = [](const Entry& e) {
    return std::pair(e.disturbed, e.median_s + e.deviation_s);
  };
  if (entry && rank(*entry) <= rank(fresh)) return false;
  EGRET_RETURN_IF_ERROR(database_.store(machine_, key, fresh));
  cache_[key] = fresh;
  interpolated_.reset();
  return true;
}

bool is_noisy(const Entry& entry) {
  constexpr double kMuch = 0.1;
  return entry.deviation_s > kMuch * entry.median_s && entry.median_s > 0;
}

}  // namespace egret::cost
