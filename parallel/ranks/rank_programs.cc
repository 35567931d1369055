// SPDX-License-Identifier: Apache-2.0
#include "parallel/ranks/rank_programs.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/stop.h"
#include "ir/core/tensor_contents.h"
#include "parallel/laws/law_cache.h"
#include "parallel/ranks/exchange_axis.h"
#include "parallel/ranks/rank_interface.h"
#include "parallel/ranks/whole_operator.h"

namespace egret::parallel {
namespace {

using Kind = PlacedNode::Kind;
using ir::NodeId;

std::string called(const ir::Graph& graph, NodeId id) {
  const ir::Node& node = graph.node(id);
  if (!node.name.empty()) return "'" + node.name + "'";
  return "node " + std::to_string(id.index());
}

std::string place_of(const RankProgram& program, NodeId id) {
  const ir::Node& node = program.graph.node(id);
  if (program.collectives.contains(id)) return "exchange " + called(program.graph, id);
  return (node.kind == ir::NodeKind::kOperator ? node.op->name() + " " : std::string()) +
         called(program.graph, id);
}

std::string text_of(const ir::Operator& op, const ir::Attrs& attrs) {
  return op.name() + ir::to_string(attrs);
}

constexpr std::int64_t kMostUniform = 1 << 24;                 // elements that are compared
constexpr std::int64_t kMostEnlarged = std::int64_t{1} << 30;  // bytes of all larger constants

std::span<const std::byte> element(const ir::Tensor& tensor, std::size_t i) {
  const std::size_t size = ir::byte_size(tensor.dtype());
  return tensor.data().subspan(i * size, size);
}

// By bytes: f64 does not tell all integers apart.
bool is_uniform(const ir::Tensor& tensor) {
  if (tensor.elements() < 1 || tensor.elements() > kMostUniform) return false;
  for (std::size_t i = 1; i < static_cast<std::size_t>(tensor.elements()); ++i) {
    if (!std::ranges::equal(element(tensor, i), element(tensor, 0))) return false;
  }
  return true;
}

ir::Tensor filled_as(const ir::TensorType& type, const ir::Tensor& uniform) {
  ir::Tensor tensor = ir::Tensor::unfilled(type);
  const auto one = element(uniform, 0);
  const auto bytes = tensor.mutable_data();
  for (std::size_t i = 0; i < bytes.size(); i += one.size())
    std::ranges::copy(one, bytes.subspan(i).begin());
  return tensor;
}

// A rank for each block of a tensor: those with coordinate 0 along the axes that do not cut it.
std::vector<std::int64_t> ranks_of_blocks(const Placement& placement, const Mesh& mesh) {
  std::vector<std::int64_t> ranks{0};
  std::int64_t stride = 1;
  for (int axis = mesh.axis_count() - 1; axis >= 0; stride *= mesh.size(axis--)) {
    if (!placement.along(axis).is_split()) continue;
    const std::size_t before = ranks.size();
    for (std::int64_t at = 1; at < mesh.size(axis); ++at) {
      for (std::size_t i = 0; i < before; ++i) ranks.push_back(ranks[i] + at * stride);
    }
  }
  return ranks;
}

class Inference {
 public:
  Inference(std::span<const RankProgram> ranks, const Mesh& mesh, const ir::Graph& sequential,
            const NamedPlacements& given)
      : ranks_(ranks),
        first_(ranks.front().graph),
        mesh_(mesh),
        sequential_(sequential),
        given_(given) {
    for (const ir::Node& node : sequential.nodes()) {
      if (node.kind == ir::NodeKind::kInput) inputs_.try_emplace(node.name, &node.type);
      if (node.kind == ir::NodeKind::kOperator) known_.insert(text_of(*node.op, node.attrs));
      if (node.kind != ir::NodeKind::kConstant) continue;
      weights_.push_back(&node);
      if (!node.name.empty()) named_weights_.try_emplace(node.name, &node);
    }
    placed_.mesh = mesh;
  }

