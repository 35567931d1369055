// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/rank_program.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/graph/builder.h"

namespace egret::runtime {
namespace {

using base::Result;
using base::Status;
using ir::Tensor;
using Bytes = std::vector<std::byte>;
using Kind = parallel::PlacedNode::Kind;

Bytes bytes_of(const Tensor& tensor) { return {tensor.data().begin(), tensor.data().end()}; }

Result<std::vector<Tensor>> tensors_of(const std::vector<Bytes>& all, const ir::TensorType& type) {
  std::vector<Tensor> tensors;
  for (const Bytes& bytes : all) {
    Tensor tensor(type);
    if (static_cast<std::int64_t>(bytes.size()) != tensor.bytes())
      return base::internal_error("ranks do not agree on what they exchange");
    std::ranges::copy(bytes, tensor.mutable_data().begin());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Copies rows of a tensor along a dimension to and from bytes, one piece for each outer index.
class Rows {
 public:
  Rows(const ir::TensorType& type, int dim)
      : count_(type.dims[static_cast<std::size_t>(dim)].constant()),
        row_(static_cast<std::int64_t>(ir::byte_size(type.dtype))) {
    for (int i = 0; i < type.rank(); ++i) {
      const std::int64_t size = type.dims[static_cast<std::size_t>(i)].constant();
      if (i < dim) outer_ *= size;
      if (i > dim) row_ *= size;
    }
  }

  std::int64_t count() const { return count_; }

  Bytes read(const Tensor& tensor, std::int64_t first, std::int64_t count) const {
    Bytes bytes;
    bytes.reserve(static_cast<std::size_t>(outer_ * count * row_));
    for (std::int64_t i = 0; i < outer_; ++i) {
      const auto piece =
          tensor.data().subspan(at(i, first), static_cast<std::size_t>(count * row_));
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    }
    return bytes;
  }

  Status write(const Bytes& bytes, Tensor& tensor, std::int64_t first, std::int64_t count) const {
    const auto piece = static_cast<std::size_t>(count * row_);
    if (bytes.size() != piece * static_cast<std::size_t>(outer_))
      return base::internal_error("ranks do not agree on what they exchange");
    for (std::int64_t i = 0; i < outer_; ++i) {
      const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(i * count * row_);
      std::copy_n(from, piece, tensor.mutable_data().subspan(at(i, first)).begin());
    }
    return base::ok();
  }

 private:
  std::size_t at(std::int64_t outer, std::int64_t first) const {
    return static_cast<std::size_t>((outer * count_ + first) * row_);
  }

  std::int64_t outer_ = 1;
  std::int64_t count_;
  std::int64_t row_;  // bytes
};

// The collectives of one rank, over its group as a one-dimensional mesh.
class RankCollective {
 public:
  RankCollective(const parallel::Collective& collective, const parallel::Mesh& mesh,
                 std::int64_t rank, const Exchange& exchange, const parallel::Mesh& line)
      : collective_(collective),
        line_(line),
        group_(mesh.group(rank, collective.axis)),
        here_(mesh.coordinate(rank, collective.axis)),
        exchange_(exchange) {}

  // Each case takes at most two rounds in which the ranks of the group send each other bytes.
  Result<Tensor> run(const Tensor& local) const {
    const auto [axis, from, to] = collective_;
    if (from.is_copy()) return own_block(local);
    if (from.is_partial()) return to.is_copy() ? reduce_all(local) : reduce_blocks(local);
    // The remaining cases move blocks: an all-gather if the target is a copy, otherwise an
    // all-to-all that changes the cut dimension.
    if (to.has_halo()) return exchange_halo(local);
    ir::TensorType whole = local.type();
    scale(whole, from.dim, line_.size(0), 1);
    if (to.is_copy()) {
      const std::vector<Bytes> outgoing(group_.size(), bytes_of(local));
      EGRET_ASSIGN_OR_RETURN(const std::vector<Bytes> incoming, exchange_(group_, outgoing));
      return joined(incoming, whole);
    }
    EGRET_ASSIGN_OR_RETURN(const std::vector<Bytes> incoming, exchange_(group_, blocks_of(local)));
    scale(whole, to.dim, 1, line_.size(0));
    return joined(incoming, whole);
  }

 private:
  static parallel::Placement on_line(parallel::AxisPlacement placement) {
    return parallel::Placement(1).with(0, placement);
  }

  // The type of a block with one dimension multiplied and divided: from a block to the whole, or
  // back.
  static void scale(ir::TensorType& type, int dim, std::int64_t times, std::int64_t parts) {
    ir::Index& size = type.dims[static_cast<std::size_t>(dim)];
    size = size.constant() * times / parts;
  }

  Result<std::vector<Tensor>> exchanged(const std::vector<Bytes>& outgoing,
                                        const ir::TensorType& type) const {
    EGRET_ASSIGN_OR_RETURN(const std::vector<Bytes> incoming, exchange_(group_, outgoing));
    return tensors_of(incoming, type);
  }

  Result<Tensor> own_block(const Tensor& local) const {
    const parallel::AxisPlacement& to = collective_.to;
    if (!to.is_split() || to.has_halo()) return block_of(local, on_line(to), line_, here_);
    ir::TensorType type = local.type();
    scale(type, to.dim, 1, line_.size(0));
    const Rows rows(local.type(), to.dim);
    const std::int64_t count = rows.count() / line_.size(0);
    EGRET_ASSIGN_OR_RETURN(std::vector<Tensor> block,
                           tensors_of({rows.read(local, here_ * count, count)}, type));
    return std::move(block.front());
  }

  // The block of each device under `to`.
  std::vector<Bytes> blocks_of(const Tensor& local) const {
    const Rows rows(local.type(), collective_.to.dim);
    const std::int64_t count = rows.count() / line_.size(0);
    std::vector<Bytes> blocks;
    for (std::int64_t i = 0; i < line_.size(0); ++i)
      blocks.push_back(rows.read(local, i * count, count));
    return blocks;
  }

  // The tensor of TYPE whose blocks under `from` these are.
  Result<Tensor> joined(const std::vector<Bytes>& blocks, const ir::TensorType& type) const {
    Tensor result = Tensor::unfilled(type);
    const Rows rows(type, collective_.from.dim);
    const std::int64_t count = rows.count() / line_.size(0);
    for (std::int64_t i = 0; i < line_.size(0); ++i) {
      EGRET_RETURN_IF_ERROR(
          rows.write(blocks[static_cast<std::size_t>(i)], result, i * count, count));
    }
    return result;
  }

  Result<std::vector<Tensor>> exchanged_blocks(const Tensor& local) const {
    ir::TensorType type = local.type();
    scale(type, collective_.to.dim, 1, line_.size(0));
    return exchanged(blocks_of(local), type);
  }

  // Sends the first and last rows of the block to the neighbours.
  Result<Tensor> exchange_halo(const Tensor& local) const {
    const auto [kind, dim, halo] = collective_.to;
    const Rows own(local.type(), dim);
    const std::int64_t last = line_.size(0) - 1;
    const auto previous = static_cast<std::size_t>(here_ - 1);
    const auto next = static_cast<std::size_t>(here_ + 1);
    std::vector<Bytes> outgoing(group_.size());
    // The previous rank needs this rank's first rows as its rows after, and the next rank needs the
    // last rows as its rows before.
    if (here_ > 0) outgoing[previous] = own.read(local, 0, halo.after);
    if (here_ < last) outgoing[next] = own.read(local, own.count() - halo.before, halo.before);
    EGRET_ASSIGN_OR_RETURN(const std::vector<Bytes> incoming, exchange_(group_, outgoing));
    ir::TensorType type = local.type();
    type.dims[static_cast<std::size_t>(dim)] = own.count() + halo.rows();
    // Rows beyond the ends of the tensor keep the fill value.
    Tensor result = Tensor::filled(type, halo.value_beyond());
    const Rows rows(type, dim);
    EGRET_RETURN_IF_ERROR(
        rows.write(own.read(local, 0, own.count()), result, halo.before, own.count()));
    if (here_ > 0) EGRET_RETURN_IF_ERROR(rows.write(incoming[previous], result, 0, halo.before));
    if (here_ < last) {
      EGRET_RETURN_IF_ERROR(
          rows.write(incoming[next], result, halo.before + own.count(), halo.after));
    }
    return result;
  }

  // In the order of ranks. The sum of two f32 has the same bits in f64, rounded.
  Result<Tensor> reduced(const std::vector<Tensor>& parts) const {
    if (parts.front().dtype() == ir::DType::kF32) {
      Tensor result = parts.front();
      const auto to = result.mutable_as<float>();
      const bool largest = collective_.from.kind == parallel::AxisPlacement::Kind::kMax;
      for (std::size_t k = 1; k < parts.size(); ++k) {
        const auto from = parts[k].as<float>();
        for (std::size_t i = 0; i < to.size(); ++i)
          to[i] = largest ? std::max(to[i], from[i]) : to[i] + from[i];
      }
      return result;
    }
    return whole_of(parts, parts.front().type(), on_line(collective_.from), line_);
  }

  // Reduce-scatter: each rank receives the others' parts of its block and reduces them.
  Result<Tensor> reduce_blocks(const Tensor& local) const {
    EGRET_ASSIGN_OR_RETURN(const auto incoming, exchanged_blocks(local));
    return reduced(incoming);
  }

  // Reduce-scatter and all-gather over the flat elements, divided as evenly as possible. Each part
  // is summed by one rank, in the order of ranks: the result is deterministic and equal on all
  // ranks.
  Result<Tensor> reduce_all(const Tensor& local) const {
    const std::int64_t parts = line_.size(0);
    const auto begin = [&](std::int64_t i) { return local.elements() * i / parts; };
    const auto size = static_cast<std::int64_t>(ir::byte_size(local.dtype()));
    std::vector<Bytes> outgoing;
    for (std::int64_t i = 0; i < parts; ++i) {
      const auto part =
          local.data().subspan(static_cast<std::size_t>(begin(i) * size),
                               static_cast<std::size_t>((begin(i + 1) - begin(i)) * size));
      outgoing.emplace_back(part.begin(), part.end());
    }
    const ir::TensorType type(local.dtype(), {begin(here_ + 1) - begin(here_)});
    EGRET_ASSIGN_OR_RETURN(const auto incoming, exchanged(outgoing, type));
    EGRET_ASSIGN_OR_RETURN(const Tensor own, reduced(incoming));
    const std::vector<Bytes> copies(group_.size(), bytes_of(own));
    EGRET_ASSIGN_OR_RETURN(const std::vector<Bytes> all, exchange_(group_, copies));
    Tensor result(local.type());
    auto to = result.mutable_data().begin();
    std::size_t total = 0;
    for (const Bytes& bytes : all) total += bytes.size();
    if (static_cast<std::int64_t>(total) != result.bytes())
      return base::internal_error("ranks do not agree on what they exchange");
    for (const Bytes& bytes : all) to = std::ranges::copy(bytes, to).out;
    return result;
  }

  const parallel::Collective collective_;
  const parallel::Mesh& line_;
  const std::vector<std::int64_t> group_;
  const std::int64_t here_;
  const Exchange& exchange_;
};

// What runs between segments: exchanges, and copies from storage.
bool is_exchange(const parallel::PlacedNode& node) {
  return node.kind == Kind::kCollective || node.kind == Kind::kRing || node.kind == Kind::kBack;
}

// The work that remains when some nodes are known. Stages alternate computing and exchanging: a
// node's stage is the largest number of exchanges on any path to it, so that a stage has as many
// operators as possible and plans can fuse them. In a program with an order, a node's stage is no
// earlier than those of the nodes before it.
struct Work {
  Work(const parallel::PlacedGraph& graph, const HeldBlocks& known)
      : runs(graph.nodes.size(), false),
        leaves_stage(graph.nodes.size(), false),
        direct(graph.nodes.size(), false),
        stages(graph.nodes.size(), 0) {
    for (const auto& output : graph.outputs)
      runs[output.node] = leaves_stage[output.node] = direct[output.node] = true;
    // Backward: a known node needs no inputs, so the nodes behind it do not run.
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
      if (known.contains(i)) runs[i] = false;
      if (!runs[i]) continue;
      for (const std::size_t input : graph.nodes[i].inputs) {
        runs[input] = true;
        if (is_exchange(graph.nodes[i])) direct[input] = true;
      }
    }
    std::size_t computed = 0;  // the stage of the latest operator
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!runs[i]) continue;
      for (const std::size_t input : graph.nodes[i].inputs)
        stages[i] = std::max(stages[i], stages[input]);
      // An operator comes behind the exchanges before it, and an exchange behind the operators.
      const bool exchanges = is_exchange(graph.nodes[i]);
      if (graph.in_order && !graph.nodes[i].inputs.empty())
        stages[i] = std::max(stages[i], exchanges ? computed : last);
      // Nodes are in topological order, so the stages of all inputs are known.
      if (exchanges) ++stages[i];
      last = std::max(last, stages[i]);
      if (!exchanges) computed = std::max(computed, stages[i]);
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!runs[i]) continue;
      for (const std::size_t input : graph.nodes[i].inputs) {
        if (stages[input] != stages[i]) leaves_stage[input] = true;
      }
    }
  }

