// SPDX-License-Identifier: Apache-2.0
#include "backends/timing/fused_operators.h"

#include <algorithm>
#include <string>

#include "ir/evaluate/graph_evaluation.h"

namespace egret::backends {
namespace {

constexpr std::int64_t kChannels = 16;

// Nothing is measured here: the report of a plan says which kernels compute which operators.
base::Result<PlanReport> report_of(const Backend& backend, const ir::Graph& graph,
                                   CompileOptions options) {
  options.search = false;
  options.report_only = true;
  EGRET_ASSIGN_OR_RETURN(const auto plan, backend.compile(graph, options));
  return plan->report();
}

bool computes(const PlanReport::Kernel& kernel, const ir::Graph& graph, const ir::Operator& op) {
  return std::ranges::any_of(kernel.ids, [&](const ir::NodeId id) {
    return graph.node(id).kind == ir::NodeKind::kOperator && graph.node(id).op == &op;
  });
}

// A 1x1 convolution with random weights.
ir::Value convolved(ir::GraphBuilder& builder, ir::Value x, std::int64_t from, std::int64_t to,
                    base::Random& random) {
  const ir::TensorType weights(ir::DType::kF32, ir::Shape{to, from, 1, 1});
  const ir::Integers ones{1, 1};
  return builder.add("conv", {x, builder.constant(ir::Tensor::random(weights, random))},
                     {{"strides", ones}, {"dilations", ones}, {"pads", ir::Integers{0, 0, 0, 0}}});
}

// Whether the value is a rearrangement of inputs' elements, as its definition says.
bool only_moves(const Application& of) {
  if (of.op.is_composite()) return false;
  const auto denotation = ir::denote_concrete(of.op, of.attrs, of.types);
  return denotation.ok() && denotation->pool->node_of(denotation->value)->op == ir::ExprOp::kRead;
}

// Compiles a reader of the operator's value, and of a plain input of the same type.
class Reader {
 public:
  Reader(const Backend& backend, const Application& of, const ir::TensorType& type,
         const CompileOptions& options)
      : backend_(backend), of_(of), type_(type), options_(options) {}

  // Whether the backend reads the moved elements in place: the reader has the same implementation
  // with and without the operator, and no kernel computes the operator.
  base::Result<bool> takes_along(std::string_view reader) const {
    EGRET_ASSIGN_OR_RETURN(const std::string of_given, implementation(reader, false));
    if (of_given.empty()) return false;
    EGRET_ASSIGN_OR_RETURN(const std::string of_moved, implementation(reader, true));
    return of_given == of_moved;
  }

 private:
  // The implementation of the reader; empty where another kernel computes the operator.
  base::Result<std::string> implementation(std::string_view reader, bool moves) const {
    ir::GraphBuilder builder;
    base::Random random(1);
    const ir::Value x = moves ? builder.add(of_.op, add_inputs(builder, of_, random), of_.attrs)
                              : builder.input("x", type_);
    const ir::Shape shape = type_.shape();
    ir::Value y{};
    if (reader == "conv") {
      y = convolved(builder, x, shape[1], kChannels, random);
    } else {
      ir::Shape factor = shape;
      factor[factor.size() - 2] = shape.back();
      factor.back() = kChannels;
      y = builder.add(reader, {x, builder.constant(ir::Tensor::random(
                                      ir::TensorType(ir::DType::kF32, factor), random))});
    }
    builder.output("y", y);
    EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, builder.finish());
    EGRET_ASSIGN_OR_RETURN(const PlanReport report, report_of(backend_, graph, options_));
    std::string found;
    // A kernel that computes the operator without the reader means that the value is materialized.
    for (const PlanReport::Kernel& kernel : report.kernels) {
      const bool reads = computes(kernel, graph, ir::get_operator(reader));
      if (!reads && computes(kernel, graph, of_.op)) return std::string();
      if (reads) found = kernel.implementation;
    }
    return found;
  }

  const Backend& backend_;
  const Application& of_;
  const ir::TensorType& type_;
  const CompileOptions& options_;
};

}  // namespace

std::vector<ir::Value> add_inputs(ir::GraphBuilder& builder, const Application& of,
                                  base::Random& random) {
  std::vector<ir::Value> inputs;
  for (std::size_t i = 0; i < of.types.size(); ++i) {
    if (of.is_constant(i)) {
      inputs.push_back(builder.constant(ir::Tensor::random(of.types[i], random)));
    } else {
      inputs.push_back(builder.input("x" + std::to_string(i), of.types[i]));
    }
  }
  return inputs;
}

// Builds a graph in which other kernels make the operator's inputs. The operator is free where the
// plan has no kernel for it: its inputs are then computed at their place in the result.
base::Result<bool> is_written_in_place(const Backend& backend, const Application& of,
                                       const CompileOptions& options) {
  ir::GraphBuilder builder;
  base::Random random(1);
  std::vector<ir::Value> inputs;
  for (std::size_t i = 0; i < of.types.size(); ++i) {
    const ir::TensorType& type = of.types[i];
    if (of.is_constant(i) || type.dtype != ir::DType::kF32) return false;
    const std::string name = "x" + std::to_string(i);
    if (type.rank() == 4) {
      const ir::Shape shape = type.shape();
      const ir::TensorType given(ir::DType::kF32,
                                 ir::Shape{shape[0], kChannels, shape[2], shape[3]});
      inputs.push_back(convolved(builder, builder.input(name, given), kChannels, shape[1], random));
    } else {
      inputs.push_back(builder.add("relu", {builder.input(name, type)}));
    }
  }
  const ir::Value result = builder.add(of.op, inputs, of.attrs);
  // The result gets a reader, as in a graph: an output would have to be copied out.
  const bool real = builder.type(result).dtype == ir::DType::kF32;
  builder.output("y", real ? builder.add("relu", {result})
                           : builder.add("cast", {result}, {{"to", std::string("f32")}}));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, builder.finish());
  EGRET_ASSIGN_OR_RETURN(const PlanReport report, report_of(backend, graph, options));
  return std::ranges::none_of(report.kernels, [&](const PlanReport::Kernel& kernel) {
    return computes(kernel, graph, of.op);
  });
}

base::Result<bool> is_read_in_place(const Backend& backend, const Application& of,
                                    const ir::TensorType& type, const CompileOptions& options) {
  if (type.dtype != ir::DType::kF32 || type.rank() < 2 || !only_moves(of)) return false;
  const Reader reader(backend, of, type, options);
  EGRET_ASSIGN_OR_RETURN(const bool by_product, reader.takes_along("matmul"));
  if (by_product || type.rank() != 4) return by_product;
  return reader.takes_along("conv");
}

}  // namespace egret::backends
