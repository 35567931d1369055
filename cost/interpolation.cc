// SPDX-License-Identifier: Apache-2.0
#include "cost/interpolation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/median.h"
#include "cost/key.h"

namespace egret::cost {
namespace {

constexpr std::size_t kNeighbours = 8;
// with so many neighbours of the same attributes, no others count
constexpr std::size_t kEnough = 3;
constexpr double kFarthest = 4.2;       // a factor of 64 in size; no prediction beyond
constexpr double kOtherAttrs = 1.0;     // counts like a factor of e in size
constexpr double kOtherForm = 1.5;      // other types, ranks or constants
constexpr double kShapeWeight = 0.35;   // of sizes of dimensions, beside their product
constexpr double kNearest = 0.05;       // nearer than this is equally near
constexpr double kSlopePenalty = 0.05;  // of a squared slope, beside squared errors
constexpr double kBeyond = 0.35;        // how far past the neighbours' factors, in logarithms
constexpr int kRobustRounds = 3;
constexpr double kLeastScale = 0.3;    // residuals below this are never outliers
constexpr double kLeastWeight = 1e-6;  // of outliers: fits stay solvable

// A neighbour in the local coordinates of a query.
struct Point {
  double flops = 0;  // relative to the query, in logarithms
  double bytes = 0;
  double factor = 0;  // logarithm
  double weight = 0;
};

// The solution of three equations in three unknowns with a positive definite matrix. Gauss-Jordan
// elimination. The matrix is positive definite, so no pivot is 0 and rows need not be exchanged.
std::array<double, 3> solve(std::array<std::array<double, 4>, 3> rows) {
  for (std::size_t pivot = 0; pivot < 3; ++pivot) {
    for (std::size_t row = 0; row < 3; ++row) {
      if (row == pivot) continue;
      const double factor = rows[row][pivot] / rows[pivot][pivot];
      for (std::size_t k = pivot; k < 4; ++k) rows[row][k] -= factor * rows[pivot][k];
    }
  }
  return {rows[0][3] / rows[0][0], rows[1][3] / rows[1][1], rows[2][3] / rows[2][2]};
}

// The plane c + a flops + b bytes through the points: weighted least squares with a penalty on the
// slopes (ridge regression). With few neighbours, or neighbours on a line, the slopes stay near 0
// and the system stays solvable.
std::array<double, 3> fit(const std::vector<Point>& points) {
  std::array<std::array<double, 4>, 3> rows{};
  double sum = 0;
  for (const Point& point : points) {
    const std::array<double, 3> x{1, point.flops, point.bytes};
    sum += point.weight;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 3; ++k) rows[i][k] += point.weight * x[i] * x[k];
      rows[i][3] += point.weight * x[i] * point.factor;
    }
  }
  rows[1][1] += kSlopePenalty * sum;
  rows[2][2] += kSlopePenalty * sum;
  return solve(rows);
}

struct Fitted {
  double factor = 0;  // logarithm, at the query
  double spread = 0;  // median of residuals, in logarithms
};

// Local regression with bisquare weights (Cleveland 1979, section 2). It starts at the median,
// which no single neighbour moves, however near it is.
Fitted fit_robustly(const std::vector<Point>& given) {
  std::vector<double> factors;
  for (const Point& point : given) factors.push_back(point.factor);
  std::array<double, 3> plane{base::median(factors), 0, 0};
  std::vector<Point> points = given;
  Fitted result;
  for (int round = 0;; ++round) {
    std::vector<double> residuals;
    for (const Point& point : given) {
      residuals.push_back(
          std::abs(point.factor - plane[0] - plane[1] * point.flops - plane[2] * point.bytes));
    }
    result.spread = base::median(residuals);
    if (round == kRobustRounds) break;
    // Six times the median of the absolute residuals is Cleveland's choice. The lower limit keeps
    // points of a nearly exact fit from becoming outliers.
    const double scale = std::max(kLeastScale, 6 * result.spread);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double u = std::min(1.0, residuals[i] / scale);
      points[i].weight = given[i].weight * std::max(kLeastWeight, (1 - u * u) * (1 - u * u));
    }
    plane = fit(points);
  }
  const auto [least, most] = std::ranges::minmax(given, {}, &Point::factor);
  // The query is the origin of the coordinates, so the constant of the plane is the prediction
  // there. The limits bound an extrapolation.
  result.factor = std::clamp(plane[0], least.factor - kBeyond, most.factor + kBeyond);
  return result;
}

}  // namespace

Interpolation::Interpolation(const std::vector<Database::Row>& rows, const Rates& rates)
    : rates_(rates) {
  for (const Database::Row& row : rows) {
    const auto parsed = ParsedKey::parse(row.key);
    if (!parsed.ok()) continue;  // the key of a kernel or race, or an operator of another version
    auto place = place_of(parsed->query());
    if (!place) continue;
    by_operator_[parsed->query().op->name()].push_back({*std::move(place), row.entry.median_s});
    ++size_;
  }
}