  // By node.
  std::vector<bool> runs;          // and is not known
  std::vector<bool> leaves_stage;  // read by a later stage, or from outside
  std::vector<bool> direct;        // read by collectives, rings or outputs
  // The stage whose segment makes the node available. An operator belongs to the segment of its
  // stage; a collective runs at the end of the previous stage.
  std::vector<std::size_t> stages;
  std::size_t last = 0;
};

// Writes the operators of a stage as a graph of their own: values of earlier stages become inputs,
// values that later stages read become outputs.
class SegmentWriter {
 public:
  SegmentWriter(const parallel::PlacedGraph& graph, std::int64_t rank, const Work& work,
                const HeldBlocks& known)
      : graph_(graph), rank_(rank), work_(work), known_(known) {}

  Result<Segment> write(std::size_t stage) {
    values_.assign(graph_.nodes.size(), {});
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const parallel::PlacedNode& node = graph_.nodes[i];
      if (node.kind != Kind::kOperator || !work_.runs[i] || work_.stages[i] != stage) continue;
      std::vector<ir::Value> inputs;
      for (const std::size_t input : node.inputs) inputs.push_back(value(input));
      values_[i] = builder_.add(*node.op, inputs, node.part_attrs);
      if (!work_.leaves_stage[i]) continue;
      segment_.outputs.push_back(i);
      builder_.output("v" + std::to_string(i), values_[i]);
    }
    if (!segment_.outputs.empty()) {
      EGRET_ASSIGN_OR_RETURN(segment_.graph, builder_.finish());
    }
    return std::move(segment_);
  }

 private:
  // A value as the segment sees it: known blocks and weights are constants, all else is an input.
  ir::Value value(std::size_t node) {
    if (values_[node].valid()) return values_[node];
    const parallel::PlacedNode& from = graph_.nodes[node];
    if (const auto block = known_.find(node); block != known_.end()) {
      values_[node] = builder_.constant(block->second, from.name);
    } else if (from.kind == Kind::kConstant) {
      values_[node] =
          builder_.constant(block_of(from.data, from.placement, graph_.mesh, rank_), from.name);
    } else {
      segment_.inputs.push_back(node);
      values_[node] = builder_.input("v" + std::to_string(node), from.type);
    }
    return values_[node];
  }

  const parallel::PlacedGraph& graph_;
  const std::int64_t rank_;
  const Work& work_;
  const HeldBlocks& known_;
  ir::GraphBuilder builder_;
  std::vector<ir::Value> values_;
  Segment segment_;
};

}  // namespace

