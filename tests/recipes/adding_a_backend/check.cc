// SPDX-License-Identifier: Apache-2.0
// One folder and one row add a backend: it is found by name, reports its kernels and rounds outputs
// only. Prints the first thing that does not hold and exits with 1.
#include <iostream>
#include <string>

#include "backends/backend.h"
#include "ir/graph/graph_text.h"

namespace {

using namespace egret;

base::Status expect(bool holds, const std::string& what) {
  return holds ? base::ok() : base::mismatch("this does not hold: " + what);
}

// x + 2^-30 - x is 2^-30 in f64, and 0 where the sum is rounded to f32.
base::Result<double> small_difference(const ir::Graph& graph, std::string_view name) {
  const backends::Backend* const backend = backends::find_backend(name);
  EGRET_RETURN_IF_ERROR(expect(backend != nullptr, std::string(name) + " is a backend"));
  EGRET_RETURN_IF_ERROR(backend->availability());
  EGRET_ASSIGN_OR_RETURN(const auto plan, backend->compile(graph, {}));
  EGRET_RETURN_IF_ERROR(expect(plan->report().kernels.size() == 2, "the report has two kernels"));
  const double numbers[] = {1, 1.0 / (1 << 30)};
  const ir::Tensor inputs[] = {
      ir::Tensor::of(ir::DType::kF32, ir::Shape{1}, std::span(numbers).first(1)),
      ir::Tensor::of(ir::DType::kF32, ir::Shape{1}, std::span(numbers).last(1))};
  EGRET_ASSIGN_OR_RETURN(const auto outputs, plan->run(inputs));
  EGRET_RETURN_IF_ERROR(expect(outputs.at(0).dtype() == ir::DType::kF32, "the output is f32"));
  return outputs[0].f64_at(0);
}

base::Status check() {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph,
                         ir::parse_graph("egret-graph 1\n%0 = input \"x\" : f32[1]\n"
                                         "%1 = input \"e\" : f32[1]\n%2 = add(%0, %1)\n"
                                         "%3 = sub(%2, %0)\noutput \"y\" = %3\n"));
  EGRET_ASSIGN_OR_RETURN(const double narrow, small_difference(graph, "reference"));
  EGRET_ASSIGN_OR_RETURN(const double wide, small_difference(graph, "wide"));
  EGRET_RETURN_IF_ERROR(expect(narrow == 0, "the reference rounds each result to f32"));
  EGRET_RETURN_IF_ERROR(expect(wide == 1.0 / (1 << 30), "the new backend does not"));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph symbolic,
                         ir::parse_graph("egret-graph 1\n%0 = input \"x\" : f32[N]\n"
                                         "%1 = neg(%0)\noutput \"y\" = %1\n"));
  return expect(!backends::find_backend("wide")->compile(symbolic, {}).ok(),
                "symbolic sizes are refused");
}

}  // namespace

int main() {
  const base::Status status = check();
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
