// SPDX-License-Identifier: Apache-2.0
#include "parallel/placed/placed_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/formats/units.h"
#include "base/stop.h"
#include "ir/evaluate/interpreter.h"
#include "parallel/laws/laws.h"

namespace egret::parallel {
namespace {

using Kind = PlacedNode::Kind;

// Reordered sums and rules that round constants change less than this; a wrong plan changes more.
constexpr double kRelativeError = 1e-6;
// Relative to the largest element of all outputs: a gradient of 0 may be a sum that cancels.
constexpr double kNoise = 1e-9;

// Derives the part's attributes from the laws again and compares them. A plan that no law supports
// is refused, whatever wrote it.
base::Status check_operator(const PlacedGraph& graph, const PlacedNode& node) {
  std::vector<ir::TensorType> wholes;
  std::vector<ir::TensorType> parts;
  std::vector<Placement> placements;
  for (const std::size_t input : node.inputs) {
    wholes.push_back(graph.nodes[input].whole);
    parts.push_back(graph.nodes[input].type);
    placements.push_back(graph.nodes[input].placement);
  }
  EGRET_ASSIGN_OR_RETURN(const ir::TensorType whole, ir::infer_type(*node.op, node.attrs, wholes));
  if (whole != node.whole) return base::bad_input("its type must be " + ir::to_string(whole));
  EGRET_ASSIGN_OR_RETURN(const ir::Attrs attrs, part_attrs(*node.op, node.attrs, wholes, placements,
                                                           node.placement, graph.mesh));
  if (!(attrs == node.part_attrs)) return base::bad_input("the attributes of its parts differ");
  EGRET_ASSIGN_OR_RETURN(const ir::TensorType type, ir::infer_type(*node.op, attrs, parts));
  return type == node.type ? base::ok() : base::bad_input("the type of its parts differs");
}

base::Status check_collective(const PlacedGraph& graph, const PlacedNode& node) {
  const PlacedNode& input = graph.nodes[node.inputs.front()];
  const Collective& collective = node.collective;
  const bool cut_last = !collective.from.is_split() || input.placement.is_last_cut(collective.axis);
  if (name_of(collective).empty() || input.whole != node.whole || !cut_last ||
      input.placement.along(collective.axis) != collective.from ||
      input.placement.with(collective.axis, collective.to) != node.placement) {
    return base::mismatch("no collective changes " + to_string(input.placement, graph.mesh) +
                          " to " + to_string(node.placement, graph.mesh));
  }
  return base::ok();
}

base::Status check_ring(const PlacedGraph& graph, const PlacedNode& node) {
  EGRET_ASSIGN_OR_RETURN(const RingProgram program, ring_program(graph, node));
  return program.whole == node.whole && program.placement == node.placement
             ? base::ok()
             : base::mismatch("its ring computes " + ir::to_string(program.whole) + " under " +
                              to_string(program.placement, graph.mesh));
}

double largest_element(const ir::Tensor& tensor) {
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = std::abs(tensor.f64_at(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

// Infinite where only one is NaN, or where infinities differ.
double largest_difference(const ir::Tensor& expected, const ir::Tensor& found) {
  double error = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double a = expected.f64_at(i);
    const double b = found.f64_at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double difference = std::abs(a - b);
    error = std::isfinite(difference) ? std::max(error, difference) : HUGE_VAL;
  }
  return error;
}

}  // namespace

base::Result<RingProgram> ring_program(const PlacedGraph& graph, const PlacedNode& node) {
  std::vector<HeldValue> held;
  for (const std::size_t input : node.inputs)
    held.push_back({graph.nodes[input].whole, graph.nodes[input].placement});
  return ring_program(node.ring, held, graph.mesh);
}

RingProgram known_ring_program(const PlacedGraph& graph, const PlacedNode& node) {
  if (node.planned_ring != nullptr) return *node.planned_ring;
  base::Result<RingProgram> program = ring_program(graph, node);
  EGRET_CHECK(program.ok(), "a graph that was not checked");
  return *std::move(program);
}

// Checks each node by itself against the laws, so that a program that was read from a file is as
// safe as one that was planned.
//
// Errors: bad_input for a malformed program; mismatch for an exchange that does not fit what is
// held, a partial result as an output, and a value that is carried to another placement;
// unsupported for an operator without a law; limit on a stop request.
base::Status check(const PlacedGraph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const PlacedNode& node = graph.nodes[i];
    if (base::stop_requested()) return base::limit_hit("interrupted; the program is not checked");
    const std::string place = "node " + std::to_string(i);
    for (const std::size_t input : node.inputs) {
      if (input >= i) return base::bad_input("its inputs must come before it").at(place);
    }
    const auto type = local_type(node.whole, node.placement, graph.mesh);
    if (!type.ok()) return type.status().at(place);
    if (*type != node.type)
      return base::bad_input("the type differs from the one under its placement").at(place);
    const bool leaf = node.kind == Kind::kInput || node.kind == Kind::kConstant;
    if (leaf && node.placement.has_partial())
      return base::bad_input("an input or weight cannot be a partial result").at(place);
    if (node.kind == Kind::kRing) EGRET_RETURN_IF_ERROR(check_ring(graph, node).at(place));
    if (leaf != node.inputs.empty() && node.kind != Kind::kOperator)
      return base::bad_input("wrong number of inputs").at(place);
    if (node.kind == Kind::kOperator) EGRET_RETURN_IF_ERROR(check_operator(graph, node).at(place));
    if (node.kind == Kind::kCollective)
      EGRET_RETURN_IF_ERROR(check_collective(graph, node).at(place));
  }
  for (const auto& output : graph.outputs) {
    if (output.node >= graph.nodes.size())
      return base::bad_input("its node does not exist").at("output " + output.name);
    const Placement& placement = graph.nodes[output.node].placement;
    if (placement.has_partial()) {
      return base::mismatch("it is left as partial results, " + to_string(placement, graph.mesh))
          .at("output " + output.name);
    }
  }
  for (const auto& [node, output] : graph.carried) {
    if (node >= graph.nodes.size() || output >= graph.outputs.size())
      return base::bad_input("a carried value does not exist");
    const PlacedNode& from = graph.nodes[graph.outputs[output].node];
    const PlacedNode& to = graph.nodes[node];
    if (to.kind != Kind::kInput || from.whole != to.whole || from.placement != to.placement) {
      return base::mismatch("it leaves a step as " + to_string(from.placement, graph.mesh) +
                            " and enters the next step as " + to_string(to.placement, graph.mesh))
          .at("carried output " + graph.outputs[output].name);
    }
  }
  return base::ok();
}

namespace {

using ShouldStop = std::function<bool()>;

// `held` are the inputs' parts, by input and rank.
// Runs a ring for each rank in turn, by the same program and driver that the ranks use.
base::Result<std::vector<ir::Tensor>> interpret_ring(
    const PlacedGraph& graph, const PlacedNode& node,
    std::span<const std::vector<ir::Tensor>* const> held, const ShouldStop& should_stop) {
  EGRET_ASSIGN_OR_RETURN(const RingProgram program, ring_program(graph, node));
  const auto run = [&](bool finish, std::span<const ir::Tensor> inputs) {
    return ir::interpret(finish ? program.finish : program.step, inputs,
                         {.should_stop = should_stop});
  };
  std::vector<ir::Tensor> results;
  for (std::int64_t rank = 0; rank < graph.mesh.ranks(); ++rank) {
    std::vector<ir::Tensor> own;
    for (const auto* input : held) own.push_back((*input)[static_cast<std::size_t>(rank)]);
    const std::vector<std::int64_t> group = graph.mesh.group(rank, program.axis);
    const std::int64_t here = graph.mesh.coordinate(rank, program.axis);
    std::int64_t passed = 0;
    // No rank waits for another one: the blocks of all ranks are known, so a pass looks up what the
    // sender's own block was.
    const auto pass = [&](std::vector<ir::Tensor>& blocks) {
      ++passed;
      const std::int64_t from = (here + program.steps - passed) % program.steps;
      const auto sender = static_cast<std::size_t>(group[static_cast<std::size_t>(from)]);
      std::size_t next = 0;
      for (std::size_t i = 0; i < held.size(); ++i) {
        if (program.inputs[i].passes) blocks[next++] = (*held[i])[sender];
      }
      return base::ok();
    };
    EGRET_ASSIGN_OR_RETURN(ir::Tensor result, run_ring(program, here, own, pass, run));
    results.push_back(std::move(result));
  }
  return results;
}

// The lowest rank before RANK that computes from the same memory: its result is this one's too.
std::optional<std::size_t> rank_with_equal_inputs(
    std::span<const std::vector<ir::Tensor>* const> held, std::size_t rank) {
  for (std::size_t other = 0; other < rank; ++other) {
    const bool equal = std::ranges::all_of(held, [&](const std::vector<ir::Tensor>* one) {
      return (*one)[other].data().data() == (*one)[rank].data().data() &&
             (*one)[other].type() == (*one)[rank].type();
    });
    if (equal) return other;
  }
  return std::nullopt;
}

}  // namespace

// Runs all ranks in one process, node by node; a value's parts are freed after their last reader.
// Ranks with the same operands share one result.
base::Result<std::vector<ir::Tensor>> interpret(const PlacedGraph& graph,
                                                std::span<const ir::Tensor> inputs,
                                                const ShouldStop& should_stop) {
  EGRET_RETURN_IF_ERROR(check(graph));
  const auto ranks = static_cast<std::size_t>(graph.mesh.ranks());
  std::vector<std::vector<ir::Tensor>> held(graph.nodes.size());  // by node, by rank
  std::vector<std::size_t> last_use(graph.nodes.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::size_t input : graph.nodes[i].inputs) last_use[input] = i;
  }
  for (const auto& output : graph.outputs) last_use[output.node] = graph.nodes.size();
  std::size_t next_input = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (should_stop()) return base::limit_hit("stopped");
    const PlacedNode& node = graph.nodes[i];
    std::vector<const std::vector<ir::Tensor>*> operands;
    for (const std::size_t input : node.inputs) operands.push_back(&held[input]);
    switch (node.kind) {
      case Kind::kInput:
      case Kind::kConstant: {
        if (node.kind == Kind::kInput && next_input == inputs.size())
          return base::bad_input("the program needs more inputs");
        const ir::Tensor& whole = node.kind == Kind::kInput ? inputs[next_input++] : node.data;
        if (whole.type() != node.whole) {
          return base::bad_input("input '" + node.name + "' is " + ir::to_string(whole.type()) +
                                 ", not " + ir::to_string(node.whole));
        }
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          if (should_stop()) return base::limit_hit("stopped");
          held[i].push_back(
              block_of(whole, node.placement, graph.mesh, static_cast<std::int64_t>(rank)));
        }
        break;
      }
      case Kind::kOperator:
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          if (const auto other = rank_with_equal_inputs(operands, rank)) {
            held[i].push_back(held[i][*other]);
            continue;
          }
          std::vector<ir::Tensor> own;
          for (const auto* operand : operands) own.push_back((*operand)[rank]);
          EGRET_ASSIGN_OR_RETURN(ir::Tensor result, ir::evaluate(*node.op, node.part_attrs, own,
                                                                 {.should_stop = should_stop}));
          held[i].push_back(std::move(result));
        }
        break;
      case Kind::kRing: {
        EGRET_ASSIGN_OR_RETURN(held[i], interpret_ring(graph, node, operands, should_stop));
        break;
      }
      case Kind::kCollective: {
        EGRET_ASSIGN_OR_RETURN(held[i],
                               apply(node.collective, graph.mesh, held[node.inputs.front()]));
        break;
      }
    }
    for (const std::size_t input : node.inputs) {
      if (last_use[input] == i) held[input].clear();
    }
  }
  std::vector<ir::Tensor> outputs;
  for (const auto& output : graph.outputs) {
    const PlacedNode& node = graph.nodes[output.node];
    EGRET_ASSIGN_OR_RETURN(ir::Tensor whole,
                           whole_of(held[output.node], node.whole, node.placement, graph.mesh));
    outputs.push_back(std::move(whole));
  }
  return outputs;
}

