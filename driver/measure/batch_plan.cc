// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/batch_plan.h"

#include <optional>
#include <utility>
#include <vector>

#include "backends/memory_planner.h"
#include "backends/timing/measure.h"
#include "parallel/plan/batch_slices.h"

namespace egret::driver {
namespace {

// What a measurement as short as this one may be wrong by.
constexpr double kNoise = 0.03;

// Whether weights, which slices read again and again and a second plan holds a second time, take no
// more memory than the values of operators when these take the most.
bool is_worth_trying(const ir::Graph& graph) {
  std::int64_t weights = 0;
  std::vector<backends::Lifetime> values(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    if (!ir::element_count(node.type.shape())) return false;  // no memory holds it
    const auto step = static_cast<int>(i);
    const std::int64_t bytes = node.type.bytes();
    if (node.kind == ir::NodeKind::kConstant) weights += bytes;
    values[i] = {node.kind == ir::NodeKind::kOperator ? bytes : 0, step, step};
    for (const ir::NodeId input : node.inputs) values[input.index()].last = step;
  }
  return weights <= backends::plan_arena(values).bytes;
}

backends::MeasureOptions short_measurement() {
  return {
      .warm_up_runs = 1, .min_runs = 5, .min_seconds = 0.05, .max_seconds = 1, .rotate_bytes = 0};
}

bool fits(const backends::ExecutablePlan& plan, const backends::CompileOptions& options) {
  return options.limit_arena == 0 || plan.report().arena_bytes <= options.limit_arena;
}

}  // namespace

// Compiles the graph as a whole and, where the batch can be sliced, sample by sample; the faster
// plan stays. Values of one sample may fit into caches where those of a batch do not.
base::Result<std::unique_ptr<backends::ExecutablePlan>> compile_batch(
    const backends::Backend& backend, ir::Graph graph, const backends::CompileOptions& options) {
  std::optional<parallel::BatchSlices> slices;
  if (options.slice && backend.runs_slices() && options.division.empty())
    slices = parallel::batch_slices(graph);
  if (slices && !is_worth_trying(graph)) slices.reset();  // and what it shares of the weights
  if (!slices) return backend.compile_consuming(std::move(graph), options);

  EGRET_ASSIGN_OR_RETURN(auto whole, backend.compile_consuming(std::move(graph), options));
  backends::CompileOptions sliced_options = options;
  sliced_options.slices = slices->count;
  EGRET_ASSIGN_OR_RETURN(auto sliced,
                         backend.compile_consuming(std::move(slices->slice), sliced_options));
  if (fits(*whole, options) != fits(*sliced, options))
    return fits(*whole, options) ? std::move(whole) : std::move(sliced);
  backends::ExecutablePlan* const plans[] = {whole.get(), sliced.get()};
  // Random inputs need not be what the model takes: indices may be out of range.
  const auto timings = backends::measure_interleaved(plans, short_measurement());
  const bool faster =
      timings.ok() && (*timings)[1].median_s < (1 - kNoise) * (*timings)[0].median_s;
  return faster ? std::move(sliced) : std::move(whole);
}

}  // namespace egret::driver
