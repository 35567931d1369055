// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/stage_cut.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <string>

#include "parallel/plan/equal_layers.h"

namespace egret::parallel {
namespace {

// A backward pass has about two products for each of the forward pass.
constexpr double kPassesOfOperator = 3;
constexpr double kPassesOfMessage = 2;

base::Result<std::vector<double>> operator_seconds(const ir::Graph& graph, const OperatorLine& line,
                                                   const cost::Rates& rates) {
  const std::unique_ptr<cost::Model> model = cost::make_model("roofline", rates);
  std::vector<double> seconds;
  for (const ir::NodeId id : line.operators) {
    const ir::Node& node = graph.node(id);
    std::vector<ir::TensorType> types;
    const auto constant = std::make_unique<bool[]>(node.inputs.size());
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      types.push_back(graph.node(node.inputs[i]).type);
      constant[i] = graph.node(node.inputs[i]).kind == ir::NodeKind::kConstant;
    }
    EGRET_ASSIGN_OR_RETURN(const cost::Cost cost,
                           model->cost({.op = node.op,
                                        .attrs = &node.attrs,
                                        .inputs = types,
                                        .constant = {constant.get(), types.size()},
                                        .output = &node.type}));
    seconds.push_back(cost.seconds * kPassesOfOperator);
  }
  return seconds;
}

}  // namespace

OperatorLine::OperatorLine(const ir::Graph& graph) {
  std::vector<std::size_t> position(graph.size(), 0);
  for (const ir::NodeId id : ir::live_nodes(graph)) {
    const ir::Node& node = graph.node(id);
    if (node.kind != ir::NodeKind::kOperator) continue;
    position[id.index()] = operators.size();
    last_use.push_back(operators.size());
    for (const ir::NodeId input : node.inputs) {
      if (graph.node(input).kind == ir::NodeKind::kOperator)
        last_use[position[input.index()]] = operators.size();
    }
    operators.push_back(id);
  }
}

std::vector<ir::NodeId> OperatorLine::crossing(std::size_t position) const {
  std::vector<ir::NodeId> result;
  for (std::size_t i = 0; i < position; ++i) {
    if (last_use[i] >= position) result.push_back(operators[i]);
  }
  return result;
}

base::Result<std::vector<std::size_t>> balanced_cuts(const ir::Graph& graph,
                                                     const OperatorLine& line, std::int64_t stages,
                                                     const cost::Rates& rates,
                                                     double link_bytes_per_second) {
  const std::size_t count = line.operators.size();
  if (stages < 1 || static_cast<std::size_t>(stages) > count) {
    return base::usage_error("a loss of " + std::to_string(count) + " operators has no " +
                             std::to_string(stages) + " pipeline stages");
  }
  EGRET_ASSIGN_OR_RETURN(const std::vector<double> seconds, operator_seconds(graph, line, rates));
  std::vector<double> before(count + 1, 0);    // sums of seconds
  std::vector<double> received(count + 1, 0);  // seconds, by position of a cut
  for (std::size_t i = 0; i < count; ++i) {
    before[i + 1] = before[i] + seconds[i];
    const double send_s = kPassesOfMessage *
                          static_cast<double>(graph.node(line.operators[i]).type.bytes()) /
                          link_bytes_per_second;
    for (std::size_t cut = i + 1; cut <= line.last_use[i]; ++cut) received[cut] += send_s;
  }
  // best[s][j]: the heaviest of s + 1 stages of the first j operators.
  const auto rows = static_cast<std::size_t>(stages);
  std::vector<std::vector<double>> best(rows, std::vector<double>(count + 1, HUGE_VAL));
  std::vector<std::vector<std::size_t>> from(rows, std::vector<std::size_t>(count + 1, 0));
  for (std::size_t j = 1; j <= count; ++j) best[0][j] = before[j];
  for (std::size_t s = 1; s < rows; ++s) {
    for (std::size_t j = s + 1; j <= count; ++j) {
      for (std::size_t i = s; i < j; ++i) {
        const double heaviest = std::max(best[s - 1][i], before[j] - before[i] + received[i]);
        if (heaviest >= best[s][j]) continue;
        best[s][j] = heaviest;
        from[s][j] = i;
      }
    }
  }
  std::vector<std::size_t> cuts(rows + 1, count);
  for (std::size_t s = rows - 1; s > 0; --s) cuts[s] = from[s][cuts[s + 1]];
  cuts[0] = 0;
  return cuts;
}

base::Result<std::vector<std::size_t>> layer_cuts(const ir::Graph& graph, const OperatorLine& line,
                                                  std::span<const std::int64_t> layers_of_stages) {
  const std::optional<EqualLayers> equal = equal_layers(graph);
  if (!equal) {
    return base::usage_error(
        "--stage-layers counts equal layers, but no three of them were found in the model, one "
        "after "
        "the other");
  }
  const auto found = static_cast<std::int64_t>(equal->nodes.size());
  if (std::accumulate(layers_of_stages.begin(), layers_of_stages.end(), std::int64_t{0}) != found) {
    return base::usage_error("--stage-layers must sum to the model's " + std::to_string(found) +
                             " equal layers");
  }
  // All operators of a layer come before its last one, and all that read them after it.
  std::vector<std::size_t> cuts{0};
  std::size_t layers = 0;
  for (const std::int64_t own : layers_of_stages.first(layers_of_stages.size() - 1)) {
    layers += static_cast<std::size_t>(own);
    const auto last = std::ranges::lower_bound(line.operators, equal->seams[layers]);
    cuts.push_back(static_cast<std::size_t>(last - line.operators.begin()) + 1);
  }
  cuts.push_back(line.operators.size());
  return cuts;
}

std::optional<std::vector<std::size_t>> seam_cuts(const ir::Graph& graph, const OperatorLine& line,
                                                  std::size_t most_pieces) {
  const std::optional<EqualLayers> equal = equal_layers(graph);
  if (!equal) return std::nullopt;
  // Two pieces are left for what comes before the layers and what follows.
  const std::size_t own = std::max<std::size_t>(most_pieces, 4) - 2;
  const std::size_t layers = equal->seams.size() - 1;
  const std::size_t step = (layers + own - 1) / own;
  std::set<std::size_t> cuts{0, line.operators.size()};
  for (std::size_t i = 0; i < equal->seams.size(); ++i) {
    if (i % step != 0 && i != layers) continue;
    // All operators of a layer come before its last one, and all that read them after it.
    if (graph.node(equal->seams[i]).kind != ir::NodeKind::kOperator) continue;
    const auto last = std::ranges::lower_bound(line.operators, equal->seams[i]);
    cuts.insert(static_cast<std::size_t>(last - line.operators.begin()) + 1);
  }
  return std::vector<std::size_t>(cuts.begin(), cuts.end());
}

base::Result<std::vector<std::size_t>> operator_cuts(
    const OperatorLine& line, std::span<const std::int64_t> operators_of_stages) {
  std::vector<std::size_t> cuts{0};
  for (const std::int64_t own : operators_of_stages)
    cuts.push_back(cuts.back() + static_cast<std::size_t>(own));
  if (cuts.back() != line.operators.size() ||
      std::ranges::any_of(operators_of_stages, [](std::int64_t own) { return own < 1; })) {
    return base::usage_error("--stage-operators must be positive and sum to the loss's " +
                             std::to_string(line.operators.size()) + " operators");
  }
  return cuts;
}

}  // namespace egret::parallel