// The numerical check of a plan: its interpretation against that of the sequential graph. Errors
// are relative to the largest element of an output, because single elements may cancel.
base::Status check_against(const PlacedGraph& placed, const ir::Graph& sequential,
                           std::span<const ir::Tensor> inputs, const ShouldStop& should_stop) {
  std::map<std::string, ir::Tensor> by_name;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    by_name[sequential.node(sequential.inputs()[i]).name] = inputs[i];
  std::vector<ir::Tensor> own;
  for (const PlacedNode& node : placed.nodes) {
    if (node.kind == Kind::kInput) own.push_back(by_name[node.name]);
  }
  EGRET_ASSIGN_OR_RETURN(const auto expected,
                         ir::interpret(sequential, inputs, {.should_stop = should_stop}));
  EGRET_ASSIGN_OR_RETURN(const auto found, interpret(placed, own, should_stop));
  if (found.size() != expected.size())
    return base::mismatch("the outputs of the plan differ from the model's");
  double all = 0;
  const auto interrupted = [] { return base::limit_hit("stopped while outputs were compared"); };
  for (const ir::Tensor& tensor : expected) {
    if (should_stop()) return interrupted();
    all = std::max(all, largest_element(tensor));
  }
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (should_stop()) return interrupted();
    const std::string& name = sequential.outputs()[k].name;
    if (found[k].shape() != expected[k].shape())
      return base::mismatch("output '" + name + "' has a different shape");
    const double largest = largest_element(expected[k]);
    const double error = largest_difference(expected[k], found[k]);
    if (error > kRelativeError * std::max({largest, kNoise * all, 1e-300})) {
      return base::mismatch("output '" + name +
                            "' of the plan differs from the sequential graph's by " +
                            base::format_real(error) + " of " + base::format_real(largest));
    }
  }
  return base::ok();
}