Result<Tensor> run_collective(const parallel::Collective& collective, const parallel::Mesh& mesh,
                              std::int64_t rank, const Tensor& local, const Exchange& exchange) {
  EGRET_ASSIGN_OR_RETURN(const parallel::Mesh line,
                         parallel::Mesh::of({{"group", mesh.size(collective.axis)}}));
  return RankCollective(collective, mesh, rank, exchange, line).run(local);
}

namespace {

// Runs ring number `at` on this rank's inputs.
Result<Tensor> run_ring(const RankProgram& program, std::size_t at, const parallel::Mesh& mesh,
                        std::span<const Tensor> held, const RunSegment& run,
                        const Exchange& exchange) {
  const parallel::RingProgram& ring = program.rings[at].program;
  const std::vector<std::int64_t> group = mesh.group(program.rank, ring.axis);
  const std::int64_t here = mesh.coordinate(program.rank, ring.axis);
  const auto next = static_cast<std::size_t>((here + 1) % ring.steps);
  const auto previous = static_cast<std::size_t>((here + ring.steps - 1) % ring.steps);
  // Passes all blocks one place on: each rank sends to the next one and receives from the previous
  // one in the same exchange, so no rank waits in a cycle.
  const auto pass = [&](std::vector<Tensor>& blocks) -> Status {
    for (Tensor& block : blocks) {
      std::vector<Bytes> outgoing(group.size());
      outgoing[next] = bytes_of(block);
      EGRET_ASSIGN_OR_RETURN(std::vector<Bytes> incoming, exchange(group, outgoing));
      EGRET_ASSIGN_OR_RETURN(std::vector<Tensor> arrived,
                             tensors_of({std::move(incoming[previous])}, block.type()));
      block = std::move(arrived.front());
    }
    return base::ok();
  };
  const auto run_graph = [&](bool finish, std::span<const Tensor> inputs) {
    return run(program.stages.size() + 2 * at + (finish ? 1 : 0), inputs);
  };
  return run_ring(ring, here, held, pass, run_graph);
}

// A collective, a ring or a copy back.
Result<Tensor> run_exchange(const parallel::PlacedGraph& graph, const RankProgram& program,
                            std::size_t i, std::span<const Tensor> held, const RunSegment& run,
                            const Exchange& exchange, const ValueStorage& storage) {
  const parallel::PlacedNode& node = graph.nodes[i];
  if (node.kind == Kind::kBack) return storage.get(node.inputs.front(), node.type);
  const bool is_ring = node.kind == Kind::kRing;
  const auto named = [&](const Status& status) {
    const int axis = is_ring ? node.ring.axis : node.collective.axis;
    return status.at((is_ring ? "ring" : std::string(name_of(node.collective))) + " along '" +
                     graph.mesh.axis(axis).name + "' (node " + std::to_string(i) + ")");
  };
  if (!is_ring) {
    auto result = run_collective(node.collective, graph.mesh, program.rank,
                                 held[node.inputs.front()], exchange);
    return result.ok() ? std::move(result) : named(result.status());
  }
  std::vector<Tensor> own;
  for (const std::size_t input : node.inputs) own.push_back(held[input]);
  const auto at = std::ranges::find(program.rings, i, &RankRing::node) - program.rings.begin();
  auto result = run_ring(program, static_cast<std::size_t>(at), graph.mesh, own, run, exchange);
  return result.ok() ? std::move(result) : named(result.status());
}

}  // namespace

