// SPDX-License-Identifier: Apache-2.0
#include "parallel/ranks/rank_runs.h"

#include <optional>
#include <utility>

#include "ir/evaluate/interpreter.h"
#include "parallel/ranks/exchange_axis.h"

namespace egret::parallel {
namespace {

using ir::NodeId;
using ir::Tensor;
using Step = RankCollective::Kind;

constexpr std::int64_t kMostElements = std::int64_t{1} << 27;  // 1 GB in f64
constexpr std::int64_t kMostRanks = 1024;

// A group of ranks as a mesh of one axis.
class Group {
 public:
  static base::Result<Group> of(std::size_t size) {
    EGRET_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::of({{"group", static_cast<std::int64_t>(size)}}));
    return Group(mesh);
  }

  // What each of them has afterwards, in their order.
  base::Result<std::vector<Tensor>> exchange(const RankCollective& step,
                                             std::span<const Tensor> held) const {
    const AxisPlacement reduced = step.maximum ? AxisPlacement::max() : AxisPlacement::sum();
    switch (step.kind) {
      case Step::kAllReduce: {
        EGRET_ASSIGN_OR_RETURN(const Tensor sum, whole(held, reduced));
        return std::vector<Tensor>(held.size(), sum);
      }
      case Step::kReduceScatter: {
        EGRET_ASSIGN_OR_RETURN(const Tensor sum, whole(held, reduced));
        return blocks(std::vector<Tensor>(held.size(), sum), step.dim);
      }
      case Step::kAllGather: {
        EGRET_ASSIGN_OR_RETURN(const Tensor all, whole(held, AxisPlacement::split(step.dim)));
        return std::vector<Tensor>(held.size(), all);
      }
      case Step::kSlice: return blocks({held.begin(), held.end()}, step.dim);
      case Step::kAllToAll: break;
    }
    std::vector<Tensor> results;
    for (std::size_t to = 0; to < held.size(); ++to) {
      std::vector<Tensor> received;
      for (const Tensor& from : held) {
        EGRET_ASSIGN_OR_RETURN(Tensor part, block(from, step.dim, to));
        received.push_back(std::move(part));
      }
      EGRET_ASSIGN_OR_RETURN(Tensor joined, whole(received, AxisPlacement::split(step.from_dim)));
      results.push_back(std::move(joined));
    }
    return results;
  }

 private:
  explicit Group(Mesh mesh) : mesh_(std::move(mesh)) {}

  base::Result<Tensor> whole(std::span<const Tensor> held, AxisPlacement along) const {
    ir::TensorType type = held.front().type();
    if (along.is_split()) {
      ir::Index& size = type.dims[static_cast<std::size_t>(along.dim)];
      size = size.constant() * mesh_.ranks();
    }
    const Placement placement = Placement(1).with(0, along);
    EGRET_RETURN_IF_ERROR(local_type(type, placement, mesh_).status());
    return whole_of(held, type, placement, mesh_);
  }

  base::Result<Tensor> block(const Tensor& tensor, int dim, std::size_t place) const {
    const Placement placement = Placement(1).with(0, AxisPlacement::split(dim));
    EGRET_RETURN_IF_ERROR(local_type(tensor.type(), placement, mesh_).status());
    return block_of(tensor, placement, mesh_, static_cast<std::int64_t>(place));
  }

  // The block of each one's own tensor.
  base::Result<std::vector<Tensor>> blocks(std::vector<Tensor> held, int dim) const {
    for (std::size_t i = 0; i < held.size(); ++i) {
      EGRET_ASSIGN_OR_RETURN(held[i], block(held[i], dim, i));
    }
    return held;
  }

  Mesh mesh_;
};

// One rank between its exchanges.
class RunningRank {
 public:
  explicit RunningRank(const RankProgram& program)
      : program_(program),
        order_(ir::live_nodes(program.graph)),
        uses_(ir::use_counts(program.graph)),
        values_(program.graph.size()) {}

  // Sets an input's part, then runs to the next exchange or the end.
  void set(NodeId input, Tensor part) { values_[input.index()] = std::move(part); }
  base::Status run(const ir::InterpretOptions& options) {
    for (; at_ < order_.size() && step() == nullptr; ++at_) {
      const ir::Node& node = program_.graph.node(order_[at_]);
      Tensor& value = values_[order_[at_].index()];
      if (node.kind == ir::NodeKind::kConstant) value = node.data;
      if (node.kind != ir::NodeKind::kOperator) continue;
      std::vector<Tensor> operands;
      for (const NodeId input : node.inputs) operands.push_back(values_[input.index()]);
      EGRET_ASSIGN_OR_RETURN(value, ir::evaluate(*node.op, node.attrs, operands, options));
      forget(node);
    }
    return base::ok();
  }

  // The exchange at which it waits; null at the end.
  const RankCollective* step() const {
    if (at_ == order_.size()) return nullptr;
    const auto found = program_.collectives.find(order_[at_]);
    return found == program_.collectives.end() ? nullptr : &found->second;
  }
  bool is_at_end() const { return at_ == order_.size(); }
  const Tensor& sent() const { return values_[waiting().inputs.front().index()]; }
  void receive(Tensor result) {
    const ir::Node& node = waiting();
    values_[order_[at_++].index()] = std::move(result);
    forget(node);
  }