// One pass suffices, because inputs come before their readers.
std::vector<bool> follow_from_constants(const PlacedGraph& graph) {
  std::vector<bool> constant(graph.nodes.size(), false);
  for (std::size_t i = 0; i < constant.size(); ++i) {
    const PlacedNode& node = graph.nodes[i];
    constant[i] =
        node.kind != Kind::kInput &&
        std::ranges::all_of(node.inputs, [&](std::size_t input) { return constant[input]; });
  }
  return constant;
}

namespace {

// Nodes that a rank holds all the time: inputs, and values that depend on weights only, as far as
// others read them. Such values that only other such values read are never held.
struct Held {
  std::vector<bool> always;
  std::vector<bool> never;
};

Held held_of(const PlacedGraph& graph) {
  const std::size_t count = graph.nodes.size();
  const std::vector<bool> constant = follow_from_constants(graph);
  std::vector<bool> read(count, false);  // by what is computed in each run, or from outside
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t input : graph.nodes[i].inputs) read[input] = read[input] || !constant[i];
  }
  for (const auto& output : graph.outputs) read[output.node] = true;
  Held held{std::vector<bool>(count), std::vector<bool>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    held.always[i] = graph.nodes[i].kind == Kind::kInput || (constant[i] && read[i]);
    held.never[i] = constant[i] && !read[i];
  }
  return held;
}

}  // namespace

