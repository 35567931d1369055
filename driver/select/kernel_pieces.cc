// SPDX-License-Identifier: Apache-2.0
#include "driver/select/kernel_pieces.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "driver/select/rule_marks.h"
#include "extract/core/cheapest_terms.h"

namespace egret::driver {
namespace {

using extract::ClassIndex;
using extract::NodeIndex;

// For each class of leaves, a node of its simplest term: all of it is computed before the first
// run.
std::vector<NodeIndex> terms_of_leaves(const egraph::EGraphView& view,
                                       const std::vector<bool>& leaves) {
  std::vector<double> costs(view.node_count(), std::numeric_limits<double>::infinity());
  for (NodeIndex node = 0; node < view.node_count(); ++node) {
    if (leaves[view.node_class[node]]) costs[node] = 1;
  }
  return extract::cheapest_terms({view, costs}).choice;
}

// A list of terms that grows: leaves once, and kernels one after the other.
class Terms {
 public:
  using Place = std::uint32_t;

  Terms(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
        const std::vector<bool>& leaves, const extract::KernelGraph& kernels)
      : tensors_(tensors),
        view_(view),
        leaves_(leaves),
        kernels_(kernels),
        of_leaves_(terms_of_leaves(view, leaves)) {}

  // The value of a class of the e-graph of kernels. Leaves are added when they are first read. As
  // deep as a term of weights.
  base::Result<Place> stored(ClassIndex c) {
    if (const auto found = stored_.find(c); found != stored_.end()) return found->second;
    if (c >= leaves_.size() || !leaves_[c] || of_leaves_[c] == extract::kNoNode)
      return base::internal_error("no kernel makes class " + std::to_string(c));
    std::vector<Place> operands;
    for (const ClassIndex child : view_.children_of(of_leaves_[c])) {
      EGRET_ASSIGN_OR_RETURN(const Place operand, stored(child));
      operands.push_back(operand);
    }
    return stored_[c] = add(of_leaves_[c], std::move(operands));
  }

  // The terms of a kernel, in the order of its nodes.
  base::Result<std::vector<Place>> add_kernel(const extract::Piece& piece) {
    std::map<ClassIndex, Place> inside;
    std::vector<Place> places;
    for (const NodeIndex node : piece.nodes) {
      std::vector<Place> operands;
      for (const ClassIndex child : view_.children_of(node)) {
        if (const auto found = inside.find(child); found != inside.end()) {
          operands.push_back(found->second);
          continue;
        }
        EGRET_ASSIGN_OR_RETURN(const Place operand, stored(kernels_.class_of(child, piece.reads)));
        operands.push_back(operand);
      }
      places.push_back(add(node, std::move(operands)));
      inside[view_.node_class[node]] = places.back();
    }
    return places;
  }

  // From now on the value of a class is there.
  void store(ClassIndex c, Place place) { stored_[c] = place; }

  const std::vector<rules::TensorEGraph::Term>& all() const { return terms_; }

 private:
  Place add(NodeIndex node, std::vector<Place> operands) {
    terms_.push_back({node_in(tensors_, view_, node), std::move(operands)});
    return static_cast<Place>(terms_.size() - 1);
  }

