// SPDX-License-Identifier: Apache-2.0
// Times of unmeasured operators, interpolated from measured ones of other shapes.
//
// The model: a time is the roofline's, with its start cost, times a factor that depends on the
// operator and, slowly, on its size. The logarithm of the factor is estimated from measured
// neighbours in the plane of log(arithmetic) and log(traffic) (ir/nest/work.h), by local regression
// (Cleveland 1979): a plane through the nearest neighbours, weighted by distance, with slopes held
// near 0. Outliers lose their weight in robust iterations. The prediction stays within the
// neighbours' range and a small margin.
//
// Neighbours have the same operator and attributes. Where there are too few, other attributes of
// the same operator count, at a larger distance; so do other constant inputs, element types and
// ranks. If most neighbours are free (fused into the kernels around them), the prediction is free.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cost/database.h"
#include "cost/model.h"

namespace egret::cost {

// A predicted time and its reliability.
struct Interpolated {
  double seconds = 0;
  int neighbours = 0;      // that it is based on
  double distance = 0;     // to the nearest, in natural logarithms of size: 0.7 is twice as large
  double spread = 1;       // the factor around the prediction that contains half of the neighbours
  bool same_attrs = true;  // all have the attributes of the query
};

class Interpolation {
 public:
  // The operators among `rows`, all of one machine; other rows are ignored. `rates` define the
  // roofline: better rates help, but any will do. O(rows).
  Interpolation(const std::vector<Database::Row>& rows, const Rates& rates);

  std::int64_t size() const { return size_; }
  // Nullopt where no neighbour is near enough, or the query has no work. With `leave_out`, the
  // query's own entry is ignored. O(entries of the operator).
  std::optional<Interpolated> predict(const Query& query, bool leave_out = false) const;

 private:
  // The coordinates of an application among those of the same operator.
  struct Place {
    std::string key;
    ir::Attrs attrs;
    std::string form{};           // element types, ranks and which inputs are constant
    std::vector<double> sizes{};  // logarithms of all dimensions
    double flops = 0;             // logarithms
    double bytes = 0;
    double roofline_s = 0;  // with the start cost
  };
  struct Sample {
    Place place;
    double seconds = 0;
  };
  struct Neighbour {
    const Sample* sample = nullptr;
    double distance = 0;
  };

  std::optional<Place> place_of(const Query& query) const;
  std::vector<Neighbour> neighbours_of(const std::vector<Sample>& samples, const Place& place,
                                       bool leave_out) const;

  Rates rates_;
  std::map<std::string, std::vector<Sample>> by_operator_;
  std::int64_t size_ = 0;
};

// The cost model "interpolated": measured times, else interpolated ones, else the roofline. It
// measures nothing: for planning without the machine.
class InterpolatedModel final : public Model {
 public:
  InterpolatedModel(const std::vector<Database::Row>& rows, const Rates& rates);

  std::string_view name() const override { return "interpolated"; }
  base::Result<Cost> cost(const Query& query) override;

 private:
  std::map<std::string, double, std::less<>> measured_;
  Interpolation interpolation_;
  std::unique_ptr<Model> roofline_;
  std::map<std::string, Cost, std::less<>> cache_;
};

}  // namespace egret::cost
