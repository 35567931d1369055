// SPDX-License-Identifier: Apache-2.0
// Times of operators that were not measured, from measured ones of other shapes.
//
// The law: a time is that of the roofline with its start cost, times a factor that depends on the
// operator and, slowly, on its size. The logarithm of that factor is read off the measured
// neighbours in the plane of the logarithms of arithmetic and traffic (ir/nest/work.h), by local
// regression (Cleveland 1979): a plane through the nearest, the nearer the more weight, slopes held
// near 0, and those that lie far off it are given less weight and then none. What is predicted
// stays within what the neighbours span, and a little more.
//
// Neighbours are of the same operator and attributes; where there are too few, of the same operator
// with other attributes, which count as farther away. So do other constant inputs, element types
// and ranks. An operator that most neighbours say is free (the kernels around it absorb it) is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cost/database.h"
#include "cost/model.h"

namespace egret::cost {

// A predicted time, and how sure it is.
struct Interpolated {
  double seconds = 0;
  int neighbours = 0;   // that it rests on
  double distance = 0;  // to the nearest, in natural logarithms of size: 0.7 is twice as large
  double spread = 1;    // the factor within which half of the neighbours lie about the prediction
  bool same_attrs = true;  // all have the attributes of the query
};

class Interpolation {
 public:
  // The operators among `rows`, which are those of one machine; other rows are passed over. `rates`
  // draw the roofline: better ones help, but any will do. O(rows).
  Interpolation(const std::vector<Database::Row>& rows, const Rates& rates);

  std::int64_t size() const { return size_; }
  // Nothing where no neighbour is near enough to tell, or the query has no work. An entry of the
  // query itself is passed over if `leave_out` says so. O(entries of the operator).
  std::optional<Interpolated> predict(const Query& query, bool leave_out = false) const;

 private:
  // Where an operator lies among its like.
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

// The cost model "interpolated": measured times where there are some, interpolated ones where there
// are neighbours, the roofline elsewhere. It measures nothing: for planning without the machine.
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