  const rules::TensorEGraph& tensors_;
  const egraph::EGraphView& view_;
  const std::vector<bool>& leaves_;
  const extract::KernelGraph& kernels_;
  const std::vector<NodeIndex> of_leaves_;
  std::vector<rules::TensorEGraph::Term> terms_;
  std::map<ClassIndex, Place> stored_;
};

}  // namespace

egraph::NodeId node_in(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                       NodeIndex node) {
  const ClassIndex of = view.node_class[node];
  return tensors.egraph().nodes(view.class_id[of])[node - view.class_begin[of]];
}

std::optional<NodeIndex> view_node(const rules::TensorEGraph& tensors,
                                   const egraph::EGraphView& view, egraph::NodeId node) {
  const egraph::ClassId of = tensors.egraph().class_of(node);
  const auto found = std::ranges::lower_bound(view.class_id, of);
  if (found == view.class_id.end() || *found != of) return std::nullopt;
  const auto c = static_cast<std::size_t>(found - view.class_id.begin());
  const auto nodes = tensors.egraph().nodes(of);
  const auto place = std::ranges::find(nodes, node);
  if (place == nodes.end()) return std::nullopt;
  return view.class_begin[c] + static_cast<NodeIndex>(place - nodes.begin());
}

std::vector<bool> leaves_of(const rules::TensorEGraph& tensors, const egraph::EGraphView& view) {
  std::vector<bool> leaves(view.class_count(), false);
  for (ClassIndex c = 0; c < view.class_count(); ++c)
    leaves[c] =
        tensors.is_constant(view.class_id[c]) && tensors.type(view.class_id[c]).is_concrete();
  for (NodeIndex node = 0; node < view.node_count(); ++node) {
    if (tensors.language().is_input(view.node_op[node])) leaves[view.node_class[node]] = true;
  }
  return leaves;
}

base::Result<ir::Graph> graph_of(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                                 const extract::Piece& piece) {
  ir::Graph graph;
  std::map<ClassIndex, ir::NodeId> built;
  const auto read = [&](ClassIndex c) {
    const ir::TensorType& type = tensors.type(view.class_id[c]);
    ir::Node node{.kind = ir::NodeKind::kInput, .type = type, .name = "x" + std::to_string(c)};
    if (tensors.is_constant(view.class_id[c])) {
      node.kind = ir::NodeKind::kConstant;
      for (NodeIndex i = view.class_begin[c]; i < view.class_begin[c + 1]; ++i) {
        if (tensors.language().is_constant(view.node_op[i]))
          node.data = tensors.language().tensor(view.node_op[i]);
      }
      if (node.data.type() != type) node.data = ir::Tensor(type);
    }
    return graph.append(std::move(node));
  };
  for (const NodeIndex index : piece.nodes) {
    EGRET_ASSIGN_OR_RETURN(ir::Node node, tensors.to_node(node_in(tensors, view, index)));
    for (const ClassIndex child : view.children_of(index)) {
      auto found = built.find(child);
      if (found == built.end()) found = built.emplace(child, read(child)).first;
      node.inputs.push_back(found->second);
    }
    built[view.node_class[index]] = graph.append(std::move(node));
  }
  graph.add_output("y", built[view.node_class[piece.root()]]);
  for (const NodeIndex node : piece.stored)
    graph.add_output("y" + std::to_string(graph.outputs().size()), built[view.node_class[node]]);
  return graph;
}

std::string text_of(const ir::Graph& piece) {
  std::map<ir::NodeId, std::string> names;
  std::string text;
  std::size_t operators = 0, values = 0;
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const ir::Node& node = piece.node(ir::NodeId(i));
    if (node.kind != ir::NodeKind::kOperator) {
      names[ir::NodeId(i)] = "v" + std::to_string(values++) + ":" + ir::to_string(node.type) +
                             (node.kind == ir::NodeKind::kConstant ? " const" : "");
      continue;
    }
    text += (text.empty() ? "" : " ") + node.op->name() + ir::to_string(node.attrs) + "(";
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      text += (k > 0 ? ", " : "") + names[node.inputs[k]];
    text += ")";
    names[ir::NodeId(i)] = "%" + std::to_string(operators++);
  }
  for (std::size_t i = 1; i < piece.outputs().size(); ++i)
    text += (i == 1 ? " stores " : ", ") + names[piece.outputs()[i].node];
  return text;
}

PieceShapes::PieceShapes(const rules::TensorEGraph& tensors, const egraph::EGraphView& view)
    : view_(view) {
  std::map<std::string, std::uint32_t> numbers;
  for (ClassIndex c = 0; c < view.class_count(); ++c) {
    const egraph::ClassId id = view.class_id[c];
    std::string text = ir::to_string(tensors.type(id));
    if (tensors.is_constant(id)) {
      const auto elements = ir::element_count(tensors.type(id).shape());
      text += elements == 1 ? " const of " + std::to_string(c) : " const";
    }
    kinds_.push_back(
        numbers.emplace(text, static_cast<std::uint32_t>(numbers.size())).first->second);
  }
}

std::vector<std::uint32_t> PieceShapes::shape(const extract::Piece& piece) const {
  // Operators, and of each operand its place inside, or its kind and its place among those outside.
  std::vector<std::uint32_t> shape;
  std::vector<ClassIndex> inside, outside;
  const auto place_in = [](const std::vector<ClassIndex>& list, ClassIndex c) {
    return static_cast<std::uint32_t>(std::ranges::find(list, c) - list.begin());
  };
  for (const NodeIndex node : piece.nodes) {
    shape.push_back(view_.node_op[node].index());
    for (const ClassIndex child : view_.children_of(node)) {
      const std::uint32_t within = place_in(inside, child);
      if (within < inside.size()) {
        shape.insert(shape.end(), {0, within});
        continue;
      }
      const std::uint32_t place = place_in(outside, child);
      if (place == outside.size()) outside.push_back(child);
      shape.insert(shape.end(), {1, place, kinds_[child]});
    }
    inside.push_back(view_.node_class[node]);
  }
  for (const NodeIndex node : piece.stored)
    shape.insert(shape.end(), {2, place_in(inside, view_.node_class[node])});
  return shape;
}