  base::Result<PlacedGraph> run() {
    EGRET_RETURN_IF_ERROR(same_structure());
    EGRET_ASSIGN_OR_RETURN(interface_, interface_of(first_, mesh_, sequential_, given_));
    numbers_.resize(first_.size());
    for (const NodeId id : ir::live_nodes(first_)) {
      if (base::stop_requested()) return base::limit_hit("stopped");
      EGRET_ASSIGN_OR_RETURN(numbers_[id.index()], number_of(id));
    }
    for (std::size_t i = 0; i < first_.outputs().size(); ++i)
      EGRET_RETURN_IF_ERROR(add_output(first_.outputs()[i], interface_.outputs[i]));
    EGRET_RETURN_IF_ERROR(check(placed_));
    return std::move(placed_);
  }

 private:
  base::Status same_structure() const {
    if (ranks_.size() != 1 && static_cast<std::int64_t>(ranks_.size()) != mesh_.ranks()) {
      return base::bad_input(std::to_string(ranks_.size()) + " programs for the " +
                             std::to_string(mesh_.ranks()) + " ranks of " + to_string(mesh_));
    }
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
      const ir::Graph& other = ranks_[rank].graph;
      const std::string place = "rank " + std::to_string(rank);
      for (std::size_t i = 0; i < std::min(first_.size(), other.size()); ++i) {
        const NodeId id(i);
        const ir::Node& a = first_.node(id);
        const ir::Node& b = other.node(id);
        // An input is known by its name.
        const bool same = a.kind == b.kind && a.op == b.op && a.inputs == b.inputs &&
                          a.type == b.type && same_step(rank, id) &&
                          (a.kind != ir::NodeKind::kInput || a.name == b.name);
        if (same) continue;
        return base::unsupported(place_of(ranks_[rank], id) + " of type " + ir::to_string(b.type) +
                                 " stands where rank 0 has " + place_of(ranks_.front(), id) +
                                 " of type " + ir::to_string(a.type) +
                                 ", or reads or does something else")
            .at(place);
      }
      if (first_.size() != other.size())
        return base::unsupported("it has other nodes than rank 0").at(place);
      if (!same_outputs(other)) {
        return base::unsupported("it has other outputs than rank 0, or other values as them")
            .at(place);
      }
    }
    return base::ok();
  }

  bool same_outputs(const ir::Graph& other) const {
    return std::ranges::equal(first_.outputs(), other.outputs(), [](const auto& a, const auto& b) {
      return a.node == b.node && a.name == b.name;
    });
  }

  // Equal attributes, or the same collective but for its group.
  bool same_step(std::size_t rank, NodeId id) const {
    const RankCollective* const a = collective(0, id);
    const RankCollective* const b = collective(rank, id);
    if (a == nullptr || b == nullptr)
      return a == b && first_.node(id).attrs == ranks_[rank].graph.node(id).attrs;
    return a->kind == b->kind && a->maximum == b->maximum && a->dim == b->dim &&
           a->from_dim == b->from_dim;
  }

  const RankCollective* collective(std::size_t rank, NodeId id) const {
    const auto found = ranks_[rank].collectives.find(id);
    return found == ranks_[rank].collectives.end() ? nullptr : &found->second;
  }

  // The placed node of a rank's node, which may be an earlier one.
  base::Result<std::size_t> number_of(NodeId id) {
    const ir::Node& node = first_.node(id);
    const std::string place = place_of(ranks_.front(), id);
    if (const RankCollective* const step = collective(0, id); step != nullptr) {
      EGRET_ASSIGN_OR_RETURN(const auto axis, axis_of(id, place));
      const std::size_t sent = numbers_[node.inputs.front().index()];
      if (!axis) return same_type(node, sent, place);
      EGRET_RETURN_IF_ERROR(add_collective(id, *step, *axis, sent).at(place));
    } else if (node.kind == ir::NodeKind::kInput) {
      add_leaf(Kind::kInput, node, *inputs_.at(node.name), interface_.inputs.at(node.name));
    } else {
      EGRET_RETURN_IF_ERROR(
          (node.kind == ir::NodeKind::kConstant ? add_constant(id) : add_operator(node)).at(place));
    }
    return placed_.nodes.size() - 1;
  }

