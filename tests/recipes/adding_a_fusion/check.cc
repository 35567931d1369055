// SPDX-License-Identifier: Apache-2.0
// A new group of the CPU backend: one kernel computes both operators, with the right values, only
// if nothing else reads the product. Prints the first thing that does not hold and exits with 1.
#include <cmath>
#include <iostream>
#include <string>

#include "backends/backend.h"
#include "base/random.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/graph_text.h"

namespace {

using namespace egret;

base::Status expect(bool holds, const std::string& what) {
  return holds ? base::ok() : base::mismatch("this does not hold: " + what);
}

base::Result<ir::Graph> graph_of(const std::string& axes, const std::string& more) {
  return ir::parse_graph(
      "egret-graph 1\n%0 = input \"x\" : f32[3,4,5]\n%1 = input \"y\" : f32[3,4,5]\n"
      "%2 = mul(%0, %1)\n%3 = reduce_sum(%2) {axes=[" +
      axes + "], keepdims=0}\noutput \"z\" = %3\n" + more);
}

// How many kernels compute two operators; the values are those of the interpreter.
base::Result<int> fused_kernels(const ir::Graph& graph, const backends::CompileOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const auto plan, backends::find_backend("cpu")->compile(graph, options));
  base::Random random(7);
  const ir::TensorType type(ir::DType::kF32, ir::Shape{3, 4, 5});
  const ir::Tensor inputs[] = {ir::Tensor::random(type, random), ir::Tensor::random(type, random)};
  EGRET_ASSIGN_OR_RETURN(const auto outputs, plan->run(inputs));
  EGRET_ASSIGN_OR_RETURN(const auto expected, ir::interpret(graph, inputs));
  for (std::int64_t i = 0; i < outputs.at(0).elements(); ++i) {
    const double difference = outputs[0].f64_at(i) - expected.at(0).f64_at(i);
    EGRET_RETURN_IF_ERROR(expect(std::abs(difference) < 1e-5, "element " + std::to_string(i)));
  }
  int fused = 0;
  for (const auto& kernel : plan->report().kernels) {
    if (kernel.implementation == "own:row-dot" && kernel.nodes.size() == 2) ++fused;
  }
  return fused;
}

base::Status check() {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph rows, graph_of("2", ""));
  EGRET_ASSIGN_OR_RETURN(const int fused, fused_kernels(rows, {}));
  EGRET_RETURN_IF_ERROR(expect(fused == 1, "one kernel computes both operators"));
  EGRET_ASSIGN_OR_RETURN(const int apart, fused_kernels(rows, {.fuse = false}));
  EGRET_RETURN_IF_ERROR(expect(apart == 0, "without fusion none does"));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph columns, graph_of("1", ""));
  EGRET_ASSIGN_OR_RETURN(const int other, fused_kernels(columns, {}));
  EGRET_RETURN_IF_ERROR(expect(other == 0, "sums over another axis are left alone"));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph seen, graph_of("2", "output \"product\" = %2\n"));
  EGRET_ASSIGN_OR_RETURN(const int visible, fused_kernels(seen, {}));
  return expect(visible == 0, "a product that is an output is left alone");
}

}  // namespace

int main() {
  const base::Status status = check();
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
