// SPDX-License-Identifier: Apache-2.0
#include "parallel/ring/ring.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/stop.h"
#include "ir/graph/builder.h"
#include "parallel/laws/laws.h"
#include "parallel/ring/ring_factors.h"

namespace egret::parallel {
namespace {

using base::Result;
using base::Status;
using ir::Tensor;
using ir::TensorType;
using ir::Value;
using Kind = AxisPlacement::Kind;

// The initial value of a running maximum that is used as a reference: finite, so that differences
// to it are defined.
double least_reference(ir::DType dtype) {
  constexpr double kHalf = 65504;
  constexpr double kSingle = 3e38;
  return dtype == ir::DType::kF16 ? -kHalf : -kSingle;
}

// Writes the two graphs of a ring: `step`, run once per block, and `finish`, run once after the
// last. A node that a step reduces partially has a state, which each step merges with its own
// result.
class RingWriter {
 public:
  RingWriter(const Ring& ring, std::span<const HeldValue> inputs, const Mesh& mesh)
      : ring_(ring), inputs_(inputs), mesh_(mesh), nodes_(ring.nodes.size()) {}

  // States are inputs of the step, so they are added before the nodes that read them.
  Result<RingProgram> write() {
    program_.axis = ring_.axis;
    program_.steps = mesh_.size(ring_.axis);
    program_.inputs = ring_.inputs;
    EGRET_RETURN_IF_ERROR(add_inputs());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Status status = find_type(i);
      if (!status.ok()) return status.at("step of the ring " + std::to_string(i));
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (ring_.nodes[i].step.is_partial()) add_state(i);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Status status = add_node(i);
      if (!status.ok()) return status.at("step of the ring " + std::to_string(i));
    }
    EGRET_RETURN_IF_ERROR(finish());
    return std::move(program_);
  }

 private:
  struct Node {
    TensorType whole{}, type{};  // type: of what a step makes
    ir::Attrs attrs{};           // of the operator in a step
    std::vector<TensorType> types{};
    std::map<std::size_t, Factor> factors{};  // by the node that is not yet known
    Value value{};                            // in a step
    Value before{}, now{};                    // the state
    std::size_t state = 0;
    std::optional<std::size_t> undivided{};  // the input that it is until all is divided
  };

  const RingNode& own(std::size_t i) const { return ring_.nodes[i]; }
  static std::size_t input_of(int reference) { return static_cast<std::size_t>(-1 - reference); }

  Status add_inputs() {
    if (ring_.nodes.empty() || program_.steps < 2 || ring_.inputs.size() != inputs_.size())
      return base::bad_input("a ring needs two devices or more and the inputs of its program");
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto& [passes, step] = ring_.inputs[i];
      const Placement& placement = inputs_[i].placement;
      const bool fits = passes ? step.is_split() && !step.has_halo() &&
                                     placement.along(ring_.axis) == step &&
                                     placement.is_last_cut(ring_.axis)
                               : (step.is_split() && !step.has_halo()) || step.is_copy();
      EGRET_ASSIGN_OR_RETURN(TensorType block, local_type(inputs_[i].whole, placement, mesh_));
      if (!fits || (!passes && !divide(block, step)))
        return base::bad_input("an input of a ring cannot be passed this way");
      program_.blocks.push_back(block);
      blocks_.push_back(step_.input("in" + std::to_string(i), block));
    }
    return base::ok();
  }

  bool divide(TensorType& type, AxisPlacement step) const {
    const auto part = part_type(type, step, program_.steps);
    if (part) type = *part;
    return part.has_value();
  }

