// SPDX-License-Identifier: Apache-2.0
#include "parallel/offload/placement_program.h"

#include <algorithm>
#include <cmath>

namespace egret::parallel {
namespace {

using extract::Milp;

constexpr double kSeconds = 10;     // of one program, which takes milliseconds
constexpr double kNearlyAs = 1e-4;  // of the least time
constexpr int kPrefill = 9, kDecode = 10;
constexpr std::size_t kResources = kResourceNames.size();

double most(const LinearForm& form) {
  double sum = form.constant;
  for (const double factor : form.factors) sum += std::max(0.0, factor);
  return sum;
}

// FORM / SCALE - column <= 0, or FORM / SCALE <= limit without a column.
Milp::Row row_below(const LinearForm& form, double scale, int column, double limit) {
  Milp::Row row;
  row.upper = limit - form.constant / scale;
  for (std::size_t i = 0; i < form.factors.size(); ++i) {
    if (form.factors[i] != 0) row.add(static_cast<int>(i), form.factors[i] / scale);
  }
  if (column >= 0) row.add(column, -1);
  return row;
}

void clean(Fractions& fractions) {
  for (const Value value : kValues) {
    double sum = 0;
    for (const Place place : kPlaces) {
      double& part = fractions.at(value, place);
      part = std::clamp(part < 1e-9 ? 0.0 : part, 0.0, 1.0);
      sum += part;
    }
    for (const Place place : kPlaces) fractions.at(value, place) /= sum;
  }
}

}  // namespace

const std::optional<std::array<double, 3>>& GivenParts::of(Value value) const {
  if (value == Value::kWeights) return weights;
  return value == Value::kCache ? cache : activations;
}

base::Result<PlacementProgram> PlacementProgram::make() {
  if (extract::milp_solvers().empty())
    return base::unavailable("this build has no solver of linear programs (HiGHS or CBC)");
  return PlacementProgram(extract::milp_solvers().front());
}

base::Result<std::optional<PlacementAnswer>> PlacementProgram::solve(const BlockCosts& costs,
                                                                     const GivenParts& given,
                                                                     bool has_disk, bool quick) {
  Milp milp;
  for (const Value value : kValues) {
    Milp::Row sum;
    sum.lower = sum.upper = 1;
    for (const Place place : kPlaces) {
      const std::size_t i = index_of(value, place);
      Milp::Column column{.upper = 1, .integer = false};
      if ((place == Place::kDisk && !has_disk) || given.forbidden[i]) column.upper = 0;
      if (const auto& parts = given.of(value)) {
        column.lower = column.upper = (*parts)[static_cast<std::size_t>(place)];
        if (column.lower > 0 && place == Place::kDisk && !has_disk)
          return std::optional<PlacementAnswer>();
      }
      milp.columns.push_back(column);
      sum.add(static_cast<int>(i), 1);
    }
    milp.rows.push_back(sum);
  }
  // Times are relative to what the slowest resource could take at most.
  double scale = 1e-12;
  for (std::size_t r = 0; r < kResources; ++r) {
    const auto resource = static_cast<Resource>(r);
    scale = std::max({scale, most(costs.prefill(resource)), most(costs.decode(resource))});
  }
  const double passes = 1 + costs.decode_steps;
  milp.columns.push_back({.cost = 1 / passes, .upper = 2, .integer = false});
  milp.columns.push_back({.cost = costs.decode_steps / passes, .upper = 2, .integer = false});
  for (std::size_t r = 0; r < kResources; ++r) {
    const auto resource = static_cast<Resource>(r);
    milp.rows.push_back(row_below(costs.prefill(resource), scale, kPrefill, 0));
    milp.rows.push_back(row_below(costs.decode(resource), scale, kDecode, 0));
  }
  for (const MemoryRow& row : costs.memory) {
    if (row.place == Place::kDisk && !has_disk) continue;
    milp.rows.push_back(row_below(row.bytes, row.limit, -1, 1));
  }
  const auto solver = solver_->make();
  EGRET_RETURN_IF_ERROR(solver->load(milp));
  EGRET_ASSIGN_OR_RETURN(extract::MilpAnswer answer, solver->solve(kSeconds));
  if (!answer.proven || answer.values.empty()) return std::optional<PlacementAnswer>();
  PlacementAnswer result;
  std::copy_n(answer.values.begin(), 9, result.fractions.parts.begin());
  clean(result.fractions);
  const auto by_columns = [&](const std::vector<double>& values) {
    return scale * (values[kPrefill] + costs.decode_steps * values[kDecode]);
  };
  result.least_s = std::min(by_columns(answer.values), costs.seconds(result.fractions));
  if (quick) return std::optional(result);
  // The least movement in nearly this time.
  Milp::Row limit;
  limit.upper = by_columns(answer.values) / scale / passes * (1 + kNearlyAs);
  for (const int column : {kPrefill, kDecode}) {
    limit.add(column, milp.columns[static_cast<std::size_t>(column)].cost);
    milp.columns[static_cast<std::size_t>(column)].cost = 0;
  }
  milp.rows.push_back(limit);
  for (const Resource resource :
       {Resource::kUp, Resource::kDown, Resource::kRead, Resource::kWrite, Resource::kCores}) {
    LinearForm all = costs.prefill(resource);
    all.add(costs.decode(resource), costs.decode_steps);
    for (std::size_t i = 0; i < all.factors.size(); ++i)
      milp.columns[i].cost += all.factors[i] / (scale * passes);
  }
  const auto second = solver_->make();
  EGRET_RETURN_IF_ERROR(second->load(milp));
  EGRET_ASSIGN_OR_RETURN(answer, second->solve(kSeconds));
  if (!answer.proven || answer.values.empty()) return std::optional(result);
  Fractions fractions;
  std::copy_n(answer.values.begin(), 9, fractions.parts.begin());
  clean(fractions);
  result.fractions = fractions;
  return std::optional(result);
}

}  // namespace egret::parallel
