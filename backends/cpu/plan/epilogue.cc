// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/epilogue.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "backends/cpu/plan/reorder.h"
#include "ir/analysis/large_constants.h"
#include "ir/ops/activation.h"

namespace egret::backends::cpu {
namespace {

using dnnl::algorithm;
using Operations = std::vector<PostOperation>;

PostOperation eltwise(algorithm a, double alpha = 0, double beta = 0) {
  return {
      PostOperation::Kind::kEltwise, a, static_cast<float>(alpha), static_cast<float>(beta), {}};
}
PostOperation binary(algorithm a, ir::NodeId operand) {
  return {PostOperation::Kind::kBinary, a, 0, 0, operand};
}

struct EltwiseRow {
  std::string_view op;
  algorithm alg;
  std::string_view alpha;  // attribute, or ""
  float fixed_alpha, fixed_beta;
};

// Not exp, which oneDNN makes infinite for NaN.
constexpr std::array kEltwise{
    EltwiseRow{"relu", algorithm::eltwise_relu, "", 0, 0},
    EltwiseRow{"leaky_relu", algorithm::eltwise_relu, "alpha", 0, 0},
    EltwiseRow{"elu", algorithm::eltwise_elu, "alpha", 0, 0},
    EltwiseRow{"tanh", algorithm::eltwise_tanh, "", 0, 0},
    EltwiseRow{"sigmoid", algorithm::eltwise_logistic, "", 0, 0},
    EltwiseRow{"silu", algorithm::eltwise_swish, "", 1, 0},
    EltwiseRow{"hard_swish", algorithm::eltwise_hardswish, "", 0, 0},
    EltwiseRow{"abs", algorithm::eltwise_abs, "", 0, 0},
    EltwiseRow{"sqrt", algorithm::eltwise_sqrt, "", 0, 0},
    EltwiseRow{"neg", algorithm::eltwise_linear, "", -1, 0},
    EltwiseRow{"identity", algorithm::eltwise_linear, "", 1, 0},
};

// A unary operator; false when it has no counterpart.
// hard_sigmoid is a linear operation and a clip. A clip that is open above is a relu, and other
// half-open clips are refused.
bool append_unary(std::string_view op, const ir::Attrs& attrs, Operations& out) {
  if (op == "identity") return true;
  for (const EltwiseRow& row : kEltwise) {
    if (row.op != op) continue;
    out.push_back(eltwise(row.alg, row.alpha.empty() ? row.fixed_alpha : attrs.real(row.alpha),
                          row.fixed_beta));
    return true;
  }
  if (op == "gelu") {
    out.push_back(eltwise(attrs.text("approximate") == "tanh" ? algorithm::eltwise_gelu_tanh
                                                              : algorithm::eltwise_gelu_erf));
    return true;
  }
  if (op == "hard_sigmoid") {
    out.push_back(eltwise(algorithm::eltwise_linear, attrs.real("alpha"), attrs.real("beta")));
    out.push_back(eltwise(algorithm::eltwise_clip, 0, 1));
    return true;
  }
  if (op == "clip") {
    const double low = attrs.real("min");
    const double high = attrs.real("max");
    if (low == 0 && high > 0 && std::isinf(high)) {
      out.push_back(eltwise(algorithm::eltwise_relu));
      return true;
    }
    if (!std::isfinite(low) || !std::isfinite(high) || low > high) return false;
    out.push_back(eltwise(algorithm::eltwise_clip, low, high));
    return true;
  }
  return false;
}

// The value of a constant of one element.
std::optional<double> scalar_constant(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (node.kind != ir::NodeKind::kConstant || node.data.elements() != 1) return std::nullopt;
  return node.data.f64_at(0);
}

// 1 / x for powers of two, where the product equals the quotient to the last bit. Quotients take 10
// % of the time of a product with 64 columns, products 2 % (AVX-512, one thread).
std::optional<double> exact_inverse(double x) {
  int exponent = 0;
  constexpr int kMost = 126;  // of the inverse, too, which is then a normal f32
  if (std::abs(std::frexp(x, &exponent)) != 0.5 || std::abs(exponent - 1) > kMost)
    return std::nullopt;
  return 1 / x;
}

// An operator of the running value and another operand; not max and min, in which oneDNN drops a
// NaN of the running value. A constant of one element becomes a linear eltwise operation, which
// needs no memory; b - x becomes b + (-x).
bool append_binary(const ir::Graph& graph, ir::NodeId value, const ir::Node& node,
                   Operations& out) {
  const std::string& op = node.op->name();
  const bool first = node.inputs[0] == value;
  if (node.inputs[0] == node.inputs[1]) {
    if (op == "mul") out.push_back(eltwise(algorithm::eltwise_square));
    if (op == "add") out.push_back(eltwise(algorithm::eltwise_linear, 2, 0));
    return op == "mul" || op == "add";
  }
  // x * x and x + x read the running value twice and were handled above.
  const ir::NodeId other = node.inputs[first ? 1 : 0];
  if (graph.node(other).type.dtype != ir::DType::kF32) return false;
  const auto scalar = scalar_constant(graph, other);
  if (op == "add") {
    out.push_back(scalar ? eltwise(algorithm::eltwise_linear, 1, *scalar)
                         : binary(algorithm::binary_add, other));
  } else if (op == "mul") {
    out.push_back(scalar ? eltwise(algorithm::eltwise_linear, *scalar, 0)
                         : binary(algorithm::binary_mul, other));
  } else if (op == "sub" && first) {
    out.push_back(scalar ? eltwise(algorithm::eltwise_linear, 1, -*scalar)
                         : binary(algorithm::binary_sub, other));
  } else if (op == "sub") {
    out.push_back(eltwise(algorithm::eltwise_linear, -1, scalar.value_or(0)));
    if (!scalar) out.push_back(binary(algorithm::binary_add, other));
  } else if (op == "div" && first) {
    const auto inverse = scalar ? exact_inverse(*scalar) : std::nullopt;
    out.push_back(inverse ? eltwise(algorithm::eltwise_linear, *inverse, 0)
                          : binary(algorithm::binary_div, other));
  } else {
    return false;
  }
  return true;
}

// Adds the operations that compute `next` from the running value; false where oneDNN has none.
bool append(const ir::Graph& graph, ir::NodeId value, ir::NodeId next, Operations& out) {
  const ir::Node& node = graph.node(next);
  if (node.inputs.size() == 1) return append_unary(node.op->name(), node.attrs, out);
  return node.inputs.size() == 2 && append_binary(graph, value, node, out);
}

// Whether the operation adds a tensor of the target's full shape: it can then be accumulated into.
bool adds_whole(const ir::Graph& graph, const PostOperation& operation,
                const EpilogueTarget& target) {
  if (operation.kind != PostOperation::Kind::kBinary ||
      operation.algorithm != algorithm::binary_add)
    return false;
  const auto view = operand_view(graph.node(operation.operand).type.shape(), target);
  return view.ok() && view->whole;
}

// The operand seen in the target's axes, in memory that a primitive can read.
Operand bound_operand(PlanBuilder& builder, ir::NodeId id, const OperandView& view,
                      const EpilogueTarget& target) {
  const ir::Shape shape = builder.node(id).type.shape();
  if (view.whole && shape == target.shape) return builder.in_layout(id, target.layout);
  Operand operand = builder.in_row_major(id);
  operand.type = ir::TensorType(ir::DType::kF32, view.shape);
  operand.layout = row_major(view.shape);
  return operand;
}

bool is_linear(const PostOperation& operation) {
  return operation.kind == PostOperation::Kind::kEltwise &&
         operation.algorithm == algorithm::eltwise_linear;
}

// Whether two linear operations may become one. Not, where a constant counts on rounding, as in
// (x + 12582912) - 12582912, or brings the product to the end of the range. A change of sign rounds
// nothing.
bool may_join(const PostOperation& before, const PostOperation& next) {
  const auto keeps_size = [](const PostOperation& operation) {
    return std::abs(operation.alpha) == 1 && operation.beta == 0;
  };
  if (keeps_size(before) || keeps_size(next)) return true;
  return std::ranges::none_of(std::array{before.alpha, before.beta, next.alpha, next.beta},
                              [](float value) { return leaves_no_fraction(value); });
}

// c (a x + b) + d = (c a) x + (c b + d)
void join_linear(Operations& operations) {
  Operations joined;
  for (const PostOperation& operation : operations) {
    if (!joined.empty() && is_linear(operation) && is_linear(joined.back()) &&
        may_join(joined.back(), operation)) {
      PostOperation& before = joined.back();
      before = eltwise(algorithm::eltwise_linear, operation.alpha * before.alpha,
                       operation.alpha * before.beta + operation.beta);
    } else {
      joined.push_back(operation);
    }
  }
  operations = std::move(joined);
}

// oneDNN 2.6.3 applies one set of parameters to all uses of an algorithm: such groups are refused.
bool repeats_eltwise(const Operations& operations) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].kind != PostOperation::Kind::kEltwise) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (operations[j].kind == PostOperation::Kind::kEltwise &&
          operations[j].algorithm == operations[i].algorithm)
        return true;
    }
  }
  return false;
}

