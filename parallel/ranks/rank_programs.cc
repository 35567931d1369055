// SPDX-License-Identifier: Apache-2.0
#include "parallel/ranks/rank_programs.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "parallel/laws/law_cache.h"
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

std::string listed(std::span<const std::int64_t> ranks) {
  std::string text;
  for (const std::int64_t rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

std::string text_of(const ir::Operator& op, const ir::Attrs& attrs) {
  return op.name() + ir::to_string(attrs);
}

constexpr std::int64_t kMostUniform = 1 << 24;  // elements that are compared

bool is_uniform(const ir::Tensor& tensor) {
  if (tensor.elements() < 1 || tensor.elements() > kMostUniform) return false;
  for (std::int64_t i = 1; i < tensor.elements(); ++i) {
    if (tensor.f64_at(i) != tensor.f64_at(0)) return false;
  }
  return true;
}

class Inference {
 public:
  Inference(std::span<const RankProgram> ranks, const Mesh& mesh, const ir::Graph& sequential,
            const std::map<std::string, Placement>& given)
      : ranks_(ranks), first_(ranks.front().graph), mesh_(mesh), given_(given) {
    for (const ir::Node& node : sequential.nodes()) {
      if (node.kind != ir::NodeKind::kOperator) leaves_.try_emplace(node.name, &node);
      if (node.kind == ir::NodeKind::kConstant) weights_.push_back(&node);
      if (node.kind == ir::NodeKind::kOperator) known_.insert(text_of(*node.op, node.attrs));
    }
    placed_.mesh = mesh;
  }

  base::Result<PlacedGraph> run() {
    EGRET_RETURN_IF_ERROR(same_structure());
    numbers_.resize(first_.size());
    for (const NodeId id : ir::live_nodes(first_)) {
      EGRET_RETURN_IF_ERROR(add(id).at(place_of(ranks_.front(), id)));
      numbers_[id.index()] = placed_.nodes.size() - 1;
    }
    for (const auto& output : first_.outputs()) {
      const std::size_t number = numbers_[output.node.index()];
      const Placement& placement = placed_.nodes[number].placement;
      if (placement.has_partial()) {
        return base::bad_input("it is left as partial results, " + to_string(placement, mesh_))
            .at("output '" + output.name + "'");
      }
      placed_.outputs.push_back({output.name, number});
    }
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
        const bool same = a.kind == b.kind && a.op == b.op && a.inputs == b.inputs &&
                          a.type == b.type && same_step(rank, id);
        if (same) continue;
        return base::bad_input(place_of(ranks_[rank], id) + " of type " + ir::to_string(b.type) +
                               " stands where rank 0 has " + place_of(ranks_.front(), id) +
                               " of type " + ir::to_string(a.type) +
                               ", or reads or does something else")
            .at(place);
      }
      if (first_.size() != other.size() || !same_outputs(other)) {
        return base::bad_input("it has other nodes or outputs than rank 0").at(place);
      }
    }
    return base::ok();
  }

  bool same_outputs(const ir::Graph& other) const {
    return std::ranges::equal(first_.outputs(), other.outputs(),
                              [](const auto& a, const auto& b) { return a.node == b.node; });
  }

  // Equal attributes, or the same collective but for its group.
  bool same_step(std::size_t rank, NodeId id) const {
    const RankCollective* const a = collective(0, id);
    const RankCollective* const b = collective(rank, id);
    if (a == nullptr || b == nullptr)
      return a == b && first_.node(id).attrs == ranks_[rank].graph.node(id).attrs;
    RankCollective alike = *b;
    alike.group = a->group;
    return alike == *a;
  }

  const RankCollective* collective(std::size_t rank, NodeId id) const {
    const auto found = ranks_[rank].collectives.find(id);
    return found == ranks_[rank].collectives.end() ? nullptr : &found->second;
  }

  base::Status add(NodeId id) {
    const ir::Node& node = first_.node(id);
    if (node.kind == ir::NodeKind::kInput) return add_input(node);
    if (node.kind == ir::NodeKind::kConstant) return add_constant(id);
    const RankCollective* const step = collective(0, id);
    return step != nullptr ? add_collective(id, *step) : add_operator(node);
  }

  // The placements under which a rank holds this type.
  std::vector<Placement> fitting(const ir::TensorType& whole, const ir::TensorType& part) const {
    std::vector<Placement> found;
    for (const Placement& one : whole_placements(whole, mesh_)) {
      const auto type = local_type(whole, one, mesh_);
      if (type.ok() && *type == part) found.push_back(one);
    }
    return found;
  }

  base::Status add_leaf(Kind kind, const ir::Node& node, const ir::TensorType& whole,
                        const Placement& placement, ir::Tensor data = {}) {
    const auto part = local_type(whole, placement, mesh_);
    if (!part.ok()) return part.status();
    if (*part != node.type) {
      return base::bad_input("under " + to_string(placement, mesh_) + " a rank holds " +
                             ir::to_string(*part) + " of " + ir::to_string(whole) + ", not " +
                             ir::to_string(node.type));
    }
    placed_.nodes.push_back({.kind = kind,
                             .name = node.name,
                             .whole = whole,
                             .type = node.type,
                             .placement = placement,
                             .data = std::move(data)});
    return base::ok();
  }

  base::Status add_input(const ir::Node& node) {
    const auto leaf = leaves_.find(node.name);
    if (leaf == leaves_.end()) return base::bad_input("the model has no input of this name");
    const ir::TensorType& whole = leaf->second->type;
    const auto named = given_.find(node.name);
    if (named != given_.end()) return add_leaf(Kind::kInput, node, whole, named->second);
    const std::vector<Placement> all = fitting(whole, node.type);
    if (all.empty()) {
      return base::bad_input(ir::to_string(node.type) + " is no part of " + ir::to_string(whole) +
                             " under any placement on " + to_string(mesh_));
    }
    if (all.size() > 1) {
      return base::bad_input("its sizes do not say whether its placement is " +
                             to_string(all[0], mesh_) + " or " + to_string(all[1], mesh_) +
                             "; name it");
    }
    return add_leaf(Kind::kInput, node, whole, all.front());
  }

  bool holds(NodeId id, const ir::Tensor& whole, const Placement& placement) const {
    for (std::int64_t rank = 0; rank < mesh_.ranks(); ++rank) {
      const std::size_t program = ranks_.size() == 1 ? 0 : static_cast<std::size_t>(rank);
      const ir::Tensor& held = ranks_[program].graph.node(id).data;
      if (block_of(whole, placement, mesh_, rank).content_hash() != held.content_hash())
        return false;
    }
    return true;
  }

  // The placement under which the ranks hold this weight.
  std::optional<Placement> placement_of(NodeId id, const ir::Tensor& whole) const {
    const ir::Node& node = first_.node(id);
    const auto named = given_.find(node.name);
    for (const Placement& one : fitting(whole.type(), node.type)) {
      if (named != given_.end() && one != named->second) continue;
      if (holds(id, whole, one)) return one;
    }
    return std::nullopt;
  }

  base::Status add_constant(NodeId id) {
    const ir::Node& node = first_.node(id);
    const auto named = leaves_.find(node.name);
    const bool is_weight = !node.name.empty() && named != leaves_.end() &&
                           named->second->kind == ir::NodeKind::kConstant;
    if (is_weight) {
      const ir::Tensor& whole = named->second->data;
      if (const auto placement = placement_of(id, whole))
        return add_leaf(Kind::kConstant, node, whole.type(), *placement, whole);
    }
    const bool copies = std::ranges::all_of(ranks_, [&](const RankProgram& rank) {
      return rank.graph.node(id).data.content_hash() == node.data.content_hash();
    });
    // Names of constants that export made up may be those of others.
    const bool is_part = is_weight && named->second->type != node.type &&
                         !fitting(named->second->type, node.type).empty();
    if (copies && !is_part)
      return add_leaf(Kind::kConstant, node, node.type, Placement(mesh_.axis_count()), node.data);
    for (const ir::Node* weight : weights_) {
      if (const auto placement = placement_of(id, weight->data))
        return add_leaf(Kind::kConstant, node, weight->type, *placement, weight->data);
    }
    return base::bad_input(is_part ? "what the ranks hold are not the blocks of this weight"
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
      for (int dim = 0; dim < held.type.rank(); ++dim) {
        PlacedNode larger = held;
        larger.whole.dims[static_cast<std::size_t>(dim)] =
            held.type.shape()[static_cast<std::size_t>(dim)] * mesh_.size(axis);
        larger.placement = held.placement.with(axis, AxisPlacement::split(dim));
        larger.data = ir::Tensor::filled(larger.whole, held.data.f64_at(0));
        placed_.nodes.push_back(std::move(larger));
        operands[which] = number;
        if (auto found = whole_of(node, operands)) return found;
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
    if (!whole) {
      return base::bad_input("no law makes this a part of a value of the whole program; it reads " +
                             held);
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

  // Errors: bad_input where the groups are not those of an axis, in its order.
  base::Result<int> axis_of(NodeId id, const RankCollective& step) const {
    if (!step.axis.empty()) {
      const int axis = mesh_.find(step.axis);
      if (axis < 0) return base::bad_input("the mesh has no axis '" + step.axis + "'");
      return axis;
    }
    if (step.group.empty()) {
      if (mesh_.axis_count() == 1) return 0;
      return base::bad_input("it does not say along which axis of " + to_string(mesh_));
    }
    const auto group_of = [&](std::int64_t rank) {
      const std::size_t program = ranks_.size() == 1 ? 0 : static_cast<std::size_t>(rank);
      return collective(program, id)->group;
    };
    for (int axis = 0; axis < mesh_.axis_count(); ++axis) {
      const std::vector<std::int64_t> ranks = mesh_.group(0, axis);
      if (std::set(ranks.begin(), ranks.end()) != std::set(step.group.begin(), step.group.end()))
        continue;
      for (std::int64_t rank = 0; rank < mesh_.ranks(); ++rank) {
        const std::vector<std::int64_t> expected = mesh_.group(rank, axis);
        const std::vector<std::int64_t> found = group_of(rank);
        if (found == expected) continue;
        return base::bad_input("rank " + std::to_string(rank) + " exchanges with ranks " +
                               listed(found) + " in this order, and along the axis '" +
                               mesh_.axis(axis).name + "' they are " + listed(expected));
      }
      return axis;
    }
    return base::bad_input("the group of ranks " + listed(step.group) + " is no axis of " +
                           to_string(mesh_));
  }

  base::Status add_collective(NodeId id, const RankCollective& step) {
    using Step = RankCollective::Kind;
    EGRET_ASSIGN_OR_RETURN(const int axis, axis_of(id, step));
    const std::size_t input = numbers_[first_.node(id).inputs.front().index()];
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
      return base::bad_input("it changes " + to_string(collective.from) + " to " +
                             to_string(collective.to) + " along the axis '" +
                             mesh_.axis(axis).name + "', and what it reads is " +
                             to_string(sent.placement, mesh_));
    }
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
  const std::map<std::string, Placement>& given_;
  std::map<std::string, const ir::Node*> leaves_;  // of the sequential program
  std::vector<const ir::Node*> weights_;
  std::set<std::string> known_;  // operators of the sequential program with their attributes
  LawCache laws_;
  PlacedGraph placed_;
  std::vector<std::size_t> numbers_;  // by node of the first rank's program: the placed node
};

}  // namespace

base::Result<PlacedGraph> place(std::span<const RankProgram> ranks, const Mesh& mesh,
                                const ir::Graph& sequential,
                                const std::map<std::string, Placement>& given) {
  if (ranks.empty()) return base::bad_input("no program of a rank");
  return Inference(ranks, mesh, sequential, given).run();
}

}  // namespace egret::parallel
