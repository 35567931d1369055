// SPDX-License-Identifier: Apache-2.0
#include "ir/analysis/function_text.h"

#include <algorithm>
#include <map>

#include "ir/graph/builder.h"
#include "ir/graph/operator.h"

namespace egret::ir {
namespace {

// Writes the expressions of one denotation as numbered lines, each once.
class Writer {
 public:
  struct Place {
    std::vector<const TensorType*> operands;
    std::vector<const std::vector<int>*> operand_axes;  // left out or kept, by operand
    const std::vector<int>& axes;                       // of the output
    const Denotation& of;
    std::span<const Index> hidden;
  };
  explicit Writer(const Place& place) : place_(place) {
    for (std::size_t axis = 0; axis < place.of.vars.size(); ++axis) {
      if (place.axes[axis] == kKept) variables_.emplace(place.of.vars[axis].node(), axis);
    }
  }

  // The number of the line that describes the node; nullopt if it has no text.
  std::optional<std::size_t> write(const ExprNode& node) {
    if (const auto found = lines_.find(&node); found != lines_.end()) return found->second;
    std::string line = std::to_string(static_cast<int>(node.op));
    std::vector<const ExprNode*> kids(node.kids.begin(), node.kids.end());
    switch (node.op) {
      case ExprOp::kVar: {
        const auto number = variables_.find(&node);
        if (number == variables_.end()) return std::nullopt;
        line += " v" + std::to_string(number->second);
        break;
      }
      case ExprOp::kSymbol:
        if (std::ranges::any_of(place_.hidden, [&](Index one) { return one.node() == &node; }))
          return std::nullopt;
        line += " " + std::string(node.name);
        break;
      // A bound variable is named by its number, so texts are equal up to renaming.
      case ExprOp::kReduce: {
        const std::size_t number = variables_.size();
        variables_.emplace(node.kids[0], number);
        line += " " + std::to_string(static_cast<int>(node.reduction));
        break;
      }
      case ExprOp::kRead:
        line += " operand " + std::to_string(node.integer);
        if (!keep_axes(node, kids)) return std::nullopt;
        break;
      default:
        line += " " + std::to_string(static_cast<int>(node.dtype)) + " " +
                std::to_string(static_cast<int>(node.function)) + " " +
                std::to_string(node.integer) + " " + to_string(AttrValue(node.real));
    }
    for (const ExprNode* kid : kids) {
      const auto number = write(*kid);
      if (!number) return std::nullopt;
      line += " @" + std::to_string(*number);
    }
    text_ += line + "\n";
    return lines_.emplace(&node, lines_.size()).first->second;
  }

  bool write(Guard guard) {
    if (!guard.is_constant()) return write(*guard.node()).has_value();
    text_ += guard.is_true() ? "true\n" : "false\n";
    return true;
  }
  bool write(Scalar scalar) {
    if (!scalar.is_constant()) return write(*scalar.node()).has_value();
    text_ += to_string(AttrValue(scalar.constant())) + "\n";
    return true;
  }
  bool write(Index index) {
    if (!index.is_constant()) return write(*index.node()).has_value();
    text_ += std::to_string(index.constant()) + "\n";
    return true;
  }

  const std::string& text() const { return text_; }

 private:
  // Leaves the axes out of a read. False unless it is at the output element's place along them.
  bool keep_axes(const ExprNode& read, std::vector<const ExprNode*>& indices) const {
    const auto operand = static_cast<std::size_t>(read.integer);
    const std::vector<int>& axes = *place_.operand_axes[operand];
    const Dims& dims = place_.operands[operand]->dims;
    if (axes.size() != indices.size()) return false;
    indices.clear();
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] == kKept) {
        indices.push_back(read.kids[i]);
      } else if (!is_own_place(*read.kids[i], axes[i], dims[i])) {
        return false;
      }
    }
    return true;
  }
  // A repeated axis is read at 0; any other along the output's axis, which is as long.
  bool is_own_place(const ExprNode& index, int axis, Index size) const {
    if (index.op == ExprOp::kIndexConst)
      return index.integer == 0 && size.is_constant() && size.constant() == 1;
    const auto along = std::ranges::find(place_.axes, axis) - place_.axes.begin();
    const auto k = static_cast<std::size_t>(along);
    return k < place_.axes.size() && place_.of.vars[k].node() == &index &&
           place_.of.type.dims[k].same(size);
  }

  Place place_;
  std::map<const ExprNode*, std::size_t> variables_;
  std::map<const ExprNode*, std::size_t> lines_;
  std::string text_;
};

}  // namespace

base::Result<Graph> application(const Operator& op, const Attrs& attrs,
                                std::span<const TensorType> operands) {
  GraphBuilder builder;
  std::vector<Value> inputs;
  for (const TensorType& type : operands) inputs.push_back(builder.input("", type));
  builder.output("out", builder.add(op, inputs, attrs));
  EGRET_ASSIGN_OR_RETURN(const Graph graph, builder.finish());
  return expand_composites(graph);
}

std::optional<std::string> function_text(const Graph& graph, NodeId id, const LeftOutAxes& axes,
                                         std::span<const Index> hidden) {
  const Node& node = graph.node(id);
  if (node.kind == NodeKind::kInput) return "input";
  if (node.kind == NodeKind::kConstant)
    return node.data.elements() == 1 ? std::optional(to_string(node.data, 1)) : std::nullopt;
  std::vector<TensorType> types;
  for (const NodeId input : node.inputs) types.push_back(graph.node(input).type);
  const auto denotation = denote(*node.op, node.attrs, types);
  if (!denotation.ok()) return std::nullopt;
  Writer::Place place{.operands = {},
                      .operand_axes = {},
                      .axes = axes[id.index()],
                      .of = *denotation,
                      .hidden = hidden};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    place.operands.push_back(&types[i]);
    place.operand_axes.push_back(&axes[node.inputs[i].index()]);
  }
  Writer writer(place);
  if (!writer.write(denotation->value)) return std::nullopt;
  for (const Requirement& requirement : denotation->requirements) {
    if (!writer.write(requirement.condition)) return std::nullopt;
  }
  for (std::size_t axis = 0; axis < denotation->vars.size(); ++axis) {
    if (place.axes[axis] == kKept && !writer.write(denotation->type.dims[axis]))
      return std::nullopt;
  }
  return writer.text();
}

std::optional<std::string> functions_text(const Graph& graph, const LeftOutAxes& axes,
                                          std::span<const Index> hidden) {
  std::string text;
  for (const NodeId id : live_nodes(graph)) {
    const Node& node = graph.node(id);
    const auto function = function_text(graph, id, axes, hidden);
    if (!function) return std::nullopt;
    text += std::string(to_string(node.type.dtype)) + " " + *function;
    for (const NodeId input : node.inputs) text += " #" + std::to_string(input.index());
    text += "\n";
  }
  return text;
}

}  // namespace egret::ir