  // The whole, placement and time placement of an operand.
  struct Operand {
    TensorType whole;
    Placement placement;
    AxisPlacement step;
  };
  Operand operand(int reference) const {
    if (reference >= 0) {
      const auto at = static_cast<std::size_t>(reference);
      const AxisPlacement step = own(at).step;
      return {nodes_[at].whole, own(at).placement,
              step.is_partial() ? AxisPlacement::copy() : step};
    }
    const HeldValue& held = inputs_[input_of(reference)];
    const RingInput& input = ring_.inputs[input_of(reference)];
    const Placement placement =
        input.passes ? held.placement.with(ring_.axis, AxisPlacement::copy()) : held.placement;
    return {held.whole, placement, input.step};
  }

  // Types a node by its laws along the mesh's axes, then by a law along time. The node must be a
  // valid part of the program (the laws along the mesh's axes), and its part must split into steps
  // (the law along time). A partial operand counts as a copy in time: a reader sees it whole, as
  // far as it is known.
  Status find_type(std::size_t i) {
    const RingNode& node = own(i);
    std::vector<TensorType> wholes, parts;
    std::vector<Placement> placements;
    std::vector<AxisPlacement> steps;
    for (const int reference : node.inputs) {
      const bool exists =
          reference < 0 ? input_of(reference) < inputs_.size() : reference < static_cast<int>(i);
      if (!exists) return base::bad_input("its inputs must come before it");
      const Operand read = operand(reference);
      wholes.push_back(read.whole);
      placements.push_back(read.placement);
      steps.push_back(read.step);
      EGRET_ASSIGN_OR_RETURN(const TensorType part, local_type(read.whole, read.placement, mesh_));
      parts.push_back(part);
    }
    EGRET_ASSIGN_OR_RETURN(nodes_[i].whole, ir::infer_type(*node.op, node.attrs, wholes));
    EGRET_RETURN_IF_ERROR(local_type(nodes_[i].whole, node.placement, mesh_).status());
    EGRET_ASSIGN_OR_RETURN(const ir::Attrs attrs, part_attrs(*node.op, node.attrs, wholes,
                                                             placements, node.placement, mesh_));
    for (Law& law : laws_of(*node.op, attrs, parts, program_.steps)) {
      if (law.output != node.step || law.inputs != steps || node.step.is_copy()) continue;
      for (std::size_t k = 0; k < parts.size(); ++k) divide(parts[k], steps[k]);
      EGRET_ASSIGN_OR_RETURN(nodes_[i].type, ir::infer_type(*node.op, law.attrs, parts));
      nodes_[i].attrs = std::move(law.attrs);
      nodes_[i].types = std::move(parts);
      return base::ok();
    }
    if (base::stop_requested()) return base::limit_hit("stopped while laws were derived");
    return base::unsupported(node.op->name() + " has no law along time to " + to_string(node.step));
  }

  bool is_last(std::size_t i) const { return i + 1 == nodes_.size(); }

  // A state begins with the neutral element of its reduction. A maximum that other nodes use as a
  // reference begins with a finite number: the difference of two minus infinities is no number.
  void add_state(std::size_t i) {
    Node& node = nodes_[i];
    double first = 0;
    if (own(i).step.kind == Kind::kMax) {
      first =
          is_last(i) ? -std::numeric_limits<double>::infinity() : least_reference(node.type.dtype);
    }
    node.state = program_.states.size();
    program_.states.push_back({node.type, first});
    node.before = step_.input("state" + std::to_string(node.state), node.type);
  }

  Status add_node(std::size_t i) {
    Node& node = nodes_[i];
    EGRET_RETURN_IF_ERROR(find_factors(i));
    std::vector<Value> inputs;
    for (std::size_t k = 0; k < own(i).inputs.size(); ++k) inputs.push_back(value_for(i, k));
    node.value =
        node.undivided ? inputs[*node.undivided] : step_.add(*own(i).op, inputs, node.attrs);
    if (own(i).step.is_partial()) EGRET_RETURN_IF_ERROR(merge(i));
    return step_.status();
  }

