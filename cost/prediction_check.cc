// SPDX-License-Identifier: Apache-2.0
#include "cost/prediction_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cost/interpolation.h"
#include "cost/key.h"

namespace egret::cost {
namespace {

// What is called free but is not is as wrong as if a nanosecond had been predicted.
constexpr double kLeastSeconds = 1e-9;

struct Errors {
  std::int64_t entries = 0;
  std::vector<double> interpolated;
  std::vector<double> roofline;

  void add(const Errors& other) {
    entries += other.entries;
    interpolated.insert(interpolated.end(), other.interpolated.begin(), other.interpolated.end());
    roofline.insert(roofline.end(), other.roofline.begin(), other.roofline.end());
  }
};

// A symmetric relative error: twice and half the measured time are equally wrong.
double error_of(double predicted_s, double measured_s) {
  const double ratio = std::max(kLeastSeconds, predicted_s) / measured_s;
  return std::max(ratio, 1 / ratio) - 1;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

PredictionError summary_of(const std::string& op, const Errors& errors) {
  return {.op = op,
          .entries = errors.entries,
          .predicted = static_cast<std::int64_t>(errors.interpolated.size()),
          .median = quantile(errors.interpolated, 0.5),
          .p90 = quantile(errors.interpolated, 0.9),
          .roofline_median = quantile(errors.roofline, 0.5),
          .roofline_p90 = quantile(errors.roofline, 0.9)};
}

PredictionCheck check(const std::vector<Database::Row>& rows, const Interpolation& interpolation,
                      const std::set<std::string>& passed_over, bool leave_out,
                      const Rates& rates) {
  const auto roofline = make_model("roofline", rates);
  std::map<std::string, Errors> by_operator;
  PredictionCheck result;
  for (const Database::Row& row : rows) {
    if (passed_over.contains(row.key)) continue;
    const auto parsed = ParsedKey::parse(row.key);
    if (!parsed.ok()) continue;  // no operator
    const Query query = parsed->query();
    const auto estimate = roofline->cost(query);
    if (!estimate.ok()) continue;
    const auto predicted = interpolation.predict(query, leave_out);
    if (row.entry.median_s <= 0) {
      ++result.free;
      result.free_predicted += predicted && predicted->seconds <= 0 ? 1 : 0;
      continue;
    }
    Errors& errors = by_operator[query.op->name()];
    ++errors.entries;
    if (!predicted) continue;
    errors.interpolated.push_back(error_of(predicted->seconds, row.entry.median_s));
    errors.roofline.push_back(error_of(estimate->seconds, row.entry.median_s));
  }
  Errors all;
  for (const auto& [op, errors] : by_operator) {
    result.by_operator.push_back(summary_of(op, errors));
    all.add(errors);
  }
  result.all = summary_of("", all);
  return result;
}

}  // namespace

// Leave-one-out cross-validation: each entry is predicted from all others.
PredictionCheck check_leaving_one_out(const std::vector<Database::Row>& rows, const Rates& rates) {
  return check(rows, Interpolation(rows, rates), {}, true, rates);
}

PredictionCheck check_from(const std::vector<Database::Row>& rows,
                           const std::vector<Database::Row>& known, const Rates& rates) {
  std::set<std::string> keys;
  for (const Database::Row& row : known) keys.insert(row.key);
  return check(rows, Interpolation(known, rates), keys, false, rates);
}

}  // namespace egret::cost
