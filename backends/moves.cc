// SPDX-License-Identifier: Apache-2.0
#include "backends/moves.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "backends/prepare.h"
#include "base/check.h"
#include "ir/core/attributes.h"

namespace egret::backends {
namespace {

std::size_t index_of(std::int64_t axis) { return static_cast<std::size_t>(axis); }

bool is_identity(const ir::Integers& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (index_of(order[i]) != i) return false;
  }
  return true;
}

// Names of operators that have the rank of their operands and one `axis`.
constexpr std::string_view kAlongAxis[] = {"concat", "slice", "softmax", "log_softmax"};

class Mover {
 public:
  Mover(const ir::Graph& graph, const IsPointwise& is_pointwise)
      : from_(graph), is_pointwise_(is_pointwise), places_(graph.size()) {
    to_.copy_header(graph);
  }

  // Nothing where no transpose vanishes.
  std::optional<WithoutMoves> move_transposes() {
    const auto before = std::ranges::count_if(from_.nodes(), is_transpose);
    if (before < 2) return std::nullopt;
    moves_ = true;
    WithoutMoves moved = run();
    // Those of constants, which have no origin, are folded.
    const std::vector<ir::NodeId> live = ir::live_nodes(moved.graph);
    const auto after = std::ranges::count_if(live, [&](ir::NodeId id) {
      return is_transpose(moved.graph.node(id)) && moved.origin[id.index()].valid();
    });
    if (after >= before) return std::nullopt;
    return moved;
  }

  // Transposes stay. Nothing where there is nothing else to leave out.
  std::optional<WithoutMoves> leave_out_copies() {
    if (std::ranges::none_of(from_.nodes(), [&](const ir::Node& n) { return is_copy(n); }))
      return std::nullopt;
    return run();
  }

 private:
  // The given node's value is transpose{perm=order}(node); as it is, where the order is empty.
  struct Place {
    ir::NodeId node{};
    ir::Integers order{};
  };

  WithoutMoves run() {
    for (std::size_t i = 0; i < from_.size(); ++i) places_[i] = place_of(ir::NodeId(i));
    for (const auto& output : from_.outputs())
      to_.add_output(output.name, in_own_order(output.node));
    return {std::move(to_), std::move(origin_)};
  }

  // An operator whose value is its operand.
  bool is_copy(const ir::Node& node) const {
    return node.kind == ir::NodeKind::kOperator &&
           (node.op->name() == "identity" || node.op->name() == "cast") &&
           from_.node(node.inputs[0]).type == node.type;
  }

  static bool is_transpose(const ir::Node& node) {
    return node.kind == ir::NodeKind::kOperator && node.op->name() == "transpose";
  }

  ir::NodeId append(ir::Node node, ir::NodeId origin) {
    origin_.push_back(origin);
    return to_.append(std::move(node));
  }

  ir::NodeId append(std::string_view op, ir::NodeId input, ir::Attrs attrs, ir::Shape shape,
                    ir::NodeId origin) {
    ir::Node node;
    node.op = ir::find_operator(op);
    EGRET_CHECK(node.op != nullptr, "the operator exists");
    node.attrs = std::move(attrs);
    node.inputs = {input};
    node.type = ir::TensorType(to_.node(input).type.dtype, std::move(shape));
    return append(std::move(node), origin);
  }

  Place place_of(ir::NodeId id) {
    const ir::Node& node = from_.node(id);
    if (node.kind != ir::NodeKind::kOperator) return {append(node, id), {}};
    if (is_copy(node)) return places_[node.inputs[0].index()];
    if (moves_ && is_transpose(node)) return transposed(node);
    if (const ir::Integers order = common_order(node); !order.empty()) {
      // A slice of all elements is pointwise and has an axis as well.
      if (auto place = moved_along_axes(id, order)) return *std::move(place);
      if (is_pointwise_(from_, id)) {
        if (auto place = moved_pointwise(id, order)) return *std::move(place);
      }
    }
    ir::Node same = node;
    for (ir::NodeId& input : same.inputs) input = in_own_order(input);
    return {append(std::move(same), id), {}};
  }

  // Axis i is axis perm[i] of the operand, which is axis order[perm[i]] of what is computed.
  Place transposed(const ir::Node& node) const {
    const Place& operand = places_[node.inputs[0].index()];
    ir::Integers order = node.attrs.integers("perm");
    if (!operand.order.empty()) {
      for (std::int64_t& axis : order) axis = operand.order[index_of(axis)];
    }
    return {operand.node, is_identity(order) ? ir::Integers() : order};
  }

  // The order of the operands that have the result's rank and are transposed; empty where there are
  // none, or several orders.
  ir::Integers common_order(const ir::Node& node) const {
    ir::Integers order;
    for (const ir::NodeId input : node.inputs) {
      const Place& place = places_[input.index()];
      if (place.order.empty()) continue;
      if (!order.empty() && place.order != order) return {};
      order = place.order;
    }
    return order;
  }

  // The value itself, transposed if need be; each once.
  ir::NodeId in_own_order(ir::NodeId id) {
    const Place place = places_[id.index()];
    if (place.order.empty()) return place.node;
    const auto [known, is_new] = transposed_.try_emplace({place.node, place.order});
    if (is_new) {
      known->second =
          append("transpose", place.node, {{"perm", place.order}}, from_.node(id).type.shape(), id);
    }
    return known->second;
  }

