// SPDX-License-Identifier: Apache-2.0
// What follows from one file and one row: the extractor is listed, is found by name, and its
// answers are valid. And what holds of a build without a solver. Prints the first thing that does
// not hold and exits with 1.
#include <algorithm>
#include <iostream>
#include <string>

#include "egraph/formats/serialized_egraph.h"
#include "extract/core/extractor.h"
#include "extract/milp/milp.h"

namespace {

using namespace egret;
using namespace egret::extract;

// p and q have a term each of cost 10, or share a class of cost 12.
constexpr std::string_view kFile = R"({"nodes": {
  "r": {"op": "pair", "children": ["p0", "q0"], "eclass": "root", "cost": 0},
  "p0": {"op": "conv", "eclass": "p", "cost": 10},
  "p1": {"op": "left", "children": ["m"], "eclass": "p", "cost": 1},
  "q0": {"op": "conv", "eclass": "q", "cost": 10},
  "q1": {"op": "right", "children": ["m"], "eclass": "q", "cost": 1},
  "m": {"op": "merged", "eclass": "both", "cost": 12}}, "root_eclasses": ["root"]})";

base::Status expect(bool holds, const std::string& what) {
  return holds ? base::ok() : base::mismatch("this does not hold: " + what);
}

base::Status check_without_solver(const Problem& problem) {
  EGRET_RETURN_IF_ERROR(expect(milp_solvers().empty(), "the build has no solver"));
  EGRET_ASSIGN_OR_RETURN(const Solution solution, find_extractor("auto")->extract(problem, {}));
  EGRET_RETURN_IF_ERROR(check_solution(problem, solution));
  EGRET_RETURN_IF_ERROR(expect(solution.dag_cost == 14, "auto finds the shared class"));
  const base::Status exact = find_extractor("ilp")->extract(problem, {}).status();
  return expect(exact.code() == base::StatusCode::kUsage, "ilp says that it cannot be had");
}

base::Status check() {
  egraph::SerializedReader reader;
  EGRET_RETURN_IF_ERROR(reader.feed(kFile));
  EGRET_ASSIGN_OR_RETURN(const egraph::SerializedEGraph file, reader.finish());
  const Problem problem{file.view, file.costs};
  const ExtractorRow* row = find_extractor("restarts");
  EGRET_RETURN_IF_ERROR(expect(row != nullptr, "the extractor is listed"));
  EGRET_ASSIGN_OR_RETURN(const Solution solution, row->extract(problem, {}));
  EGRET_RETURN_IF_ERROR(check_solution(problem, solution));
  EGRET_RETURN_IF_ERROR(expect(solution.dag_cost == 14, "it finds the shared class"));
  EGRET_ASSIGN_OR_RETURN(const Solution greedy,
                         find_extractor("tree-greedy")->extract(problem, {}));
  EGRET_RETURN_IF_ERROR(expect(greedy.dag_cost == 20, "which the greedy one does not"));
  return check_without_solver(problem);
}

}  // namespace

int main() {
  const base::Status status = check();
  if (!status.ok()) std::cout << status.message() << '\n';
  return status.ok() ? 0 : 1;
}