backends::LayoutForm layout_form(std::uint32_t form) {
  return static_cast<backends::LayoutForm>(form);
}

backends::KernelLayouts layouts_of(const extract::Piece& piece) {
  return {layout_form(piece.reads), layout_form(piece.writes)};
}

base::Result<DividedGraph> divided_graph(const rules::TensorEGraph& tensors,
                                         const egraph::EGraphView& view,
                                         const std::vector<bool>& leaves,
                                         const extract::Pieces& pieces,
                                         const extract::KernelGraph& kernels,
                                         std::span<const NodeIndex> choice) {
  Terms terms(tensors, view, leaves, kernels);
  std::vector<Terms::Place> copied;
  std::vector<std::vector<Terms::Place>> kernel_terms;
  DividedGraph divided;
  // Depth first: a kernel is added after those that make what it reads.
  enum class Mark : std::uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(kernels.graph.class_count(), Mark::kNew);
  std::vector<std::size_t> kernel_of(kernels.graph.class_count(), 0);
  std::vector<ClassIndex> stack(view.roots.rbegin(), view.roots.rend());
  while (!stack.empty()) {
    const ClassIndex c = stack.back();
    const bool is_leaf = c < leaves.size() && leaves[c];
    if (is_leaf || marks[c] == Mark::kDone) {
      stack.pop_back();
      continue;
    }
    if (choice[c] == extract::kNoNode)
      return base::internal_error("no kernel is chosen for class " + std::to_string(c));
    if (marks[c] == Mark::kNew) {
      marks[c] = Mark::kOpen;
      const auto needed = kernels.graph.children_of(choice[c]);
      stack.insert(stack.end(), needed.rbegin(), needed.rend());
      continue;
    }
    stack.pop_back();
    marks[c] = Mark::kDone;
    if (kernels.piece[choice[c]] == extract::KernelGraph::kCopied) {
      EGRET_ASSIGN_OR_RETURN(const Terms::Place place,
                             terms.stored(kernels.graph.children_of(choice[c])[0]));
      terms.store(c, place);
      copied.push_back(place);
      divided.copies.push_back(kernels.copy[choice[c]]);
      continue;
    }
    if (!kernels.is_piece(choice[c])) {  // stored by a joint kernel
      const ClassIndex maker = kernels.graph.children_of(choice[c])[0];
      const std::vector<NodeIndex>& nodes = pieces.all[kernels.piece[choice[maker]]].nodes;
      const auto node = std::ranges::find(nodes, kernels.value[c],
                                          [&](NodeIndex n) { return view.node_class[n]; });
      terms.store(c,
                  kernel_terms[kernel_of[maker]][static_cast<std::size_t>(node - nodes.begin())]);
      continue;
    }
    const std::uint32_t number = kernels.piece[choice[c]];
    EGRET_ASSIGN_OR_RETURN(auto places, terms.add_kernel(pieces.all[number]));
    if (kernels.value[c] != extract::KernelGraph::kNoValue) terms.store(c, places.back());
    kernel_of[c] = kernel_terms.size();
    kernel_terms.push_back(std::move(places));
    divided.pieces.push_back(number);
  }
  std::vector<Terms::Place> outputs;
  for (const egraph::ClassId root : tensors.roots()) {
    const auto found = std::ranges::lower_bound(view.class_id, root);
    EGRET_ASSIGN_OR_RETURN(const Terms::Place place,
                           terms.stored(static_cast<ClassIndex>(found - view.class_id.begin())));
    outputs.push_back(place);
  }
  std::vector<ir::NodeId> places;
  EGRET_ASSIGN_OR_RETURN(divided.graph, tensors.to_graph(terms.all(), outputs, &places));
  divided.origins.resize(divided.graph.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (divided.graph.node(places[i]).kind != ir::NodeKind::kInput)
      divided.origins[places[i].index()] = terms.all()[i].node;
  }
  for (const std::vector<Terms::Place>& kernel : kernel_terms) {
    std::vector<ir::NodeId>& nodes = divided.division.emplace_back();
    for (const Terms::Place place : kernel) nodes.push_back(places[place]);
    std::ranges::sort(nodes);
  }
  if (kernels.has_forms) {
    for (const std::uint32_t number : divided.pieces)
      divided.layouts.kernels.push_back(layouts_of(pieces.all[number]));
    for (std::size_t i = 0; i < copied.size(); ++i) {
      const extract::KernelGraph::Copy& copy = kernels.copies[divided.copies[i]];
      divided.layouts.reorders.push_back(
          {places[copied[i]], layout_form(copy.from), layout_form(copy.to)});
    }
  }
  return divided;
}