  // What axis i of the result is, for axes in this order.
  template <typename Numbers>
  static Numbers reordered(const Numbers& numbers, const ir::Integers& order) {
    Numbers result(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) result[index_of(order[i])] = numbers[i];
    return result;
  }

  // The operand of a pointwise operator in this order. Nothing where that moves a computed tensor.
  std::optional<ir::NodeId> in_order(ir::NodeId id, const ir::Integers& order) {
    const Place& place = places_[id.index()];
    if (place.order == order) return place.node;
    const ir::TensorType& type = from_.node(id).type;
    if (!place.order.empty()) return std::nullopt;
    if (type.elements() == 1 && type.rank() <= 1) return place.node;
    const bool constant = from_.node(id).kind == ir::NodeKind::kConstant;
    if (!constant && !is_vector(type)) return std::nullopt;
    ir::Shape full(order.size(), 1);  // aligned at the last axis
    const ir::Shape shape = type.shape();
    std::ranges::copy(shape, full.end() - static_cast<std::ptrdiff_t>(shape.size()));
    const ir::Shape wanted = reordered(full, order);
    // A vector keeps the order of its elements.
    if (is_vector(type))
      return append("reshape", place.node, {{"shape", ir::Integers(wanted.begin(), wanted.end())}},
                    wanted, ir::NodeId());
    ir::Integers inverse(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      inverse[index_of(order[i])] = static_cast<std::int64_t>(i);
    const ir::NodeId widened =
        append("reshape", place.node, {{"shape", ir::Integers(full.begin(), full.end())}}, full,
               ir::NodeId());
    return append("transpose", widened, {{"perm", inverse}}, wanted, ir::NodeId());
  }

  std::optional<Place> moved_pointwise(ir::NodeId id, const ir::Integers& order) {
    ir::Node node = from_.node(id);
    if (node.type.shape().size() != order.size()) return std::nullopt;
    std::vector<ir::NodeId> operands;
    for (const ir::NodeId input : node.inputs) {
      const auto operand = in_order(input, order);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    node.inputs = std::move(operands);
    if (node.op->name() == "broadcast")
      node.attrs.set("shape", reordered(node.attrs.integers("shape"), order));
    return moved(std::move(node), id, order);
  }

  // The result lies in this order: its name, which is that of a value, is left out. Nothing where
  // the operator, with its attributes, gives another type.
  std::optional<Place> moved(ir::Node node, ir::NodeId id, const ir::Integers& order) {
    node.type = ir::TensorType(node.type.dtype, reordered(node.type.shape(), order));
    node.name.clear();
    std::vector<ir::TensorType> operands;
    for (const ir::NodeId input : node.inputs) operands.push_back(to_.node(input).type);
    const auto type = ir::infer_type(*node.op, node.attrs, operands);
    if (!type.ok() || *type != node.type) return std::nullopt;
    return Place{append(std::move(node), id), order};
  }

  // Operators with attributes about axes. All operands have the order.
  std::optional<Place> moved_along_axes(ir::NodeId id, const ir::Integers& order) {
    ir::Node node = from_.node(id);
    const std::string& name = node.op->name();
    for (ir::NodeId& input : node.inputs) {
      const Place& place = places_[input.index()];
      if (place.order != order) return std::nullopt;
      input = place.node;
    }
    if (std::ranges::find(kAlongAxis, name) != std::end(kAlongAxis)) {
      node.attrs.set("axis", order[index_of(node.attrs.integer("axis"))]);
      return moved(std::move(node), id, order);
    }
    if (name == "pad") {
      for (const char* const side : {"before", "after", "interior"}) {
        const ir::Integers sizes = node.attrs.integers(side);
        if (sizes.size() == order.size()) node.attrs.set(side, reordered(sizes, order));
      }
      return moved(std::move(node), id, order);
    }
    if (name.starts_with("reduce_")) return moved_reduction(std::move(node), id, order);
    return std::nullopt;
  }

  std::optional<Place> moved_reduction(ir::Node node, ir::NodeId id, const ir::Integers& order) {
    ir::Integers axes = node.attrs.integers("axes");
    for (std::int64_t& axis : axes) axis = order[index_of(axis)];
    std::ranges::sort(axes);
    node.attrs.set("axes", axes);
    if (node.attrs.integer("keepdims") != 0) return moved(std::move(node), id, order);
    // What is left of the order, with axes numbered among those that are left.
    const auto gone = [&](std::int64_t axis) { return std::ranges::binary_search(axes, axis); };
    ir::Integers left;
    for (const std::int64_t axis : order) {
      if (gone(axis)) continue;
      left.push_back(axis - std::ranges::count_if(axes, [&](std::int64_t a) { return a < axis; }));
    }
    if (!is_identity(left)) return moved(std::move(node), id, left);
    return Place{append(std::move(node), id), {}};
  }

  const ir::Graph& from_;
  const IsPointwise& is_pointwise_;
  bool moves_ = false;         // transposes
  std::vector<Place> places_;  // by node of from_
  ir::Graph to_;
  std::vector<ir::NodeId> origin_;
  std::map<std::pair<ir::NodeId, ir::Integers>, ir::NodeId> transposed_;
};

}  // namespace

std::optional<WithoutMoves> without_moves(const ir::Graph& graph, const IsPointwise& is_pointwise) {
  if (auto moved = Mover(graph, is_pointwise).move_transposes()) return moved;
  return Mover(graph, is_pointwise).leave_out_copies();
}

}  // namespace egret::backends
