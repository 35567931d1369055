// SPDX-License-Identifier: Apache-2.0
#include "ir/nest/work.h"

#include <algorithm>
#include <vector>

#include "ir/core/integer_arithmetic.h"
#include "ir/graph/body.h"
#include "ir/nest/term_graph.h"

namespace egret::ir {
namespace {

// Counts an operation once for each combination of the reduction variables that it depends on. That
// is the execution count after hoisting, since a loop-invariant term depends on fewer variables.
class WorkCounter {
 public:
  explicit WorkCounter(const TermGraph& graph, const Shape& shape)
      : graph_(graph),
        extents_(static_cast<std::size_t>(graph.var_count), 1.0),
        middles_(static_cast<std::size_t>(graph.var_count), 0),
        depends_(graph.terms.size(), std::vector<bool>(extents_.size(), false)) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      middles_[static_cast<std::size_t>(graph.vars[axis])] = shape[axis] / 2;
    }
  }

  // Per output element: arithmetic, and elements read from each input.
  // Terms are stored operands first, so one ascending pass knows the kids' variables.
  double count(std::vector<double>& reads) {
    bind_reductions();
    double flops = 0;
    for (std::size_t id = 0; id < graph_.terms.size(); ++id) {
      const Term& term = graph_.terms[id];
      std::vector<bool>& depends = depends_[id];
      for (const TermId kid : term.kids) {
        const std::vector<bool>& of_kid = depends_[static_cast<std::size_t>(kid)];
        for (std::size_t v = 0; v < depends.size(); ++v) depends[v] = depends[v] || of_kid[v];
      }
      if (term.op == ExprOp::kVar) depends[static_cast<std::size_t>(term.integer)] = true;
      if (term.op == ExprOp::kReduce) {
        const auto var = static_cast<std::size_t>(graph_[term.kids[0]].integer);
        depends[var] = false;
        // A box is nested reductions of one kind; its terms are counted at the innermost.
        const Term& body = graph_[term.kids[3]];
        const bool box = body.op == ExprOp::kReduce && body.reduction == term.reduction;
        if (!box) flops += executions(depends) * extents_[var];
      } else if (is_arithmetic(term.op)) {
        flops += executions(depends);
      } else if (term.op == ExprOp::kRead) {
        reads[static_cast<std::size_t>(term.integer)] += executions(depends);
      }
    }
    return flops;
  }

 private:
  static bool is_arithmetic(ExprOp op) { return op >= ExprOp::kAdd && op <= ExprOp::kCall; }

  // Extents of all reduction variables. An outer reduction comes after what is inside it, and its
  // variable may be in an inner extent, so go from the root down.
  void bind_reductions() {
    for (std::size_t id = graph_.terms.size(); id-- > 0;) {
      const Term& term = graph_.terms[id];
      if (term.op != ExprOp::kReduce) continue;
      const auto var = static_cast<std::size_t>(graph_[term.kids[0]].integer);
      const std::int64_t extent = middle_of(term.kids[1]);
      extents_[var] = static_cast<double>(std::max<std::int64_t>(extent, 0));
      middles_[var] = extent / 2;
    }
  }

  // An index expression with every variable at the middle of its range.
  std::int64_t middle_of(TermId id) const {
    const Term& term = graph_[id];
    const auto kid = [&](std::size_t i) { return middle_of(term.kids[i]); };
    switch (term.op) {
      case ExprOp::kIndexConst: return term.integer;
      case ExprOp::kVar: return middles_[static_cast<std::size_t>(term.integer)];
      case ExprOp::kIndexAdd: return wrapping_add(kid(0), kid(1));
      case ExprOp::kIndexMul: return wrapping_mul(kid(0), kid(1));
      case ExprOp::kIndexMin: return std::min(kid(0), kid(1));
      case ExprOp::kIndexMax: return std::max(kid(0), kid(1));
      case ExprOp::kIndexDiv: return euclidean_div(kid(0), std::max<std::int64_t>(kid(1), 1));
      case ExprOp::kIndexMod: {
        const std::int64_t divisor = std::max<std::int64_t>(kid(1), 1);
        return kid(0) - euclidean_div(kid(0), divisor) * divisor;
      }
      default: return 0;  // an element of a tensor: unknown
    }
  }

  double executions(const std::vector<bool>& depends) const {
    double product = 1;
    for (std::size_t v = 0; v < depends.size(); ++v) {
      if (depends[v]) product *= extents_[v];  // 1 for the output's own variables
    }
    return product;
  }

  const TermGraph& graph_;
  std::vector<double> extents_;
  std::vector<std::int64_t> middles_;
  std::vector<std::vector<bool>> depends_;
};

// The arithmetic of a composite is that of its body. Its traffic is that of its inputs and output:
// values inside may stay in registers or caches.
base::Result<Work> work_of_body(const Operator& op, const Attrs& attrs,
                                std::span<const TensorType> types) {
  EGRET_RETURN_IF_ERROR(check_arity(op, types.size()));
  auto body = body_graph(op, attrs, types);
  if (!body.ok()) return body.status().at(op.name());
  Work work;
  for (const NodeId id : live_nodes(*body)) {
    const Node& node = body->node(id);
    if (node.kind != NodeKind::kOperator) continue;
    EGRET_ASSIGN_OR_RETURN(const Work own, work_of(*body, node));
    work.flops += own.flops;
  }
  for (const TensorType& type : types) work.bytes_read += static_cast<double>(type.bytes());
  work.bytes_written = static_cast<double>(body->node(body->outputs().front().node).type.bytes());
  return work;
}

}  // namespace

base::Result<Work> work_of(const Operator& op, const Attrs& attrs,
                           std::span<const TensorType> types) {
  for (const TensorType& type : types) {
    if (!type.is_concrete() || !element_count(type.shape())) {
      return base::usage_error(op.name() + ": work is known for concrete types alone, not " +
                               to_string(type));
    }
  }
  if (op.is_composite()) return work_of_body(op, attrs, types);
  EGRET_ASSIGN_OR_RETURN(const Denotation denotation, denote_concrete(op, attrs, types));
  std::vector<DType> dtypes;
  for (const TensorType& type : types) dtypes.push_back(type.dtype);
  EGRET_ASSIGN_OR_RETURN(const TermGraph graph, term_graph(denotation, dtypes));
  std::vector<double> reads(types.size(), 0);
  const auto elements = static_cast<double>(denotation.type.elements());
  Work work;
  work.flops = WorkCounter(graph, denotation.type.shape()).count(reads) * elements;
  for (std::size_t i = 0; i < types.size(); ++i) {
    // A window read many times still loads its input once.
    work.bytes_read += std::min(reads[i] * elements, static_cast<double>(types[i].elements())) *
                       static_cast<double>(byte_size(types[i].dtype));
  }
  work.bytes_written = static_cast<double>(denotation.type.bytes());
  return work;
}

base::Result<Work> work_of(const Graph& graph, const Node& node) {
  std::vector<TensorType> types;
  for (const NodeId input : node.inputs) types.push_back(graph.node(input).type);
  return work_of(*node.op, node.attrs, types);
}

}  // namespace egret::ir