std::optional<std::vector<extract::Piece>> pieces_of(const rules::TensorEGraph& tensors,
                                                     const egraph::EGraphView& view,
                                                     const std::vector<bool>& leaves,
                                                     std::span<const egraph::NodeId> origins,
                                                     const backends::Division& division) {
  std::vector<extract::Piece> pieces;
  for (const std::vector<ir::NodeId>& kernel : division) {
    std::vector<NodeIndex> nodes;
    for (auto id = kernel.rbegin(); id != kernel.rend(); ++id) {
      const egraph::NodeId origin = origins[id->index()];
      const auto node = origin.valid() ? view_node(tensors, view, origin) : std::nullopt;
      if (!node) return std::nullopt;
      if (!leaves[view.node_class[*node]]) nodes.push_back(*node);
    }
    if (nodes.empty()) continue;
    extract::Piece piece = extract::piece_of(view, leaves, nodes);
    // Several operators of one class, of which one is an operand of the other: no piece.
    if (piece.nodes.size() != nodes.size()) return std::nullopt;
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

std::vector<std::uint32_t> add_pieces(const egraph::EGraphView& view,
                                      std::vector<extract::Piece> added, extract::Pieces& pieces) {
  std::vector<std::uint32_t> numbers;
  for (extract::Piece& piece : added) {
    const ClassIndex root = view.node_class[piece.root()];
    const auto is_same = [&](std::size_t number) {
      const extract::Piece& one = pieces.all[number];
      return one.stored == piece.stored && one.reads == piece.reads && one.writes == piece.writes &&
             std::ranges::is_permutation(one.nodes, piece.nodes);
    };
    std::optional<std::uint32_t> same;
    if (piece.is_joint()) {
      for (std::uint32_t number = 0; number < pieces.all.size() && !same; ++number) {
        if (is_same(number)) same = number;
      }
    } else {
      const auto found = std::ranges::find_if(pieces.of_class[root], is_same);
      if (found != pieces.of_class[root].end()) same = *found;
    }
    if (same) {
      numbers.push_back(*same);
    } else {
      numbers.push_back(piece.is_joint() ? pieces.add_joint(std::move(piece), {})
                                         : pieces.add(root, std::move(piece)));
    }
  }
  return numbers;
}

DividedGraph carried_over(const DividedGraph& divided, ir::Graph folded) {
  const std::vector<ir::NodeId> sources = counterparts(divided.graph, folded);
  std::vector<ir::NodeId> target(divided.graph.size());
  DividedGraph carried;
  carried.pieces = divided.pieces;
  carried.extracted = divided.extracted != nullptr
                          ? divided.extracted
                          : std::make_shared<const ir::Graph>(divided.graph);
  carried.origins.resize(folded.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].valid()) continue;
    target[sources[i].index()] = ir::NodeId(i);
    carried.origins[i] = divided.origins[sources[i].index()];
  }
  for (const std::vector<ir::NodeId>& kernel : divided.division) {
    std::vector<ir::NodeId>& nodes = carried.division.emplace_back();
    for (const ir::NodeId id : kernel) {
      if (target[id.index()].valid()) nodes.push_back(target[id.index()]);
    }
    std::ranges::sort(nodes);
  }
  carried.layouts.kernels = divided.layouts.kernels;
  for (std::size_t i = 0; i < folded.inputs().size(); ++i)
    target[divided.graph.inputs()[i].index()] = folded.inputs()[i];
  for (std::size_t i = 0; i < divided.copies.size(); ++i) {
    backends::Reorder reorder = divided.layouts.reorders[i];
    reorder.value = target[reorder.value.index()];
    if (!reorder.value.valid()) continue;
    carried.layouts.reorders.push_back(reorder);
    carried.copies.push_back(divided.copies[i]);
  }
  carried.graph = std::move(folded);
  return carried;
}

}  // namespace egret::driver
