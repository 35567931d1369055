// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline_plan/piece_prices.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "parallel/pipeline/pass_division.h"
#include "parallel/placed/program_prices.h"
#include "parallel/plan/batch_slices.h"
#include "parallel/plan/planner.h"

namespace egret::parallel {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// Equal texts are equal programs, whatever their values are called.
std::string text_of(const StageGraph& piece) {
  std::string text;
  for (const ir::Node& node : piece.graph.nodes()) {
    text += ';' + to_string(node.type);
    switch (node.kind) {
      case ir::NodeKind::kInput: text += " in"; break;
      case ir::NodeKind::kConstant: text += node.data.content_hash().to_hex(); break;
      case ir::NodeKind::kOperator: text += std::string(node.op->name()) + to_string(node.attrs);
    }
    for (const ir::NodeId input : node.inputs) text += ' ' + std::to_string(input.index());
  }
  for (const auto& output : piece.graph.outputs())
    text += ">" + std::to_string(output.node.index());
  text += "|" + std::to_string(piece.forward) + "|" + std::to_string(piece.backward);
  return text;
}

// The pass that needs each node of a placed piece first: forward, gradients of inputs, gradients of
// weights.
std::vector<std::size_t> passes_of(const PlacedGraph& placed, const StageGraph& piece) {
  std::vector<std::vector<std::size_t>> inputs;
  for (const PlacedNode& node : placed.nodes) inputs.push_back(node.inputs);
  std::vector<std::vector<std::size_t>> outputs(3);
  for (std::size_t i = 0; i < piece.graph.outputs().size(); ++i) {
    const auto output = std::ranges::find(placed.outputs, piece.graph.outputs()[i].name,
                                          &PlacedGraph::Output::name);
    if (output == placed.outputs.end()) continue;
    outputs[i < piece.forward ? 0 : i < piece.backward ? 1 : 2].push_back(output->node);
  }
  const PassDivision division(std::move(inputs), std::vector<bool>(placed.nodes.size(), true),
                              outputs);
  std::vector<std::size_t> pass(placed.nodes.size(), kNone);
  for (std::size_t p = 0; p < outputs.size(); ++p) {
    for (const std::size_t node : division.computed(p)) pass[node] = p;
  }
  return pass;
}

bool is_parameter(const PlacedNode& node, const StageGraph& piece) {
  return node.kind == PlacedNode::Kind::kInput &&
         std::ranges::find(piece.parameters, node.name, &StageGraph::Parameter::input) !=
             piece.parameters.end();
}

double bytes_of(const PlacedNode& node) { return static_cast<double>(node.type.bytes()); }

// What the backward pass reads of the forward pass, parameters aside.
double kept_bytes(const PlacedGraph& placed, const StageGraph& piece, const ProgramPrices& prices,
                  const std::vector<std::size_t>& pass) {
  std::vector<bool> kept(placed.nodes.size(), false);
  for (std::size_t i = 0; i < placed.nodes.size(); ++i) {
    if (pass[i] == kNone || pass[i] == 0) continue;
    for (const std::size_t input : placed.nodes[i].inputs) kept[input] = pass[input] == 0;
  }
  double bytes = 0;
  for (std::size_t i = 0; i < placed.nodes.size(); ++i) {
    const PlacedNode& node = placed.nodes[i];
    if (kept[i] && !prices.constant()[i] && !is_parameter(node, piece)) bytes += bytes_of(node);
  }
  return bytes;
}

base::Result<PiecePrice> price_of(const PlacedGraph& placed, const StageGraph& piece,
                                  const Cluster& machine) {
  PiecePrice price;
  const ProgramPrices prices(placed, machine);
  const std::vector<std::size_t> pass = passes_of(placed, piece);
  std::array<double, 3> seconds{};
  for (std::size_t i = 0; i < placed.nodes.size(); ++i) {
    const PlacedNode& node = placed.nodes[i];
    if (is_parameter(node, piece)) price.parameter_bytes += bytes_of(node);
    if (pass[i] == kNone || prices.constant()[i]) continue;
    double once = 0;
    if (node.kind == PlacedNode::Kind::kOperator) {
      EGRET_ASSIGN_OR_RETURN(once, prices.fused_seconds(node));
    } else if (!node.inputs.empty()) {
      EGRET_ASSIGN_OR_RETURN(once, prices.seconds_alone(node));
    }
    seconds[pass[i]] += once;
  }
  price.pass_s = {seconds[0], seconds[1] + seconds[2], seconds[1], seconds[2]};
  price.kept_bytes = kept_bytes(placed, piece, prices, pass);
  const HeldBytes held = held_bytes(placed);
  if (!held.live.empty()) price.live_bytes = std::ranges::max(held.live);
  return price;
}

// Of the whole parameters.
base::Result<double> update_seconds(const StageGraph& piece, const ir::TrainingGraph& loss,
                                    const ir::TrainingOptions& training,
                                    const ProgramPrices& prices) {
  std::vector<std::size_t> parameters;
  for (const StageGraph::Parameter& one : piece.parameters) parameters.push_back(one.parameter);
  std::ranges::sort(parameters);
  EGRET_ASSIGN_OR_RETURN(const ir::Graph update, ir::update_graph(loss, parameters, training));
  return prices.seconds_of(update);
}

}  // namespace

