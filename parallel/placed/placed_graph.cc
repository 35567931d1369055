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
#include "parallel/placed/placed_check.h"

namespace egret::parallel {
namespace {

using Kind = PlacedNode::Kind;

// Reordered sums and rules that round constants change less than this; a wrong plan changes more.
constexpr double kRelativeError = 1e-6;
// Relative to the largest element of all outputs: a gradient of 0 may be a sum that cancels.
constexpr double kNoise = 1e-9;

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

base::Status check(const PlacedGraph& graph) {
  LawCache laws;
  return check(graph, laws);
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
      case Kind::kBack: held[i] = held[node.inputs.front()]; break;
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

std::vector<bool> copied_out(const PlacedGraph& graph) {
  std::vector<bool> copied(graph.nodes.size(), false);
  for (const PlacedNode& node : graph.nodes) {
    if (node.kind == Kind::kBack) copied[node.inputs.front()] = true;
  }
  return copied;
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
  const std::vector<bool> out = copied_out(graph);
  std::vector<std::size_t> last_use(graph.nodes.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (out[i]) last_use[i] = i;
    if (graph.nodes[i].kind == Kind::kBack) continue;  // it reads the copy
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
    std::set<std::size_t> read(graph.nodes[i].inputs.begin(), graph.nodes[i].inputs.end());
    if (graph.nodes[i].kind == Kind::kBack) read.clear();
    if (out[i]) read.insert(i);
    for (const std::size_t input : read) {
      if (last_use[input] == i && !held.always[input]) live -= own[input];
    }
  }
  return bytes;
}

}  // namespace egret::parallel