namespace {

// Values are freed behind the last part of a stage that reads them.
void add_freed(const parallel::PlacedGraph& graph, std::vector<RankStage>& stages) {
  constexpr auto kNever = static_cast<std::size_t>(-1);
  std::vector<std::pair<std::size_t, std::size_t>> last(graph.nodes.size(), {kNever, 0});
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    RankStage& now = stages[stage];
    now.freed.resize(1 + now.collectives.size());
    for (const std::size_t node : now.segment.inputs) last[node] = {stage, 0};
    for (const std::size_t node : now.segment.outputs) last[node] = {stage, 0};
    for (std::size_t k = 0; k < now.collectives.size(); ++k) {
      last[now.collectives[k]] = {stage, k + 1};
      if (graph.nodes[now.collectives[k]].kind == Kind::kBack) continue;  // reads the copy
      for (const std::size_t input : graph.nodes[now.collectives[k]].inputs)
        last[input] = {stage, k + 1};
    }
  }
  for (const auto& output : graph.outputs) last[output.node].first = kNever;
  for (std::size_t node = 0; node < last.size(); ++node) {
    const auto [stage, part] = last[node];
    if (stage != kNever) stages[stage].freed[part].push_back(node);
  }
}

}  // namespace

// Stage s is a segment and then the collectives that its values, or earlier ones, feed.
Result<RankProgram> rank_program(const parallel::PlacedGraph& graph, std::int64_t rank,
                                 const HeldBlocks& known) {
  const Work work(graph, known);
  RankProgram program{rank, std::vector<RankStage>(work.last + 1), {}, {}};
  for (std::size_t stage = 0; stage <= work.last; ++stage) {
    EGRET_ASSIGN_OR_RETURN(program.stages[stage].segment,
                           SegmentWriter(graph, rank, work, known).write(stage));
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const parallel::PlacedNode& node = graph.nodes[i];
    if (const auto block = known.find(i); block != known.end()) {
      if (work.direct[i]) program.blocks.insert(*block);
    } else if (node.kind == Kind::kConstant && work.direct[i]) {
      program.blocks[i] = block_of(node.data, node.placement, graph.mesh, rank);
    }
    if (!work.runs[i] || !is_exchange(node)) continue;
    program.stages[work.stages[i] - 1].collectives.push_back(i);
    if (node.kind != Kind::kRing) continue;
    EGRET_ASSIGN_OR_RETURN(parallel::RingProgram ring, ring_program(graph, node));
    program.rings.push_back({i, std::move(ring)});
  }
  add_freed(graph, program.stages);
  program.copied_out = copied_out(graph);
  return program;
}

