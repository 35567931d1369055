// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/calibration.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "backends/timing/measure.h"
#include "driver/measure/machine_fingerprint.h"
#include "ir/graph/builder.h"

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

// Of the kernels that compute operators, as plans time each of them.
double seconds_of_kernels(const backends::ExecutablePlan& plan) {
  double seconds = 0;
  for (const auto& kernel : plan.report().kernels)
    seconds += kernel.nodes.empty() ? 0 : kernel.seconds;
  return seconds;
}

// Of several measurements the quickest counts: a neighbour on the machine slows some tens of
// milliseconds down, never speeds them up. On a device the kernel counts, among others, without the
// launch.
base::Result<double> best_seconds(const backends::Backend& backend, const ir::Graph& graph,
                                  backends::CompileOptions options) {
  constexpr int kMeasurements = 3;
  const bool on_device = backend.peak_rates(options.precision).has_value();
  options.profile = on_device;
  EGRET_ASSIGN_OR_RETURN(const auto plan, backend.compile(graph, options));
  if (on_device) {
    EGRET_RETURN_IF_ERROR(
        backends::measure(*plan, {.min_runs = 1, .min_seconds = 0, .on_device = true}).status());
    return seconds_of_kernels(*plan);
  }
  double best = 0;
  for (int k = 0; k < kMeasurements; ++k) {
    EGRET_ASSIGN_OR_RETURN(
        const backends::Timing timing,
        backends::measure(*plan, {.min_runs = 5, .min_seconds = 0.08, .max_seconds = 1}));
    best = k == 0 ? timing.p10_s : std::min(best, timing.p10_s);
  }
  return best;
}

// About how long a run takes: enough to say whether a larger one is bearable.
base::Result<double> rough_seconds(const backends::Backend& backend, const ir::Graph& graph,
                                   const backends::CompileOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const auto plan, backend.compile(graph, options));
  EGRET_ASSIGN_OR_RETURN(
      const backends::Timing timing,
      backends::measure(
          *plan, {.min_runs = 3, .min_seconds = 0.005, .max_seconds = 1, .on_device = true}));
  return timing.p10_s;
}

// The rate at the largest of these sizes, ascending, at which a run takes less than kLongest. From
// one to the next is a factor of at most eight: a short run on a busy machine says little of one
// that is a hundred times as long (a team waits some milliseconds for the processor of one thread).
template <typename MakeProbe, typename Amount>
base::Result<double> best_rate(const backends::Backend& backend,
                               const backends::CompileOptions& options,
                               std::span<const std::int64_t> sizes, MakeProbe make, Amount amount) {
  constexpr double kLongest = 0.3;
  std::optional<Probe> largest;
  double rough_rate = 0;
  for (const std::int64_t size : sizes) {
    EGRET_ASSIGN_OR_RETURN(Probe probe, make(size));
    if (largest && amount(probe.work) / rough_rate > kLongest) break;
    EGRET_ASSIGN_OR_RETURN(const double seconds, rough_seconds(backend, probe.graph, options));
    rough_rate = amount(probe.work) / seconds;
    largest = std::move(probe);
  }
  EGRET_ASSIGN_OR_RETURN(const double seconds, best_seconds(backend, largest->graph, options));
  return amount(largest->work) / seconds;
}

ir::TensorType f32(const ir::Shape& shape) { return {ir::DType::kF32, shape}; }

}  // namespace

// The roofline of the machine from three kernels: a matrix product for arithmetic, a sum of vectors
// for traffic, and a tiny operator for the cost of a start.
base::Result<cost::Rates> measured_rates(const Execution& execution) {
  const backends::Backend& backend = *backends::find_backend(execution.backend);
  const backends::CompileOptions options{.threads = execution.threads,
                                         .precision = execution.precision};
  // A device takes more to be busy.
  const bool is_large = backend.peak_rates(execution.precision).has_value();
  const auto sizes = [is_large](std::initializer_list<std::int64_t> of_all,
                                std::initializer_list<std::int64_t> of_large) {
    std::vector<std::int64_t> all(of_all);
    if (is_large) all.insert(all.end(), of_large);
    return all;
  };
  const auto product = [](std::int64_t side) { return probe("matmul", 2, 1, f32({side, side})); };
  const auto sum = [](std::int64_t length) { return probe("add", 2, 0, f32({length})); };
  EGRET_ASSIGN_OR_RETURN(const double flops,
                         best_rate(backend, options, sizes({64, 128, 256, 512, 1024}, {2048, 4096}),
                                   product, [](const ir::Work& work) { return work.flops; }));
  EGRET_ASSIGN_OR_RETURN(
      const double bytes,
      best_rate(backend, options, sizes({1 << 16, 1 << 19, 1 << 22, 1 << 23}, {1 << 25}), sum,
                [](const ir::Work& work) { return work.bytes_read + work.bytes_written; }));
  EGRET_ASSIGN_OR_RETURN(const Probe small, probe("relu", 1, 0, f32({16})));
  EGRET_ASSIGN_OR_RETURN(const double small_s, best_seconds(backend, small.graph, options));
  return cost::Rates{
      .flops_per_second = flops, .bytes_per_second = bytes, .seconds_per_kernel = small_s};
}

base::Result<KnownRates> known_rates(const cost::Database& database, const std::string& machine,
                                     const Execution& execution) {
  const cost::Rates assumed = assumed_rates(execution);
  EGRET_ASSIGN_OR_RETURN(const std::optional<cost::Rates> stored, database.find_rates(machine));
  if (!stored) return KnownRates{.rates = assumed, .measured = false, .fastest = assumed};
  return KnownRates{
      .rates = *stored, .measured = true, .fastest = cost::fastest_of(assumed, *stored)};
}

base::Result<KnownRates> known_rates_at(const std::string& path, const std::string& machine,
                                        const Execution& execution) {
  const std::string file = path.empty() ? cost::default_database_path() : path;
  std::error_code ignored;  // what cannot be examined holds no rates for us
  if (!std::filesystem::is_regular_file(file, ignored)) {
    const cost::Rates assumed = assumed_rates(execution);
    return KnownRates{.rates = assumed, .measured = false, .fastest = assumed};
  }
  EGRET_ASSIGN_OR_RETURN(const auto database, cost::Database::open_to_read(file));
  return known_rates(*database, machine, execution);
}

base::Result<KnownRates> rates_once_measured(cost::Database& database, const Execution& execution) {
  const std::string machine = machine_fingerprint(execution);
  EGRET_ASSIGN_OR_RETURN(const KnownRates known, known_rates(database, machine, execution));
  if (known.measured) return known;
  EGRET_ASSIGN_OR_RETURN(const cost::Rates rates, measured_rates(execution));
  EGRET_RETURN_IF_ERROR(database.store_rates(machine, rates));
  return known_rates(database, machine, execution);
}

}  // namespace egret::driver