  // The value that the reader sees. A divisor that is not complete yet is replaced by ones: the
  // division happens in finish().
  Value value_for(std::size_t reader, std::size_t k) {
    const int reference = own(reader).inputs[k];
    if (reference < 0) return blocks_[input_of(reference)];
    const Node& node = nodes_[static_cast<std::size_t>(reference)];
    if (!node.before.valid()) return node.value;
    const auto factor = nodes_[reader].factors.find(static_cast<std::size_t>(reference));
    const bool divides =
        factor != nodes_[reader].factors.end() && factor->second.kind == Factor::Kind::kDivided;
    return divides ? step_.constant(Tensor::filled(node.type, 1)) : node.now;
  }

  // Propagates the dependence on each incomplete value. `read` collects, for each incomplete value,
  // the factor with which each input of the node depends on it. Nodes are visited in order, so the
  // factors of inputs are known.
  Status find_factors(std::size_t i) {
    std::map<std::size_t, std::vector<Factor>> read;
    const std::size_t count = own(i).inputs.size();
    for (std::size_t k = 0; k < count; ++k) {
      const int reference = own(i).inputs[k];
      if (reference < 0) continue;
      const auto at = static_cast<std::size_t>(reference);
      if (own(at).step.is_partial()) {
        read.try_emplace(at, count).first->second[k] = {Factor::Kind::kItself, 1};
        continue;
      }
      for (const auto& [unknown, factor] : nodes_[at].factors)
        read.try_emplace(unknown, count).first->second[k] = factor;
    }
    for (const auto& [unknown, factors] : read)
      EGRET_RETURN_IF_ERROR(find_factor(i, unknown, factors));
    return base::ok();
  }

  // Decides how a node depends on a value that is complete only after the last step. Allowed are a
  // scaling by exp of a running maximum, corrected when the maximum changes, and a division by a
  // running sum, done in finish(). The kinds must fit: only a maximum can be a reference, and only
  // a sum can be a divisor.
  Status find_factor(std::size_t i, std::size_t unknown, std::span<const Factor> factors) {
    const Status failed = base::bad_input(own(i).op->name() +
                                          " needs a value that is known only after the last step");
    if (own(i).op->is_composite()) return failed;
    EGRET_ASSIGN_OR_RETURN(const ir::Denotation denotation,
                           ir::denote(*own(i).op, nodes_[i].attrs, nodes_[i].types));
    const auto found = factor_of(denotation, nodes_[i].types, factors, nodes_[unknown].type);
    if (!found) return failed;
    if (found->is_free()) return base::ok();
    const Kind kind = own(unknown).step.kind;
    const bool divides = found->kind == Factor::Kind::kDivided;
    const bool here = std::ranges::count(factors, Factor::Kind::kItself, &Factor::kind) > 0;
    // A division by the value itself is postponed: this node passes on its numerator.
    if (divides && here && !own(i).step.is_partial())
      nodes_[i].undivided = numerator_of(denotation);
    if (kind != (divides ? Kind::kSum : Kind::kMax)) return failed;
    if (is_exponential(denotation)) exponential_[unknown] = i;
    // A merged sum may be scaled by an incomplete value. No other dependence may remain when a
    // value is complete.
    const bool merges = own(i).step.kind == Kind::kSum &&
                        (found->kind == Factor::Kind::kScaled || (divides && is_last(i)));
    if (!merges && (own(i).step.is_partial() || is_last(i))) return failed;
    nodes_[i].factors.emplace(unknown, *found);
    return base::ok();
  }

  // Merges the previous state, rescaled to the new reference, with the step's value (online
  // softmax: Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018).
  Status merge(std::size_t i) {
    Node& node = nodes_[i];
    Value before = node.before;
    for (const auto& [unknown, factor] : node.factors) {
      if (factor.kind == Factor::Kind::kScaled)
        before = step_.add("mul", {before, correction(unknown, factor.sign)});
    }
    node.now = step_.add(own(i).step.kind == Kind::kSum ? "add" : "max", {before, node.value});
    return step_.status();
  }