// The place of a query: the logarithms of its work and sizes, in which factors are distances.
std::optional<Interpolation::Place> Interpolation::place_of(const Query& query) const {
  const auto work = ir::work_of(*query.op, *query.attrs, query.inputs);
  if (!work.ok()) return std::nullopt;
  Place place{.key = key_of(query), .attrs = *query.attrs};
  for (std::size_t i = 0; i < query.inputs.size(); ++i) {
    const ir::TensorType& type = query.inputs[i];
    place.form += std::string(ir::to_string(type.dtype)) + std::to_string(type.rank());
    place.form += i < query.constant.size() && query.constant[i] ? "c " : " ";
    for (const std::int64_t size : type.shape())
      place.sizes.push_back(std::log(static_cast<double>(std::max<std::int64_t>(1, size))));
  }
  place.flops = std::log(std::max(1.0, work->flops));
  place.bytes = std::log(std::max(1.0, work->bytes_read + work->bytes_written));
  place.roofline_s = rates_.seconds_per_kernel + roofline_seconds(*work, rates_);
  return place;
}

// The nearest samples in the plane of arithmetic and traffic. Different shapes, forms and
// attributes add to the distance. If enough samples agree in form and attributes, only these count.
// O(samples * log(samples)). `leave_out` skips samples of the query's own key, for
// cross-validation.
std::vector<Interpolation::Neighbour> Interpolation::neighbours_of(
    const std::vector<Sample>& samples, const Place& place, bool leave_out) const {
  std::vector<Neighbour> same;
  std::vector<Neighbour> all;
  for (const Sample& sample : samples) {
    const Place& other = sample.place;
    if (leave_out && other.key == place.key) continue;
    double distance = std::hypot(other.flops - place.flops, other.bytes - place.bytes);
    if (distance > kFarthest) continue;
    if (other.sizes.size() == place.sizes.size()) {
      double squares = 0;
      for (std::size_t i = 0; i < place.sizes.size(); ++i)
        squares += std::pow(other.sizes[i] - place.sizes[i], 2);
      distance += kShapeWeight * std::sqrt(squares);
    }
    if (other.form != place.form) distance += kOtherForm;
    const bool same_attrs = other.attrs == place.attrs;
    all.push_back({&sample, distance + (same_attrs ? 0 : kOtherAttrs)});
    if (same_attrs && other.form == place.form) same.push_back(all.back());
  }
  std::vector<Neighbour>& chosen = same.size() >= kEnough ? same : all;
  // Keys break ties: the result does not depend on the order of entries.
  std::ranges::sort(chosen, [](const Neighbour& a, const Neighbour& b) {
    return std::tie(a.distance, a.sample->place.key) < std::tie(b.distance, b.sample->place.key);
  });
  if (chosen.size() > kNeighbours) chosen.resize(kNeighbours);
  return std::move(chosen);
}

// Predicts the factor between the measured time and the roofline's, from the nearest measured
// shapes of the same operator. The roofline carries the trend over sizes; the factor varies slowly.
std::optional<Interpolated> Interpolation::predict(const Query& query, bool leave_out) const {
  const auto found = by_operator_.find(query.op->name());
  if (found == by_operator_.end()) return std::nullopt;
  const auto place = place_of(query);
  if (!place) return std::nullopt;
  const std::vector<Neighbour> near = neighbours_of(found->second, *place, leave_out);
  if (near.empty()) return std::nullopt;

  Interpolated result{.neighbours = static_cast<int>(near.size()),
                      .distance = near.front().distance};
  std::vector<Point> points;
  double all = 0;
  double none = 0;  // weight of those that take no time
  for (const Neighbour& neighbour : near) {
    const Place& other = neighbour.sample->place;
    result.same_attrs = result.same_attrs && other.attrs == place->attrs;
    // Inverse squared distance, limited so that one sample at distance 0 does not outweigh all
    // others without bound.
    const double weight = 1 / std::pow(std::max(kNearest, neighbour.distance), 2);
    all += weight;
    if (neighbour.sample->seconds <= 0) {
      none += weight;
      continue;
    }
    points.push_back({.flops = other.flops - place->flops,
                      .bytes = other.bytes - place->bytes,
                      .factor = std::log(neighbour.sample->seconds / other.roofline_s),
                      .weight = weight});
  }
  // Most of the weight is on free neighbours: predict 0 seconds.
  if (none > all / 2) return result;
  const Fitted fitted = fit_robustly(points);
  result.seconds = place->roofline_s * std::exp(fitted.factor);
  result.spread = std::exp(fitted.spread);
  return result;
}

InterpolatedModel::InterpolatedModel(const std::vector<Database::Row>& rows, const Rates& rates)
    : interpolation_(rows, rates), roofline_(make_model("roofline", rates)) {
  for (const Database::Row& row : rows) measured_.emplace(row.key, row.entry.median_s);
}

// Measured, else interpolated, else the roofline alone.
base::Result<Cost> InterpolatedModel::cost(const Query& query) {
  if (is_view(*query.op) || query.all_constant()) return Cost{.kind = CostKind::kMeasured};
  const std::string key = key_of(query);
  if (const auto found = cache_.find(key); found != cache_.end()) return found->second;
  EGRET_ASSIGN_OR_RETURN(Cost cost, roofline_->cost(query));
  if (const auto known = measured_.find(key); known != measured_.end()) {
    cost.seconds = known->second;
    cost.kind = CostKind::kMeasured;
  } else if (const auto predicted = interpolation_.predict(query)) {
    cost.seconds = predicted->seconds;
    cost.kind = CostKind::kInterpolated;
  }
  cache_.emplace(key, cost);
  return cost;
}

}  // namespace egret::cost