// The number of reads of a value by the group's nodes.
std::ptrdiff_t reads(const ir::Graph& graph, const Group& group, ir::NodeId id) {
  std::ptrdiff_t count = 0;
  for (const ir::NodeId node : group.nodes)
    count += std::ranges::count(graph.node(node).inputs, id);
  return count;
}

// The addend in memory that the kernel may overwrite: its own home if it dies here, else a copy.
Operand accumulated_operand(PlanBuilder& builder, const Group& group, ir::NodeId id,
                            const EpilogueTarget& target) {
  const ir::Shape shape = builder.node(id).type.shape();
  const Layout layout = shape == target.shape ? target.layout : row_major(shape);
  const Operand* home = builder.find_home(id, layout);
  // A second read inside the group would see the overwritten value.
  if (home != nullptr && is_dense(home->layout, shape) && builder.may_overwrite(id, *home) &&
      reads(builder.graph(), group, id) == 1) {
    Operand own = *home;
    own.layout = layout;
    return own;
  }
  const Operand source = home != nullptr ? *home : builder.home(id);
  const Operand copy = builder.temporary(source.type, layout);
  add_reorder(builder, source, copy);
  return copy;
}

// Whether each node after the anchor reads the one before, and no other of the group.
bool is_chain(const ir::Graph& graph, const Group& group) {
  for (std::size_t i = 1; i < group.nodes.size(); ++i) {
    const auto& inputs = graph.node(group.nodes[i]).inputs;
    const auto reads = [&](std::size_t of) {
      return std::ranges::find(inputs, group.nodes[of]) != inputs.end();
    };
    if (!reads(i - 1)) return false;
    for (std::size_t earlier = 0; earlier + 1 < i; ++earlier) {
      if (reads(earlier)) return false;
    }
  }
  return true;
}

}  // namespace