std::vector<const ir::Graph*> RankProgram::graphs() const {
  std::vector<const ir::Graph*> all;
  for (const RankStage& stage : stages) all.push_back(&stage.segment.graph);
  for (const RankRing& ring : rings) {
    all.push_back(&ring.program.step);
    all.push_back(&ring.program.finish);
  }
  return all;
}

Result<std::vector<Tensor>> held_inputs(const parallel::PlacedGraph& graph, std::int64_t rank,
                                        std::span<const Tensor> wholes) {
  std::vector<Tensor> held;
  for (const parallel::PlacedNode& node : graph.nodes) {
    if (node.kind != Kind::kInput) continue;
    if (held.size() == wholes.size() || wholes[held.size()].type() != node.whole)
      return base::bad_input("input '" + node.name + "' is not " + ir::to_string(node.whole));
    held.push_back(block_of(wholes[held.size()], node.placement, graph.mesh, rank));
  }
  return held;
}

Result<std::vector<Tensor>> run_rank(const parallel::PlacedGraph& graph, const RankProgram& program,
                                     std::span<const Tensor> inputs, const RunSegment& run,
                                     const Exchange& exchange, ValueStorage& storage) {
  std::vector<Tensor> held(graph.nodes.size());
  const auto hold = [&](std::size_t node, Tensor value) {
    held[node] = std::move(value);
    return program.copied_out[node] ? storage.put(node, held[node]) : base::ok();
  };
  for (const auto& [node, block] : program.blocks) held[node] = block;
  std::size_t next = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const parallel::PlacedNode& node = graph.nodes[i];
    if (node.kind != Kind::kInput) continue;
    EGRET_CHECK(next < inputs.size() && inputs[next].type() == node.type,
                "inputs as they are held");
    held[i] = inputs[next++];
  }
  // All ranks run the same stages and the same exchanges in the same order. The exchanges therefore
  // match without further agreement.
  for (std::size_t stage = 0; stage < program.stages.size(); ++stage) {
    const RankStage& now = program.stages[stage];
    if (!now.segment.outputs.empty()) {
      std::vector<Tensor> own;
      for (const std::size_t node : now.segment.inputs) own.push_back(held[node]);
      EGRET_ASSIGN_OR_RETURN(std::vector<Tensor> results, run(stage, own));
      for (std::size_t k = 0; k < results.size(); ++k)
        EGRET_RETURN_IF_ERROR(hold(now.segment.outputs[k], std::move(results[k])));
    }
    for (const std::size_t node : now.freed[0]) held[node] = Tensor();
    for (std::size_t k = 0; k < now.collectives.size(); ++k) {
      const std::size_t i = now.collectives[k];
      EGRET_ASSIGN_OR_RETURN(Tensor result,
                             run_exchange(graph, program, i, held, run, exchange, storage));
      EGRET_RETURN_IF_ERROR(hold(i, std::move(result)));
      for (const std::size_t node : now.freed[k + 1]) held[node] = Tensor();
    }
  }
  std::vector<Tensor> outputs;
  for (const auto& output : graph.outputs) outputs.push_back(held[output.node]);
  return outputs;
}