  // The factor exp(now - before) of the reference, or exp(before - now). The operator is the
  // exponential through which the reference enters, with its own attributes.
  Value correction(std::size_t unknown, int sign) {
    const Node& reference = nodes_[unknown];
    const Value change = sign > 0 ? step_.add("sub", {reference.now, reference.before})
                                  : step_.add("sub", {reference.before, reference.now});
    const std::size_t exponential = exponential_.at(unknown);
    return step_.add(*own(exponential).op, std::span(&change, 1), nodes_[exponential].attrs);
  }

  // The outputs of a step: the next states in order, and the block of the result if it is split in
  // time.
  Status finish() {
    const std::size_t last = nodes_.size() - 1;
    program_.result = own(last).step;
    program_.placement = own(last).placement;
    program_.whole = nodes_[last].whole;
    EGRET_ASSIGN_OR_RETURN(program_.type, local_type(program_.whole, program_.placement, mesh_));
    for (std::size_t i = 0; i <= last; ++i) {
      if (own(i).step.is_partial())
        step_.output("next" + std::to_string(nodes_[i].state), nodes_[i].now);
    }
    if (program_.result.is_split()) {
      step_.output("block", nodes_[last].value);
    } else {
      EGRET_RETURN_IF_ERROR(write_finish(last));
    }
    EGRET_ASSIGN_OR_RETURN(program_.step, step_.finish());
    return base::ok();
  }

  // Divides by reductions that are complete only after the last step, such as the sum of a softmax.
  Status write_finish(std::size_t last) {
    ir::GraphBuilder graph;
    std::vector<Value> states;
    for (const RingProgram::State& state : program_.states)
      states.push_back(graph.input("state" + std::to_string(states.size()), state.type));
    Value result = states[nodes_[last].state];
    for (const auto& [unknown, factor] : nodes_[last].factors) {
      if (factor.kind == Factor::Kind::kDivided)
        result = graph.add("div", {result, states[nodes_[unknown].state]});
    }
    graph.output("result", result);
    if (graph.type(result) != program_.type)
      return base::bad_input("the type of the ring's result differs");
    EGRET_ASSIGN_OR_RETURN(program_.finish, graph.finish());
    return base::ok();
  }

  const Ring& ring_;
  const std::span<const HeldValue> inputs_;
  const Mesh& mesh_;
  RingProgram program_;
  ir::GraphBuilder step_;
  std::vector<Value> blocks_;  // by input
  std::vector<Node> nodes_;
  std::map<std::size_t, std::size_t> exponential_;  // of each reference, whose exp it is in
};

// The peak bytes of the operators' results. A result is live from its node until its last reader.
// Inputs are held by the caller and do not count.
double most_bytes(const ir::Graph& graph) {
  std::vector<std::size_t> last_use(graph.size(), 0);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const ir::NodeId input : graph.node(ir::NodeId(i)).inputs) last_use[input.index()] = i;
  }
  for (const auto& output : graph.outputs()) last_use[output.node.index()] = graph.size();
  double live = 0;
  double most = 0;
  const auto bytes = [&](std::size_t i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    return node.kind == ir::NodeKind::kInput ? 0.0 : static_cast<double>(node.type.bytes());
  };
  std::vector<bool> dropped(graph.size(), false);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    live += bytes(i);
    most = std::max(most, live);
    for (const ir::NodeId input : graph.node(ir::NodeId(i)).inputs) {
      if (last_use[input.index()] != i || dropped[input.index()]) continue;
      dropped[input.index()] = true;
      live -= bytes(input.index());
    }
  }
  return most;
}