bool leaves_no_fraction(double value) {
  return std::isinf(value) || ir::constant_size(ir::DType::kF32, value) == ir::ConstantSize::kLarge;
}

// The whole longer group is checked, because an operation can be refused for what precedes it.
bool epilogue_takes(const ir::Graph& graph, const Group& group, ir::NodeId next) {
  Group longer = group;
  longer.nodes.push_back(next);
  return post_operations(graph, longer).ok();
}

// The group's nodes after the anchor as a list of oneDNN post-operations. A fused activation of the
// anchor comes first, after the addend of the fused operator.
base::Result<Operations> post_operations(const ir::Graph& graph, const Group& group) {
  if (!is_chain(graph, group)) return base::unsupported("the operators do not form a chain");
  Operations operations;
  const ir::Node& anchor = graph.node(group.anchor());
  if (anchor.attrs.find("activation") != nullptr) {
    if (anchor.inputs.size() > 3)
      operations.push_back(binary(algorithm::binary_add, anchor.inputs[3]));
    const ir::Activation* activation = ir::find_activation(anchor.attrs.text("activation"));
    if (activation == nullptr || !append_unary(activation->op, activation->attrs, operations))
      return base::unsupported("activation " + anchor.attrs.text("activation"));
  }
  for (std::size_t i = 1; i < group.nodes.size(); ++i) {
    if (graph.node(group.nodes[i]).type != anchor.type)
      return base::unsupported("an operator of another shape than the product");
    if (!append(graph, group.nodes[i - 1], group.nodes[i], operations))
      return base::unsupported(graph.node(group.nodes[i]).op->name() + " as a post-operation");
  }
  join_linear(operations);
  if (repeats_eltwise(operations))
    return base::unsupported("an eltwise algorithm with two sets of parameters");
  return operations;
}

