// SPDX-License-Identifier: Apache-2.0
// A training step cut into the stages of a pipeline.
//
// The operators of the loss, in topological order, are cut into runs of about equal time. A stage
// receives every value that crosses its front boundary, also those that it only passes on. So
// values go from a stage to the next one only, and the gradients of several uses add up on the way
// back. Each stage is differentiated by itself: the gradients of its outgoing values are inputs.
//
// The joint graph of a stage's forward and backward pass is then divided (pass_division.h): each
// pass computes what no earlier pass has computed, and reads what earlier passes kept for it. Where
// ranks share a stage, the passes are programs over a mesh of these ranks (stage_division.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cost/model.h"
#include "ir/autodiff/training_graph.h"
#include "parallel/pipeline/pipeline_schedule.h"
#include "parallel/pipeline/stage_cut.h"
#include "parallel/placed/placed_graph.h"

namespace egret::parallel {

// Node numbers are those of the stage's joint graph; where ranks share the stage, of
// StageDivision::joint.
struct StagePass {
  ir::Graph graph;  // of one rank; without outputs where there is nothing to compute
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> outputs;
};

struct BoundaryValue {
  std::size_t value = 0;
  ir::TensorType type;
  std::optional<std::size_t> gradient;  // none where no parameter before the boundary needs it
};

struct StageParameter {
  std::size_t node = 0;
  std::size_t parameter = 0;  // position in StagedStep::loss.parameters
  std::size_t gradient = 0;
};

struct StageData {
  std::size_t node = 0;
  std::size_t input = 0;  // of the step: the model's inputs, then the labels
};

// A stage that ranks share: its joint graph over a mesh of them, as a planner has placed it.
struct StageDivision {
  PlacedGraph joint;
  std::array<PlacedGraph, 4> passes;  // by PassKind; inputs and outputs are those of the StagePass
};

struct Stage {
  ir::Graph joint;                      // forward and backward, without the update
  std::vector<BoundaryValue> incoming;  // in the order of `outgoing` of the stage before
  std::vector<BoundaryValue> outgoing;
  std::vector<StageData> data;
  std::vector<StageParameter> parameters;
  std::optional<std::size_t> loss;  // the last stage
  // Results that are constants, as the gradient of a value that is not used.
  std::map<std::size_t, ir::Tensor> constants;
  std::array<StagePass, 4> passes;        // by PassKind
  std::optional<StageDivision> division;  // none: one rank computes it

  // Of the ranks that share it; one without axes for a single rank.
  const Mesh& mesh() const;
  // Under which they hold a value.
  Placement placement(std::size_t node) const;
  // A rank's share of a value, of which the whole is given.
  ir::Tensor share(std::size_t node, const ir::Tensor& whole, std::int64_t place) const;
  const StagePass& pass(PassKind kind) const { return passes[static_cast<std::size_t>(kind)]; }
  // Bytes that leave with a forward pass, and with the gradients of its inputs.
  double outgoing_bytes() const;
  double gradient_bytes() const;
};

struct StagedStep {
  ir::TrainingGraph loss;  // of one micro-batch (ir::loss_graph())
  std::vector<Stage> stages;
};

struct StagingOptions {
  std::int64_t stages = 1;
  // Of each stage, in equal layers of the model; empty: stages of about equal time.
  std::vector<std::int64_t> stage_layers = {};
  // Of each stage, in operators of the loss in topological order; empty: as above.
  std::vector<std::int64_t> stage_operators = {};
  double loss_scale = 1;  // gradients are those of the loss times this
  cost::Rates rates;      // that balance the stages
  double link_bytes_per_second = 5e9;
};

// `model` computes one micro-batch. The heaviest stage, with what it receives, is as light as any
// cut in topological order allows, by roofline times; stage_layers cuts between layers instead.
// O(stages x operators^2). Errors: those of ir::loss_graph(); usage, for more stages than
// operators, and for layers that the model does not have.
base::Result<StagedStep> staged_step(const ir::Graph& model, const ir::TrainingOptions& training,
                                     const StagingOptions& options);

// Where a planner may cut LOSS into stages: between its equal layers, or else into pieces of about
// equal time; at most so many pieces. The first and last position are those of LINE. Errors: those
// of prices.
base::Result<std::vector<std::size_t>> piece_cuts(const ir::TrainingGraph& loss,
                                                  const OperatorLine& line,
                                                  std::int64_t most_pieces,
                                                  const cost::Rates& rates,
                                                  double link_bytes_per_second);

// The forward and backward pass of a stage as one graph, for planners. Its outputs are the outgoing
// values, or the loss in the last stage; the gradients of incoming values; those of parameters.
struct StageGraph {
  struct Parameter {
    std::string input, gradient;  // names
    std::size_t parameter = 0;    // position in the parameters of the loss
  };
  ir::Graph graph;
  std::size_t forward = 0;   // outputs of the forward pass
  std::size_t backward = 0;  // outputs before the gradients of parameters
  std::vector<Parameter> parameters;
};

// Of the operators from BEGIN to END of LINE, which is that of LOSS. Errors: as staged_step().
base::Result<StageGraph> stage_graph(const ir::TrainingGraph& loss, const OperatorLine& line,
                                     std::size_t begin, std::size_t end, double loss_scale);

}  // namespace egret::parallel