  // An exchange of a rank with itself leaves what it reads.
  base::Result<std::size_t> same_type(const ir::Node& node, std::size_t sent,
                                      const std::string& place) const {
    const ir::TensorType& type = placed_.nodes[sent].type;
    if (type == node.type) return sent;
    return base::bad_input("each rank exchanges with itself alone, so its result is " +
                           ir::to_string(type) + ", not " + ir::to_string(node.type))
        .at(place);
  }

  base::Result<std::optional<int>> axis_of(NodeId id, const std::string& place) const {
    std::vector<const RankCollective*> steps;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) steps.push_back(collective(rank, id));
    auto axis = exchange_axis(steps, mesh_);
    if (!axis.ok()) return axis.status().at(place);
    return axis;
  }

  base::Status add_output(const ir::Graph::Output& output, const Placement& expected) {
    const std::size_t number = numbers_[output.node.index()];
    const Placement& placement = placed_.nodes[number].placement;
    const std::string place = "output '" + output.name + "'";
    if (placement.has_partial()) {
      return base::unsupported("it is left as partial results, " + to_string(placement, mesh_))
          .at(place);
    }
    if (!are_same(placement, expected, mesh_)) {
      return base::mismatch("it is left as " + to_string(placement, mesh_) + ", and not as " +
                            to_string(expected, mesh_))
          .at(place);
    }
    placed_.outputs.push_back({output.name, number});
    return base::ok();
  }

  void add_leaf(Kind kind, const ir::Node& node, const ir::TensorType& whole,
                const Placement& placement, ir::Tensor data = {}) {
    placed_.nodes.push_back({.kind = kind,
                             .name = node.name,
                             .whole = whole,
                             .type = node.type,
                             .placement = placement,
                             .data = std::move(data)});
  }

