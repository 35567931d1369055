// SPDX-License-Identifier: Apache-2.0
// The cost of operators. Extractors minimize the sum of a Model's costs over the chosen nodes.
//
// Data movement is free only where the backend makes it a view. A value that depends on weights
// only is computed once before the first run, so it costs no time (its bytes count).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph/operator.h"
#include "ir/nest/work.h"

namespace egret::cost {

// One operator application. `constant[i]` tells that input i depends on weights alone, so that a
// backend may prepack it.
struct Query {
  const ir::Operator* op = nullptr;
  const ir::Attrs* attrs = nullptr;
  std::span<const ir::TensorType> inputs;
  std::span<const bool> constant;
  const ir::TensorType* output = nullptr;

  bool all_constant() const;
};

// The basis of a cost.
enum class CostKind : std::uint8_t {
  kMeasured,      // this operator, on the given machine
  kInterpolated,  // same operator, other shapes, same machine (cost/interpolation.h)
  kEstimated,     // rates alone
};

// The price of an operator that its engine refuses, crashes on, or does not finish: above all
// others, and below infinity, so that a program that contains it still has a price.
inline constexpr double kRefusedSeconds = 1e4;

struct Cost {
  double seconds = 0;
  double bytes_moved = 0;
  CostKind kind = CostKind::kEstimated;

  bool measured() const { return kind == CostKind::kMeasured; }
  bool refused() const { return seconds >= kRefusedSeconds; }
};

class Model {
 public:
  virtual ~Model() = default;

  virtual std::string_view name() const = 0;
  // Types are concrete. Costs are finite and not negative.
  virtual base::Result<Cost> cost(const Query& query) = 0;
  // The expected cost, for predictions: cost() may be optimistic, so that an operator gets tried.
  virtual base::Result<Cost> expected(const Query& query) { return cost(query); }
};

// A view is a shape operator that changes no byte: reshape and identity.
bool is_view(const ir::Operator& op);

// The canonical text of a query: operator, attributes, input types, which inputs are constant.
// Equal texts cost the same on one machine; it is the key of the profile database.
std::string key_of(const Query& query);

// The rates behind the estimates; per machine and thread count.
struct Rates {
  double flops_per_second = 1e11;
  double bytes_per_second = 1e10;
  double seconds_per_kernel = 2e-6;  // lower bound of a kernel's start
};

// The faster of both, rate by rate.
Rates fastest_of(const Rates& a, const Rates& b);

// The least time that this work can take at these rates: the larger of arithmetic and traffic time
// (Williams, Waterman, Patterson 2009).
double roofline_seconds(const ir::Work& work, const Rates& rates);

// Estimates, by name: "nodes" counts operators, "flops" counts arithmetic, "roofline" takes
// roofline_seconds() plus a start cost.
struct ModelRow {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<Model> (*make)(const Rates&);
  bool uses_rates;  // otherwise it ignores the rates
};
std::span<const ModelRow> estimating_models();
std::unique_ptr<Model> make_model(std::string_view name, const Rates& rates);  // nullptr: none such

}  // namespace egret::cost
