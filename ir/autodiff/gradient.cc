// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/gradient.h"

#include <algorithm>

#include "ir/autodiff/contributions.h"
#include "ir/autodiff/sum_of_products.h"
#include "ir/autodiff/tensor_steps.h"
#include "ir/graph/adjoint.h"

namespace egret::ir {
namespace {

using autodiff::Contribution;
using autodiff::Emitter;
using autodiff::Labelled;
using autodiff::SumOfProducts;

// The operator's definition as loops over its whole output, in f64 so that casts to f32 round
// nothing away.
base::Result<LoopNest> nest_of(const Operator& op, const Attrs& attrs,
                               std::span<const TensorType> types) {
  EGRET_ASSIGN_OR_RETURN(const Denotation denotation, denote(op, attrs, types));
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
  for (const TensorType& type : types) {
    dtypes.push_back(type.dtype);
    shapes.push_back(type.shape());
  }
  EGRET_ASSIGN_OR_RETURN(const TermGraph terms, term_graph(denotation, dtypes));
  const Shape output = denotation.type.shape();
  return loop_nest(terms, shapes, output, {Shape(output.size(), 0), output}, Precision::kF64);
}

// One contribution as a tensor of the input's shape.
Value emitted(Emitter& e, const Contribution& part, const Labelled& gradient, const Shape& shape) {
  SumOfProducts sum;
  sum.coefficient = part.coefficient;
  sum.factors.push_back({gradient.value, {}});
  for (const int var : gradient.vars) sum.factors[0].axes.push_back(Affine::of_symbol(var));
  for (const int node : part.factors) add_factor(e, sum, node);
  for (const int node : part.divisors) add_factor(e, sum, node, true);
  sum.guards = part.guards;
  sum.variables = autodiff::united(gradient.vars, part.scope);
  // The gradient of the output is one more factor. The target is the input, indexed as the read
  // indexes it: reading and accumulating use the same offsets.
  sum.target = e.nest().node(part.read).axes;
  sum.target_shape = shape;
  return emit(e, std::move(sum));
}

// Gradients from the definition: every read of an input contributes a sum of products, and each sum
// is emitted as operators (matmul, conv, gather, scatter).
base::Result<std::vector<Value>> derived(GraphBuilder& b, const Operator& op, const Attrs& attrs,
                                         std::span<const Value> inputs, Value output,
                                         Value gradient, const std::vector<bool>& wanted) {
  std::vector<TensorType> types;
  for (const Value input : inputs) types.push_back(b.type(input));
  std::vector<Value> results(inputs.size());
  const bool empty = b.type(output).elements() == 0;
  if (empty) return results;
  EGRET_ASSIGN_OR_RETURN(LoopNest nest, nest_of(op, attrs, types));
  const std::vector<Contribution> parts = autodiff::contributions(nest, wanted);
  // Emits all contributions with one emitter, which shares common subexpressions between them.
  Emitter e(b, nest, inputs, output, b.type(output).dtype);
  const Labelled seed = e.over_output(gradient);
  for (const Contribution& part : parts) {
    const auto at = static_cast<std::size_t>(nest.node(part.read).input);
    const Value value = emitted(e, part, seed, types[at].shape());
    results[at] = results[at].valid() ? b.add("add", {results[at], value}) : value;
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = autodiff::cast_to(b, results[i], types[i].dtype);
  }
  return results;
}

}  // namespace

// A gradient that is written for the operator takes precedence over the derived one.
base::Result<std::vector<Value>> operator_gradient(GraphBuilder& b, const Operator& op,
                                                   const Attrs& attrs,
                                                   std::span<const Value> inputs, Value output,
                                                   Value gradient,
                                                   const std::vector<bool>& wanted) {
  std::vector<bool> real = wanted;
  for (std::size_t i = 0; i < real.size(); ++i) {
    real[i] = real[i] && is_float(b.type(inputs[i]).dtype);
    if (!b.type(inputs[i]).is_concrete()) {
      return base::unsupported(op.name() + ": gradients need known sizes, not " +
                               to_string(b.type(inputs[i])));
    }
  }
  std::vector<Value> none(inputs.size());
  if (!is_float(b.type(output).dtype) || std::ranges::find(real, true) == real.end()) return none;
  if (const Differentiate* own = own_gradient(op)) {
    Adjoint adjoint(b, inputs, output, gradient, attrs);
    std::vector<Value> values = (*own)(adjoint);
    EGRET_RETURN_IF_ERROR(b.status());
    values.resize(inputs.size());
    return values;
  }
  EGRET_CHECK(!op.is_composite(), "composites are expanded before they are differentiated");
  EGRET_ASSIGN_OR_RETURN(std::vector<Value> values,
                         derived(b, op, attrs, inputs, output, gradient, real));
  EGRET_RETURN_IF_ERROR(b.status());
  return values;
}

// Tells how an operator's gradient is obtained, in the order of precedence that gradients()
// follows.
base::Result<GradientSource> gradient_source(const Operator& op, const Attrs& attrs,
                                             std::span<const TensorType> inputs) {
  using Kind = GradientSource::Kind;
  EGRET_ASSIGN_OR_RETURN(const TensorType output, infer_type(op, attrs, inputs));
  std::vector<bool> real;
  for (const TensorType& type : inputs) real.push_back(is_float(type.dtype));
  if (!is_float(output.dtype)) {
    return GradientSource{Kind::kNone, "its output is of " + std::string(to_string(output.dtype))};
  }
  if (std::ranges::find(real, true) == real.end()) {
    return GradientSource{Kind::kNone, "it reads no real numbers"};
  }
  if (own_gradient(op) != nullptr) return GradientSource{Kind::kOwn};
  if (op.is_composite()) return GradientSource{Kind::kBody};
  EGRET_ASSIGN_OR_RETURN(LoopNest nest, nest_of(op, attrs, inputs));
  if (autodiff::contributions(nest, real).empty()) {
    return GradientSource{Kind::kNone, "it is constant but for jumps"};
  }
  return GradientSource{Kind::kDerived};
}

base::Result<Graph> expanded_for_gradients(const Graph& graph) {
  return expand_composites(graph,
                           [](const Node& node) { return own_gradient(*node.op) != nullptr; });
}

base::Result<std::vector<Value>> gradients(GraphBuilder& b, Value loss,
                                           std::span<const Value> wanted) {
  EGRET_RETURN_IF_ERROR(b.status());
  const TensorType type = b.type(loss);
  if (!is_float(type.dtype) || type.rank() != 0) {
    return base::bad_input("a loss must be one real number, not " + to_string(type));
  }
  const Value seed = b.scalar(type.dtype, 1);
  return gradients(b, std::span(&loss, 1), std::span(&seed, 1), wanted);
}

base::Result<std::vector<Value>> gradients(GraphBuilder& b, std::span<const Value> outputs,
                                           std::span<const Value> seeds,
                                           std::span<const Value> wanted) {
  EGRET_RETURN_IF_ERROR(b.status());
  EGRET_CHECK(outputs.size() == seeds.size(), "a seed for each output");
  std::size_t count = 0;
  for (const Value output : outputs) count = std::max<std::size_t>(count, output.id.index() + 1);
  // Node ids are topological, so one forward pass finds the nodes that depend on `wanted`, and one
  // backward pass visits every user before the node itself (reverse-mode accumulation).
  std::vector<bool> leads(count, false);  // to a wanted value
  for (const Value value : wanted) {
    if (value.id.index() < count) leads[value.id.index()] = true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (const NodeId input : b.graph().node(NodeId(i)).inputs) {
      if (leads[input.index()]) leads[i] = true;
    }
  }

  std::vector<Value> found(count);
  // The gradients of several uses add up.
  const auto accumulate = [&](Value& sum, Value part) {
    sum = sum.valid() ? b.add("add", {sum, part}) : part;
  };
  for (std::size_t i = 0; i < outputs.size(); ++i)
    accumulate(found[outputs[i].id.index()], seeds[i]);
  for (std::size_t i = count; i-- > 0;) {
    const Node node = b.graph().node(NodeId(i));  // a copy: the graph grows
    if (!found[i].valid() || !leads[i] || node.kind != NodeKind::kOperator) continue;
    std::vector<Value> inputs;
    std::vector<bool> asked;
    for (const NodeId input : node.inputs) {
      inputs.push_back({input});
      asked.push_back(leads[input.index()]);
    }
    EGRET_ASSIGN_OR_RETURN(
        const std::vector<Value> parts,
        operator_gradient(b, *node.op, node.attrs, inputs, {NodeId(i)}, found[i], asked));
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (parts[k].valid() && asked[k]) accumulate(found[inputs[k].id.index()], parts[k]);
    }
  }
  std::vector<Value> results;
  for (const Value value : wanted) {
    const bool reached = value.id.index() < count && found[value.id.index()].valid();
    results.push_back(reached ? found[value.id.index()]
                              : autodiff::zeros(b, b.type(value).dtype, b.type(value).shape()));
  }
  EGRET_RETURN_IF_ERROR(b.status());
  return results;
}

}  // namespace egret::ir