  std::vector<Tensor> outputs() const {
    std::vector<Tensor> all;
    for (const auto& output : program_.graph.outputs()) all.push_back(values_[output.node.index()]);
    return all;
  }

 private:
  const ir::Node& waiting() const { return program_.graph.node(order_[at_]); }
  void forget(const ir::Node& reader) {
    for (const NodeId input : reader.inputs) {
      if (--uses_[input.index()] == 0) values_[input.index()] = Tensor();
    }
  }

  const RankProgram& program_;
  const std::vector<NodeId> order_;
  std::vector<int> uses_;
  std::vector<Tensor> values_;  // by node
  std::size_t at_ = 0;          // in order_
};

class Run {
 public:
  Run(std::span<const RankProgram> programs, const Mesh& mesh) : mesh_(mesh) {
    for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank)
      ranks_.emplace_back(programs.size() == 1 ? programs[0]
                                               : programs[static_cast<std::size_t>(rank)]);
  }

  RunningRank& rank(std::size_t i) { return ranks_[i]; }
  std::size_t size() const { return ranks_.size(); }

  // The next exchange of all ranks. False: all are at their end.
  base::Result<bool> exchange() {
    const RankCollective* const first = ranks_.front().step();
    for (const RunningRank& rank : ranks_) {
      const RankCollective* const step = rank.step();
      const bool same = first != nullptr && step != nullptr
                            ? step->kind == first->kind && step->maximum == first->maximum &&
                                  step->dim == first->dim && step->from_dim == first->from_dim &&
                                  rank.sent().type() == ranks_.front().sent().type()
                            : step == first;
      if (!same) return base::unsupported("the ranks do not come to the same exchange");
    }
    if (first == nullptr) return false;
    std::vector<std::optional<Tensor>> received(ranks_.size());
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (received[i]) continue;
      EGRET_RETURN_IF_ERROR(exchange_of(i, received));
    }
    for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i].receive(*std::move(received[i]));
    return true;
  }

 private:
  base::Status exchange_of(std::size_t rank, std::vector<std::optional<Tensor>>& received) const {
    const RankCollective& step = *ranks_[rank].step();
    EGRET_ASSIGN_OR_RETURN(const auto members,
                           group_of(step, mesh_, static_cast<std::int64_t>(rank)));
    std::vector<Tensor> held;
    for (const std::int64_t member : members) {
      const auto i = static_cast<std::size_t>(member);
      EGRET_ASSIGN_OR_RETURN(const auto others, group_of(*ranks_[i].step(), mesh_, member));
      if (others != members || received[i])
        return base::unsupported("ranks of one group do not exchange with the same ranks");
      held.push_back(ranks_[i].sent());
    }
    EGRET_ASSIGN_OR_RETURN(const Group group, Group::of(members.size()));
    EGRET_ASSIGN_OR_RETURN(std::vector<Tensor> results, group.exchange(step, held));
    for (std::size_t i = 0; i < members.size(); ++i)
      received[static_cast<std::size_t>(members[i])] = std::move(results[i]);
    return base::ok();
  }

  const Mesh& mesh_;
  std::vector<RunningRank> ranks_;
};

std::int64_t elements_of(const ir::Graph& graph) {
  std::int64_t elements = 0;
  for (const ir::Node& node : graph.nodes()) {
    if (node.type.is_concrete()) elements += node.type.elements();
  }
  return elements;
}

}  // namespace

base::Result<std::vector<std::vector<Tensor>>> run_ranks(
    std::span<const RankProgram> ranks, const Mesh& mesh, const RankInterface& interface,
    const std::map<std::string, Tensor>& inputs, const std::function<bool()>& should_stop) {
  if (mesh.ranks() > kMostRanks) return base::unsupported("the ranks are too many for a run");
  std::int64_t elements = 0;
  for (const RankProgram& program : ranks) {
    elements += elements_of(program.graph);
    if (elements > kMostElements / (ranks.size() == 1 ? mesh.ranks() : 1))
      return base::unsupported("the ranks' values are too many for a run");
  }
  Run run(ranks, mesh);
  for (std::size_t i = 0; i < run.size(); ++i) {
    const ir::Graph& graph = ranks[ranks.size() == 1 ? 0 : i].graph;
    for (const NodeId id : graph.inputs()) {
      const ir::Node& node = graph.node(id);
      const auto placement = interface.inputs.find(node.name);
      const auto whole = inputs.find(node.name);
      if (placement == interface.inputs.end() || whole == inputs.end())
        return base::unsupported("the ranks have other inputs");
      EGRET_ASSIGN_OR_RETURN(const ir::TensorType part,
                             local_type(whole->second.type(), placement->second, mesh));
      if (part != node.type) return base::unsupported("the ranks have other inputs");
      run.rank(i).set(
          id, block_of(whole->second, placement->second, mesh, static_cast<std::int64_t>(i)));
    }
  }
  const ir::InterpretOptions options{.should_stop = should_stop};
  while (true) {
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (should_stop && should_stop()) return base::limit_hit("stopped");
      EGRET_RETURN_IF_ERROR(run.rank(i).run(options));
    }
    EGRET_ASSIGN_OR_RETURN(const bool again, run.exchange());
    if (again) continue;
    std::vector<std::vector<Tensor>> outputs;
    for (std::size_t i = 0; i < run.size(); ++i) outputs.push_back(run.rank(i).outputs());
    return outputs;
  }
}

}  // namespace egret::parallel
