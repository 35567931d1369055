// SPDX-License-Identifier: Apache-2.0
#include "driver/calibration.h"

#include "backends/measure.h"
#include "ir/builder.h"

namespace egret::driver {
namespace {

// A graph of one operator, and its work.
struct Probe {
  ir::Graph graph;
  ir::Work work;
};

// An operator on inputs of one type, the last `weights` of them constants.
base::Result<Probe> probe(std::string_view op, std::size_t inputs, std::size_t weights,
                          const ir::TensorType& type) {
  ir::GraphBuilder b;
  base::Random random(1);
  std::vector<ir::Value> values;
  for (std::size_t i = 0; i < inputs; ++i) {
    values.push_back(i + weights < inputs ? b.input("x" + std::to_string(i), type)
                                          : b.constant(ir::Tensor::random(type, random)));
  }
  b.output("y", b.add(op, values));
  EGRET_ASSIGN_OR_RETURN(ir::Graph graph, b.finish());
  EGRET_ASSIGN_OR_RETURN(const ir::Work work,
                         ir::work_of(graph, graph.node(graph.outputs().front().node)));
  return Probe{std::move(graph), work};
}

base::Result<double> best_seconds(const backends::Backend& backend, const ir::Graph& graph,
                                  const backends::PlanOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const auto plan, backend.compile(graph, options));
  EGRET_ASSIGN_OR_RETURN(const backends::Timing timing,
                         backends::measure(*plan, {.min_runs = 10, .min_seconds = 0.2}));
  return timing.p10_s;
}

}  // namespace

base::Result<cost::Rates> measured_rates(const backends::Backend& backend, int threads,
                                         backends::Precision precision) {
  const backends::PlanOptions options{.threads = threads, .precision = precision};
  constexpr std::int64_t kSide = 1024;
  constexpr std::int64_t kLong = std::int64_t{8} << 20;
  const auto f32 = [](ir::Shape shape) { return ir::TensorType(ir::DType::kF32, shape); };
  EGRET_ASSIGN_OR_RETURN(const Probe product, probe("matmul", 2, 1, f32({kSide, kSide})));
  EGRET_ASSIGN_OR_RETURN(const double product_s, best_seconds(backend, product.graph, options));
  EGRET_ASSIGN_OR_RETURN(const Probe sum, probe("add", 2, 0, f32({kLong})));
  EGRET_ASSIGN_OR_RETURN(const double sum_s, best_seconds(backend, sum.graph, options));
  EGRET_ASSIGN_OR_RETURN(const Probe small, probe("relu", 1, 0, f32({16})));
  EGRET_ASSIGN_OR_RETURN(const double small_s, best_seconds(backend, small.graph, options));
  return cost::Rates{.flops_per_second = product.work.flops / product_s,
                     .bytes_per_second = (sum.work.bytes_read + sum.work.bytes_written) / sum_s,
                     .seconds_per_kernel = small_s};
}

}  // namespace egret::driver
