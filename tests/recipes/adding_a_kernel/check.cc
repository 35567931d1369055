// SPDX-License-Identifier: Apache-2.0
// One file and one row give cum_sum a kernel: the plan names it, its values are right, and a case
// that it does not handle falls back. Prints the first thing that does not hold and exits with 1.
#include <iostream>
#include <string>

#include "backends/backend.h"
#include "ir/graph/graph_text.h"

namespace {

using namespace egret;

constexpr double kIn[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

base::Status expect(bool holds, const std::string& what) {
  return holds ? base::ok() : base::mismatch("this does not hold: " + what);
}

base::Result<std::unique_ptr<backends::ExecutablePlan>> plan_of(const std::string& attributes) {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph,
                         ir::parse_graph("egret-graph 1\n%0 = input \"x\" : f32[2,3,2]\n"
                                         "%1 = cum_sum(%0) {" +
                                         attributes + "}\noutput \"y\" = %1\n"));
  return backends::find_backend("cpu")->compile(graph, {.emission = backends::Emission::kNone});
}

base::Result<ir::Tensor> result_of(backends::ExecutablePlan& plan) {
  const ir::Tensor x = ir::Tensor::of(ir::DType::kF32, ir::Shape{2, 3, 2}, kIn);
  EGRET_ASSIGN_OR_RETURN(auto outputs, plan.run(std::span(&x, 1)));
  return outputs.at(0);
}

base::Status check() {
  EGRET_ASSIGN_OR_RETURN(const auto plan, plan_of("axis=1"));
  const backends::PlanReport report = plan->report();
  EGRET_RETURN_IF_ERROR(expect(report.fallbacks.empty(), "nothing falls back"));
  EGRET_RETURN_IF_ERROR(
      expect(report.kernels.size() == 1 && report.kernels[0].implementation == "own:rows",
             "the plan has the kernel"));
  EGRET_ASSIGN_OR_RETURN(const ir::Tensor sums, result_of(*plan));
  const double expected[] = {1, 2, 4, 6, 9, 12, 7, 8, 16, 18, 27, 30};
  for (std::int64_t i = 0; i < 12; ++i)
    EGRET_RETURN_IF_ERROR(expect(sums.f64_at(i) == expected[i], "element " + std::to_string(i)));

  EGRET_ASSIGN_OR_RETURN(const auto other, plan_of("axis=1, exclusive=1"));
  const auto fallbacks = other->report().fallbacks;
  EGRET_RETURN_IF_ERROR(
      expect(fallbacks.size() == 1 && fallbacks[0].reason == "an exclusive or reversed sum",
             "an exclusive sum falls back with its reason"));
  EGRET_ASSIGN_OR_RETURN(const ir::Tensor exclusive, result_of(*other));
  return expect(exclusive.f64_at(0) == 0 && exclusive.f64_at(4) == 4, "its values are right");
}

}  // namespace

int main() {
  const base::Status status = check();
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
