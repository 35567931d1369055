// SPDX-License-Identifier: Apache-2.0
#include "cost/model.h"

#include <algorithm>
#include <array>

namespace egret::cost {
namespace {

bool is_free(const Query& query) { return is_view(*query.op) || query.all_constant(); }

base::Result<ir::Work> work_of(const Query& query) {
  return ir::work_of(*query.op, *query.attrs, query.inputs);
}

class NodeCount final : public Model {
 public:
  std::string_view name() const override { return "nodes"; }
  base::Result<Cost> cost(const Query& query) override {
    return Cost{.seconds = is_free(query) ? 0.0 : 1.0};
  }
};

class Flops final : public Model {
 public:
  explicit Flops(const Rates& rates) : rates_(rates) {}
  std::string_view name() const override { return "flops"; }
  base::Result<Cost> cost(const Query& query) override {
    if (is_free(query)) return Cost{};
    EGRET_ASSIGN_OR_RETURN(const ir::Work work, work_of(query));
    return Cost{.seconds = work.flops / rates_.flops_per_second};
  }

 private:
  Rates rates_;
};

class Roofline final : public Model {
 public:
  explicit Roofline(const Rates& rates) : rates_(rates) {}
  std::string_view name() const override { return "roofline"; }
  base::Result<Cost> cost(const Query& query) override {
    if (is_free(query)) return Cost{};
    EGRET_ASSIGN_OR_RETURN(const ir::Work work, work_of(query));
    return Cost{.seconds = rates_.seconds_per_kernel + roofline_seconds(work, rates_),
                .bytes_moved = work.bytes_read + work.bytes_written};
  }

 private:
  Rates rates_;
};

template <typename M>
std::unique_ptr<Model> make(const Rates& rates) {
  if constexpr (std::is_constructible_v<M, const Rates&>) {
    return std::make_unique<M>(rates);
  } else {
    return std::make_unique<M>();
  }
}

constexpr std::array<ModelRow, 3> kModels = {{
    {"nodes", "number of operators", &make<NodeCount>, false},
    {"flops", "arithmetic operations at the machine's peak rate", &make<Flops>, true},
    {"roofline", "the larger of arithmetic and memory time, plus a start cost", &make<Roofline>,
     true},
}};

}  // namespace

bool Query::all_constant() const {
  return !constant.empty() && std::ranges::all_of(constant, [](bool c) { return c; });
}

// Operators that copy nothing: their result is the operand's memory under another shape.
bool is_view(const ir::Operator& op) { return op.name() == "reshape" || op.name() == "identity"; }

std::string key_of(const Query& query) {
  std::string key = query.op->name() + ir::to_string(*query.attrs) + "(";
  for (std::size_t i = 0; i < query.inputs.size(); ++i) {
    if (i > 0) key += ", ";
    key += ir::to_string(query.inputs[i]);
    if (i < query.constant.size() && query.constant[i]) key += " const";
  }
  return key + ")";
}

Rates fastest_of(const Rates& a, const Rates& b) {
  return {.flops_per_second = std::max(a.flops_per_second, b.flops_per_second),
          .bytes_per_second = std::max(a.bytes_per_second, b.bytes_per_second),
          .seconds_per_kernel = std::min(a.seconds_per_kernel, b.seconds_per_kernel)};
}

// The roofline model (Williams, Waterman, Patterson, CACM 2009): arithmetic and traffic overlap, so
// the slower of the two decides.
double roofline_seconds(const ir::Work& work, const Rates& rates) {
  return std::max(work.flops / rates.flops_per_second,
                  (work.bytes_read + work.bytes_written) / rates.bytes_per_second);
}

std::span<const ModelRow> estimating_models() { return kModels; }

std::unique_ptr<Model> make_model(std::string_view name, const Rates& rates) {
  const auto row = std::ranges::find(kModels, name, &ModelRow::name);
  return row != kModels.end() ? row->make(rates) : nullptr;
}

}  // namespace egret::cost