// An operand's shape in the axes of the primitive, which may have joined the node's batch axes.
base::Result<OperandView> operand_view(const ir::Shape& operand, const EpilogueTarget& target) {
  const ir::Shape& node_shape = target.node_shape;
  // Broadcasting aligns the operand at the last axis and fills missing axes with 1.
  ir::Shape padded(node_shape.size(), 1);
  std::copy(operand.begin(), operand.end(),
            padded.begin() + static_cast<std::ptrdiff_t>(node_shape.size() - operand.size()));
  if (padded == node_shape) return OperandView{target.shape, true};
  if (target.shape == node_shape) return OperandView{padded, false};
  // Batch axes are joined: an operand must repeat over all of them.
  ir::Shape view(target.shape.size(), 1);
  view.back() = padded.back();
  for (std::size_t i = 0; i + 1 < padded.size(); ++i) {
    if (padded[i] != 1) return base::unsupported("an operand varies over merged axes");
  }
  return OperandView{view, view == target.shape};
}

// The addition that the kernel performs on its target ("sum" of oneDNN), which saves reading a
// further operand. Preferred is an addend whose memory is free after this group; the second choice
// needs a copy.
int accumulated_operation(const PlanBuilder& builder, const Group& group,
                          const Operations& operations, const EpilogueTarget& target,
                          bool only_if_dying) {
  int found = -1;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const ir::NodeId id = operations[i].operand;
    if (!adds_whole(builder.graph(), operations[i], target)) continue;
    if (reads(builder.graph(), group, id) > 1) continue;
    const ir::Shape shape = builder.node(id).type.shape();
    const Operand* home = shape == target.shape ? builder.find_home(id, target.layout)
                                                : builder.find_home(id, row_major(shape));
    // Not present in this layout: the kernel may overwrite the reordered copy.
    const bool dying =
        !builder.is_constant(id) && (home == nullptr || builder.may_overwrite(id, *home));
    if (dying) return static_cast<int>(i);
    if (!only_if_dying && found < 0) found = static_cast<int>(i);
  }
  return found;
}

base::Result<dnnl::post_ops> describe_epilogue(const ir::Graph& graph, const Operations& operations,
                                               const EpilogueTarget& target, int accumulate) {
  dnnl::post_ops ops;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const PostOperation& operation = operations[i];
    if (operation.kind == PostOperation::Kind::kEltwise) {
      ops.append_eltwise(1.0F, operation.algorithm, operation.alpha, operation.beta);
    } else if (static_cast<int>(i) == accumulate) {
      ops.append_sum(1.0F);
    } else {
      EGRET_ASSIGN_OR_RETURN(const OperandView view,
                             operand_view(graph.node(operation.operand).type.shape(), target));
      ops.append_binary(operation.algorithm,
                        descriptor(view.shape, view.whole ? target.layout : row_major(view.shape)));
    }
  }
  return ops;
}

base::Result<BoundEpilogue> bind_epilogue(PlanBuilder& builder, const Group& group,
                                          const Operations& operations,
                                          const EpilogueTarget& target, int accumulate) {
  BoundEpilogue bound;
  EGRET_ASSIGN_OR_RETURN(bound.ops,
                         describe_epilogue(builder.graph(), operations, target, accumulate));
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].kind != PostOperation::Kind::kBinary) continue;
    const ir::NodeId id = operations[i].operand;
    EGRET_ASSIGN_OR_RETURN(const OperandView view,
                           operand_view(builder.node(id).type.shape(), target));
    if (static_cast<int>(i) == accumulate) {
      bound.accumulated = accumulated_operand(builder, group, id, target);
    } else {
      const Operand operand = bound_operand(builder, id, view, target);
      bound.arguments.push_back(
          {DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1,
           descriptor(operand.shape(), operand.layout), operand});
    }
  }
  return bound;
}

}  // namespace egret::backends::cpu
