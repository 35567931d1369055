// SPDX-License-Identifier: Apache-2.0
#include "driver/prices/engine_costs.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "backends/timing/measure.h"
#include "base/stop.h"
#include "base/timer.h"
#include "driver/measure/race.h"
#include "driver/prices/graph_queries.h"
#include "ir/core/draw.h"
#include "ir/evaluate/input_draws.h"
#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

using backends::ExecutablePlan;
using backends::PlanReport;

constexpr double kMostBytesTogether = 512e6;
constexpr double kMostBytes = 4e9;

double bytes_of(const cost::Query& query) {
  auto bytes = static_cast<double>(query.output->bytes());
  for (const ir::TensorType& type : query.inputs) bytes += static_cast<double>(type.bytes());
  return bytes;
}

// Integers may be indices, which engines refuse beyond an axis: these ranges are tried in turn.
constexpr std::int64_t kHighestIntegers[] = {1, 0, 10};

// The operators side by side, each with inputs of its own.
base::Result<ir::Graph> graph_of(std::span<const cost::Query> queries,
                                 std::int64_t highest_integer) {
  ir::GraphBuilder builder;
  base::Random random(1);
  const ir::Draw integers{.low = 0, .high = static_cast<double>(highest_integer)};
  std::map<std::string, ir::Draw> draws;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const cost::Query& query = queries[i];
    std::vector<ir::Value> inputs;
    for (std::size_t k = 0; k < query.inputs.size(); ++k) {
      const ir::TensorType& type = query.inputs[k];
      const bool is_integer = ir::is_integer(type.dtype);
      if (query.constant[k]) {
        const ir::Draw draw = is_integer ? integers : ir::usual_draw(type.dtype);
        inputs.push_back(builder.constant(ir::drawn(type, draw, random)));
        continue;
      }
      const std::string name = "x" + std::to_string(i) + "_" + std::to_string(k);
      inputs.push_back(builder.input(name, type));
      if (is_integer) draws[name] = integers;
    }
    builder.output("y" + std::to_string(i), builder.add(*query.op, inputs, *query.attrs));
  }
  EGRET_ASSIGN_OR_RETURN(ir::Graph graph, builder.finish());
  ir::add_draws(graph, draws);
  return graph;
}

// By the engine's clock, with inputs in the caches as far as they fit.
base::Result<backends::Timing> timing_of(ExecutablePlan& plan) {
  return backends::measure(plan, {.min_runs = 6,
                                  .min_seconds = 0.1,
                                  .max_seconds = 3,
                                  .rotate_bytes = 0,
                                  .on_device = true,
                                  .should_stop = base::stop_requested});
}

// The first of `time(highest integer)` that the engine runs, or the last.
template <typename Time>
auto with_some_integers(const Time& time) {
  auto timed = time(kHighestIntegers[0]);
  for (std::size_t i = 1; !timed.ok() && i < std::size(kHighestIntegers); ++i)
    timed = time(kHighestIntegers[i]);
  return timed;
}

// By node of the graph: the time of the kernels that compute it; of several operators in one
// kernel, the one with the highest `price` gets all of it. Absent: nothing is known of the node.
std::map<ir::NodeId, double> shared_out(const PlanReport& report,
                                        const std::map<ir::NodeId, double>& price) {
  std::map<ir::NodeId, double> times;
  for (const PlanReport::Kernel& kernel : report.kernels) {
    std::vector<ir::NodeId> priced;
    std::ranges::copy_if(kernel.ids, std::back_inserter(priced),
                         [&](ir::NodeId id) { return price.contains(id); });
    if (priced.empty()) continue;
    for (const ir::NodeId id : priced) times.try_emplace(id, 0);
    const auto dearest =
        std::ranges::max_element(priced, {}, [&](ir::NodeId id) { return price.at(id); });
    times[*dearest] += kernel.seconds;
  }
  return times;
}

bool tells_kernels(const PlanReport& report) {
  return std::ranges::any_of(report.kernels,
                             [](const PlanReport::Kernel& kernel) { return !kernel.ids.empty(); });
}

}  // namespace

void EngineCosts::make_ready(std::span<const cost::Query> queries) {
  if (!times_kernels_) return;
  std::vector<cost::Query> some;
  double bytes = 0;
  for (const cost::Query& query : queries) {
    if (bytes + bytes_of(query) > kMostBytesTogether) {
      time_together(some);
      some.clear();
      bytes = 0;
    }
    if (bytes_of(query) > kMostBytesTogether) continue;
    bytes += bytes_of(query);
    some.push_back(query);
  }
  time_together(some);
}

// A file that the engine refuses, or that ends it, is divided until the operators to blame are
// alone.
void EngineCosts::time_together(std::span<const cost::Query> queries) {
  if (queries.empty() || base::stop_requested()) return;
  const auto time = [&](std::int64_t highest) { return time_in_one_file(queries, highest); };
  auto times = queries.size() > 1 ? time(kHighestIntegers[0]) : with_some_integers(time);
  if (!times.ok() && queries.size() > 1) {
    time_together(queries.first(queries.size() / 2));
    time_together(queries.subspan(queries.size() / 2));
    return;
  }
  if (base::stop_requested()) return;
  if (times.ok()) {
    known_.merge(*times);
  } else {
    known_[cost::key_of(queries[0])] = {.seconds = cost::kRefusedSeconds, .runs = 1};
  }
}