// Runs the steps and assembles the result.
class RingRun {
 public:
  RingRun(const RingProgram& program, std::int64_t here, std::span<const Tensor> held)
      : program_(program), here_(here), held_(held), made_(static_cast<std::size_t>(count())) {
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (program.inputs[i].passes) passing_.push_back(held[i]);
    }
  }

  Result<Tensor> run(const PassBlocks& pass, const RunRingGraph& run) {
    EGRET_ASSIGN_OR_RETURN(line_, Mesh::of({{"time", count()}}));
    std::vector<Tensor> states;
    for (const RingProgram::State& state : program_.states)
      states.push_back(Tensor::filled(state.type, state.first));
    for (std::int64_t step = 0; step < count(); ++step) {
      // Blocks move to the next device, so this device sees its own block first, then its
      // predecessors'.
      const std::int64_t block = (here_ + count() - step) % count();
      std::vector<Tensor> inputs = inputs_of(block);
      std::ranges::move(states, std::back_inserter(inputs));
      EGRET_ASSIGN_OR_RETURN(states, run(false, inputs));
      if (program_.result.is_split()) {
        made_[static_cast<std::size_t>(block)] = states.back();
        states.pop_back();
      }
      if (step + 1 < count()) EGRET_RETURN_IF_ERROR(pass(passing_));
    }
    if (program_.result.is_split())
      return whole_of(made_, program_.type, in_time(program_.result), line_);
    EGRET_ASSIGN_OR_RETURN(std::vector<Tensor> results, run(true, states));
    return std::move(results.front());
  }

 private:
  std::int64_t count() const { return program_.steps; }
  static Placement in_time(AxisPlacement placement) { return Placement(1).with(0, placement); }

  // What the step of one block reads: passing inputs hold that block now; stationary ones are cut.
  std::vector<Tensor> inputs_of(std::int64_t block) const {
    std::vector<Tensor> inputs;
    std::size_t passing = 0;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const auto& [passes, step] = program_.inputs[i];
      inputs.push_back(passes ? passing_[passing++]
                              : block_of(held_[i], in_time(step), line_, block));
    }
    return inputs;
  }

  const RingProgram& program_;
  const std::int64_t here_;
  const std::span<const Tensor> held_;
  Mesh line_;
  std::vector<Tensor> passing_;
  std::vector<Tensor> made_;  // by block
};

}  // namespace

std::string to_string(const Ring& ring, const Mesh& mesh) {
  std::string text = mesh.axis(ring.axis).name + ":";
  for (const RingInput& input : ring.inputs)
    text += (input.passes ? " passes " : " ") + to_string(input.step);
  for (const RingNode& node : ring.nodes) {
    text += "; " + node.op->name() + to_string(node.attrs);
    for (const int input : node.inputs) text += " " + std::to_string(input);
    text += " " + to_string(node.placement, mesh) + " " + to_string(node.step);
  }
  return text;
}

double RingProgram::bytes_sent() const {
  double bytes = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    bytes += inputs[i].passes ? static_cast<double>(blocks[i].bytes()) : 0;
  return bytes * static_cast<double>(steps - 1);
}

// While a block is used, the next one arrives: up to two blocks of each passing input exist beside
// the held one.
double RingProgram::scratch_bytes() const {
  const auto on_their_way = static_cast<double>(std::min<std::int64_t>(steps - 1, 2));
  double bytes = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto block = static_cast<double>(blocks[i].bytes());
    if (inputs[i].passes) bytes += block * on_their_way;
    if (!inputs[i].passes && inputs[i].step.is_split()) bytes += block;
  }
  for (const State& state : states) bytes += static_cast<double>(state.type.bytes());
  return bytes + most_bytes(step);
}

Result<RingProgram> ring_program(const Ring& ring, std::span<const HeldValue> inputs,
                                 const Mesh& mesh) {
  return RingWriter(ring, inputs, mesh).write();
}

Result<Tensor> run_ring(const RingProgram& program, std::int64_t here, std::span<const Tensor> held,
                        const PassBlocks& pass, const RunRingGraph& run) {
  return RingRun(program, here, held).run(pass, run);
}

}  // namespace egret::parallel