// The most bytes of one rank over the order of execution. A carried output replaces its input in
// place, so it counts once. Values that are held all the time are counted apart from those that are
// live for a while. The result is the sum of both, so it assumes that every constant exists at the
// peak.
double peak_bytes(const PlacedGraph& graph) {
  const HeldBytes held = held_bytes(graph);
  double peak = 0;
  for (const double live : held.live) peak = std::max(peak, live);
  return held.fixed + peak;
}

HeldBytes held_bytes(const PlacedGraph& graph) {
  const Held held = held_of(graph);
  std::vector<std::size_t> last_use(graph.nodes.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::size_t input : graph.nodes[i].inputs) last_use[input] = i;
  }
  for (const auto& output : graph.outputs) last_use[output.node] = graph.nodes.size();
  std::vector<double> own(graph.nodes.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] = held.never[i] ? 0 : static_cast<double>(graph.nodes[i].type.bytes());
  for (const auto& [node, output] : graph.carried) {
    const std::size_t next = graph.outputs[output].node;
    if (!graph.nodes[next].inputs.empty()) own[next] = 0;
  }
  HeldBytes bytes;
  double live = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (held.always[i]) {
      bytes.fixed += own[i];
      continue;
    }
    live += own[i];
    double scratch = 0;
    if (graph.nodes[i].kind == Kind::kRing) {
      const RingProgram program = known_ring_program(graph, graph.nodes[i]);
      scratch = program.scratch_bytes();
    }
    bytes.live.push_back(live + scratch);
    // A set, because a node that reads a value twice frees it once.
    const std::set<std::size_t> read(graph.nodes[i].inputs.begin(), graph.nodes[i].inputs.end());
    for (const std::size_t input : read) {
      if (last_use[input] == i && !held.always[input]) live -= own[input];
    }
  }
  return bytes;
}

}  // namespace egret::parallel