base::Result<EngineCosts::Times> EngineCosts::time_in_one_file(std::span<const cost::Query> queries,
                                                               std::int64_t highest_integer) {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, graph_of(queries, highest_integer));
  EGRET_ASSIGN_OR_RETURN(const auto plan, compile_(graph, true));
  EGRET_ASSIGN_OR_RETURN(const backends::Timing timing, timing_of(*plan));
  const PlanReport report = plan->report();
  if (!tells_kernels(report)) {
    times_kernels_ = false;
    return Times();
  }
  std::map<ir::NodeId, double> price;
  for (std::size_t i = 0; i < queries.size(); ++i) price[graph.outputs()[i].node] = 1;
  const std::map<ir::NodeId, double> by_node = shared_out(report, price);
  Times times;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const auto found = by_node.find(graph.outputs()[i].node);
    // An engine has no kernel for what it removes.
    const double seconds = found != by_node.end() ? found->second : 0;
    times[cost::key_of(queries[i])] = {.seconds = seconds, .runs = timing.runs};
  }
  return times;
}

base::Result<EngineCosts::Timed> EngineCosts::time_whole_run(const cost::Query& query,
                                                             std::int64_t highest_integer) {
  EGRET_ASSIGN_OR_RETURN(const double nothing, time_of_nothing());
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, graph_of({&query, 1}, highest_integer));
  EGRET_ASSIGN_OR_RETURN(const auto plan, compile_(graph, false));
  EGRET_ASSIGN_OR_RETURN(const backends::Timing timing, timing_of(*plan));
  return Timed{.seconds = std::max(0.0, timing.median_s - nothing), .runs = timing.runs};
}

base::Result<double> EngineCosts::time_of_nothing() {
  if (nothing_) return *nothing_;
  ir::GraphBuilder builder;
  builder.output("y", builder.add("relu", {builder.input("x", {ir::DType::kF32, {1}})}));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, builder.finish());
  EGRET_ASSIGN_OR_RETURN(const auto plan, compile_(graph, false));
  EGRET_ASSIGN_OR_RETURN(const backends::Timing timing, timing_of(*plan));
  nothing_ = timing.median_s;
  return *nothing_;
}

base::Result<cost::Entry> EngineCosts::measure(const cost::Query& query) {
  if (bytes_of(query) > kMostBytes)
    return base::limit_hit("timing " + query.op->name() + " would take more than 4 GB");
  const std::string key = cost::key_of(query);
  if (!known_.contains(key) && times_kernels_) time_together({&query, 1});
  if (!known_.contains(key) && !times_kernels_) {
    const auto timed =
        with_some_integers([&](std::int64_t highest) { return time_whole_run(query, highest); });
    if (!base::stop_requested())
      known_[key] = timed.ok() ? *timed : Timed{.seconds = cost::kRefusedSeconds, .runs = 1};
  }
  if (base::stop_requested() || !known_.contains(key)) return base::limit_hit("interrupted");
  const Timed& timed = known_[key];
  return cost::Entry{.runs = std::max<std::int64_t>(timed.runs, 1), .median_s = timed.seconds};
}

base::Result<bool> EngineCosts::learn_from(const ir::Graph& graph, cost::ProfiledModel& model,
                                           cost::Database& database, const std::string& machine) {
  const auto is_known = [&](ir::NodeId id) { return graph.node(id).type.is_concrete(); };
  if (!times_kernels_ || !std::ranges::all_of(graph.inputs(), is_known)) return false;
  const std::string note = "operators timed in a graph by " + machine + ": " + identity_of(graph);
  EGRET_ASSIGN_OR_RETURN(const auto known, database.find_note(note));
  if (known) return false;
  EGRET_ASSIGN_OR_RETURN(const auto plan, compile_(graph, true));
  EGRET_ASSIGN_OR_RETURN(const backends::Timing timing, timing_of(*plan));
  const PlanReport report = plan->report();
  if (!tells_kernels(report)) return false;

  const GraphQueries queries(graph);
  std::map<ir::NodeId, double> price;
  for (std::size_t i = 0; i < queries.all().size(); ++i) {
    EGRET_ASSIGN_OR_RETURN(price[queries.node(i)], model.alone(queries.all()[i]));
  }
  const std::map<ir::NodeId, double> times = shared_out(report, price);
  struct Sum {
    std::size_t query = 0;
    double seconds = 0;
    int count = 0;
  };
  std::map<std::string, Sum> sums;  // by key
  for (std::size_t i = 0; i < queries.all().size(); ++i) {
    const auto time = times.find(queries.node(i));
    if (time == times.end()) continue;
    Sum& sum = sums[cost::key_of(queries.all()[i])];
    sum.query = i;
    sum.seconds += time->second;
    ++sum.count;
  }
  for (const auto& [key, sum] : sums) {
    const cost::Entry entry{.runs = timing.runs, .median_s = sum.seconds / sum.count};
    EGRET_RETURN_IF_ERROR(model.learn_in_graph(queries.all()[sum.query], entry));
  }
  EGRET_RETURN_IF_ERROR(database.store_note(note, "yes"));
  return true;
}

}  // namespace egret::driver