Result<std::vector<Tensor>> run_rank(const parallel::PlacedGraph& graph, const RankProgram& program,
                                     std::span<const Tensor> inputs, const RunSegment& run,
                                     const Exchange& exchange) {
  ValueStorage storage;
  return run_rank(graph, program, inputs, run, exchange, storage);
}

// Rank 0 assembles the outputs; the other ranks return none.
Result<std::vector<Tensor>> gathered_outputs(const parallel::PlacedGraph& graph, std::int64_t rank,
                                             std::span<const Tensor> held,
                                             const Exchange& exchange) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(graph.mesh.ranks()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<Tensor> wholes;
  for (std::size_t i = 0; i < held.size(); ++i) {
    std::vector<Bytes> outgoing(all.size());
    outgoing.front() = bytes_of(held[i]);
    EGRET_ASSIGN_OR_RETURN(const std::vector<Bytes> incoming, exchange(all, outgoing));
    if (rank != 0) continue;
    const parallel::PlacedNode& node = graph.nodes[graph.outputs[i].node];
    EGRET_ASSIGN_OR_RETURN(const auto locals, tensors_of(incoming, node.type));
    EGRET_ASSIGN_OR_RETURN(Tensor whole, whole_of(locals, node.whole, node.placement, graph.mesh));
    wholes.push_back(std::move(whole));
  }
  return wholes;
}

}  // namespace egret::runtime