double whole_parameter_bytes(const StageGraph& piece, const ir::TrainingGraph& loss) {
  double bytes = 0;
  for (const StageGraph::Parameter& one : piece.parameters)
    bytes += static_cast<double>(loss.initial[one.parameter].bytes());
  return bytes;
}

PiecePrices::PiecePrices(const ir::Graph& model, const ir::TrainingOptions& training,
                         const Cluster& machine, double piece_time)
    : model_(model), training_(training), machine_(machine), piece_time_(piece_time) {}

PiecePrices::~PiecePrices() = default;

base::Result<const SlicedLoss*> PiecePrices::sliced(std::int64_t parts) {
  const auto known = sliced_.find(parts);
  if (known != sliced_.end()) return known->second.get();
  std::unique_ptr<SlicedLoss>& found = sliced_[parts];
  const std::optional<BatchSlices> slices = batch_slices(model_, parts);
  if (!slices) return nullptr;
  EGRET_ASSIGN_OR_RETURN(ir::TrainingGraph loss, ir::loss_graph(slices->slice, training_));
  OperatorLine line(loss.graph);
  found = std::make_unique<SlicedLoss>(std::move(loss), std::move(line), parts);
  const std::vector<ir::Tensor>& initial = found->loss.initial;
  double parameters = 0, states = 0;
  for (std::size_t i = 0; i < initial.size(); ++i)
    (i < found->loss.parameters.size() ? parameters : states) +=
        static_cast<double>(initial[i].bytes());
  if (parameters > 0) state_share_ = states / parameters;
  return found.get();
}

base::Result<const PiecePrices::Piece*> PiecePrices::piece(const SlicedLoss& sliced,
                                                           std::size_t begin, std::size_t end) {
  Piece& piece = pieces_[{sliced.parts, begin, end}];
  if (piece.text.empty()) {
    EGRET_ASSIGN_OR_RETURN(piece.graph, stage_graph(sliced.loss, sliced.line, begin, end,
                                                    1 / static_cast<double>(sliced.parts)));
    piece.text = text_of(piece.graph);
  }
  return &piece;
}

base::Result<PiecePrice> PiecePrices::price(const SlicedLoss& sliced, std::size_t begin,
                                            std::size_t end, std::int64_t ranks) {
  EGRET_ASSIGN_OR_RETURN(const Piece* own, piece(sliced, begin, end));
  const StageGraph& piece = own->graph;
  std::pair<std::int64_t, std::string> key(ranks, own->text);
  const auto known = prices_.find(key);
  if (known != prices_.end()) return known->second;

  const int last = machine_.mesh.axis_count() - 1;
  EGRET_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::of({{machine_.mesh.axis(last).name, ranks}}));
  Cluster group = machine_.with_mesh(mesh);
  group.memory_bytes = 0;  // the search over stages knows what else a rank holds
  PlanTask task{piece.graph};
  for (const StageGraph::Parameter& one : piece.parameters)
    task.carried.push_back({one.input, one.gradient, LeafRole::kParameter});
  ParallelPlanOptions options;
  options.extract_time = piece_time_;
  options.limit_check = 0;
  options.layers = 0;
  options.baselines = false;
  if (ranks == 1) options.strategy = "single";
  EGRET_ASSIGN_OR_RETURN(const ParallelPlan plan, make_plan(task, group, options));
  EGRET_ASSIGN_OR_RETURN(PiecePrice price, price_of(plan.program, piece, group));
  const double whole = whole_parameter_bytes(piece, sliced.loss);
  if (whole > 0) {
    EGRET_ASSIGN_OR_RETURN(const double update,
                           update_seconds(piece, sliced.loss, training_, {plan.program, group}));
    price.update_s = update * price.parameter_bytes / whole;
  }
  return prices_.emplace(std::move(key), price).first->second;
}

}  // namespace egret::parallel