  // Where one program stands for all ranks, no block is compared twice.
  bool holds(NodeId id, const ir::Tensor& whole, const Placement& placement) const {
    const auto is_held_by = [&](const RankProgram& program, std::int64_t rank) {
      return ir::same_contents(block_of(whole, placement, mesh_, rank),
                               program.graph.node(id).data);
    };
    if (ranks_.size() == 1) {
      return std::ranges::all_of(ranks_of_blocks(placement, mesh_), [&](std::int64_t rank) {
        return is_held_by(ranks_.front(), rank);
      });
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!is_held_by(ranks_[rank], static_cast<std::int64_t>(rank))) return false;
    }
    return true;
  }

  // The placement under which the ranks hold this weight.
  std::optional<Placement> placement_of(NodeId id, const ir::Tensor& whole) const {
    const ir::Node& node = first_.node(id);
    const auto named = given_.find(node.name);
    for (const Placement& one : fitting(whole.type(), node.type, mesh_)) {
      if (named != given_.end() && one != named->second) continue;
      if (holds(id, whole, one)) return one;
    }
    return std::nullopt;
  }

  base::Status add_constant(NodeId id) {
    const ir::Node& node = first_.node(id);
    const auto named = named_weights_.find(node.name);
    const bool is_weight = named != named_weights_.end();
    const auto add_blocks_of = [&](const ir::Node& weight) {
      const auto placement = placement_of(id, weight.data);
      if (placement) add_leaf(Kind::kConstant, node, weight.type, *placement, weight.data);
      return placement.has_value();
    };
    if (is_weight && add_blocks_of(*named->second)) return base::ok();
    const bool copies = std::ranges::all_of(ranks_, [&](const RankProgram& rank) {
      return ir::same_contents(rank.graph.node(id).data, node.data);
    });
    // Names of constants that export made up may be those of others.
    const bool is_part = is_weight && named->second->type != node.type &&
                         !fitting(named->second->type, node.type, mesh_).empty();
    if (copies && !is_part) {
      add_leaf(Kind::kConstant, node, node.type, Placement(mesh_.axis_count()), node.data);
      return base::ok();
    }
    const auto holds_blocks = [&](const ir::Node* weight) { return add_blocks_of(*weight); };
    if (std::ranges::any_of(weights_, holds_blocks)) return base::ok();
    return base::unsupported(is_part ? "what the ranks hold are not the blocks of this weight"
                                     : "it differs from rank to rank, and what the ranks hold are "
                                       "not the blocks of any weight of the model");
  }

  // The operator on wholes, if laws lead to it from what its operands are.
  std::optional<WholeOperator> whole_of(const ir::Node& node,
                                        std::span<const std::size_t> operands) {
    std::vector<ir::TensorType> wholes;
    std::vector<Placement> placements;
    for (const std::size_t operand : operands) {
      wholes.push_back(placed_.nodes[operand].whole);
      placements.push_back(placed_.nodes[operand].placement);
    }
    const std::vector<WholeOperator> found =
        whole_operators(*node.op, node.attrs, wholes, placements, node.type, mesh_, laws_);
    if (found.empty()) return std::nullopt;
    // One that the sequential program has, if several fit.
    const auto known = std::ranges::find_if(found, [&](const WholeOperator& one) {
      return known_.contains(text_of(*node.op, one.attrs));
    });
    return known != found.end() ? *known : found.front();
  }

  // Elements that are all equal are a block of any tensor of such elements. The operator with such
  // an operand in place of this one; the operand is added to the program.
  std::optional<WholeOperator> with_larger(const ir::Node& node, std::vector<std::size_t>& operands,
                                           std::size_t which) {
    const PlacedNode held = placed_.nodes[operands[which]];
    if (held.kind != Kind::kConstant || !held.placement.is_copy() || !is_uniform(held.data))
      return std::nullopt;
    const std::size_t number = placed_.nodes.size();
    for (int axis = 0; axis < mesh_.axis_count(); ++axis) {
      const std::int64_t bytes = held.data.bytes() * mesh_.size(axis);
      if (mesh_.size(axis) == 1 || bytes > kMostEnlarged - enlarged_bytes_) continue;
      for (int dim = 0; dim < held.type.rank(); ++dim) {
        PlacedNode larger = held;
        larger.whole.dims[static_cast<std::size_t>(dim)] =
            held.type.shape()[static_cast<std::size_t>(dim)] * mesh_.size(axis);
        larger.placement = held.placement.with(axis, AxisPlacement::split(dim));
        larger.data = ir::Tensor();
        placed_.nodes.push_back(std::move(larger));
        operands[which] = number;
        if (auto found = whole_of(node, operands)) {
          enlarged_bytes_ += bytes;
          placed_.nodes.back().data = filled_as(placed_.nodes.back().whole, held.data);
          return found;
        }
        placed_.nodes.pop_back();
      }
    }
    return std::nullopt;
  }

  base::Status add_operator(const ir::Node& node) {
    std::vector<std::size_t> operands;
    std::string held;
    for (const NodeId input : node.inputs) {
      operands.push_back(numbers_[input.index()]);
      const PlacedNode& operand = placed_.nodes[operands.back()];
      held += (held.empty() ? "" : "; ") + ir::to_string(operand.whole) + " under " +
              to_string(operand.placement, mesh_);
    }
    std::optional<WholeOperator> whole = whole_of(node, operands);
    for (std::size_t i = 0; i < operands.size() && !whole; ++i) {
      std::vector<std::size_t> others = operands;
      whole = with_larger(node, others, i);
      if (whole) operands = std::move(others);
    }
    if (!whole && base::stop_requested()) return base::limit_hit("stopped");
    if (!whole) {
      return base::unsupported(
          "no law makes this a part of a value of the whole program; it reads " + held);
    }
    placed_.nodes.push_back({.kind = Kind::kOperator,
                             .name = node.name,
                             .op = node.op,
                             .attrs = whole->attrs,
                             .part_attrs = node.attrs,
                             .inputs = std::move(operands),
                             .whole = whole->type,
                             .type = node.type,
                             .placement = whole->placement});
    return base::ok();
  }

  base::Status add_collective(NodeId id, const RankCollective& step, int axis, std::size_t input) {
    using Step = RankCollective::Kind;
    const PlacedNode& sent = placed_.nodes[input];
    Collective collective{axis, AxisPlacement::copy(), AxisPlacement::copy()};
    switch (step.kind) {
      case Step::kAllReduce:
        collective.from = step.maximum ? AxisPlacement::max() : AxisPlacement::sum();
        break;
      case Step::kReduceScatter:
        collective.from = step.maximum ? AxisPlacement::max() : AxisPlacement::sum();
        collective.to = AxisPlacement::split(step.dim);
        break;
      case Step::kAllGather: collective.from = AxisPlacement::split(step.dim); break;
      case Step::kAllToAll:
        collective.from = AxisPlacement::split(step.from_dim);
        collective.to = AxisPlacement::split(step.dim);
        break;
      case Step::kSlice: collective.to = AxisPlacement::split(step.dim); break;
    }
    const AxisPlacement along = sent.placement.along(axis);
    if (along != collective.from) {
      return base::unsupported("it changes " + to_string(collective.from) + " to " +
                               to_string(collective.to) + " along the axis '" +
                               mesh_.axis(axis).name + "', and what it reads is " +
                               to_string(sent.placement, mesh_));
    }
    if (collective.from.is_split() && !sent.placement.is_last_cut(axis)) {
      return base::unsupported("another axis cuts the dimension after '" + mesh_.axis(axis).name +
                               "', so the blocks are not adjacent under " +
                               to_string(sent.placement, mesh_));
    }
    if (collective.from == collective.to)
      return base::unsupported("it cuts the dimension along which it gathers");
    const Placement placement = sent.placement.with(axis, collective.to);
    const auto type = local_type(sent.whole, placement, mesh_);
    if (!type.ok()) return type.status();
    const ir::TensorType& stated = first_.node(id).type;
    if (*type != stated) {
      return base::bad_input("its result is " + ir::to_string(*type) + ", not " +
                             ir::to_string(stated));
    }
    placed_.nodes.push_back({.kind = Kind::kCollective,
                             .collective = collective,
                             .inputs = {input},
                             .whole = sent.whole,
                             .type = *type,
                             .placement = placement});
    return base::ok();
  }

  const std::span<const RankProgram> ranks_;
  const ir::Graph& first_;
  const Mesh& mesh_;
  const ir::Graph& sequential_;
  const NamedPlacements& given_;
  RankInterface interface_;
  // Of the sequential program.
  std::map<std::string, const ir::TensorType*> inputs_;
  std::vector<const ir::Node*> weights_;
  std::map<std::string, const ir::Node*> named_weights_;
  std::set<std::string> known_;  // operators with their attributes
  LawCache laws_;
  PlacedGraph placed_;
  std::int64_t enlarged_bytes_ = 0;   // of uniform constants that were enlarged
  std::vector<std::size_t> numbers_;  // by node of the first rank's program: the placed node
};

}  // namespace

base::Result<PlacedGraph> place(std::span<const RankProgram> ranks, const Mesh& mesh,
                                const ir::Graph& sequential, const NamedPlacements& given) {
  if (ranks.empty()) return base::bad_input("no program of a rank");
  return Inference(ranks, mesh, sequential, given).run();
}

}  // namespace egret::parallel
