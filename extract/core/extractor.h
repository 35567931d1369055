// SPDX-License-Identifier: Apache-2.0
// Extraction: choosing one node for every class that the roots need, acyclically, at minimal cost.
//
// The cost of a choice is the sum over chosen nodes, each paid once (DAG cost). Minimizing it is
// NP-hard (Stepp 2011). Minimizing the tree cost, where shared nodes are paid at each use, is not
// (Knuth 1977).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "egraph/core/view.h"

namespace egret::extract {

using egraph::EGraphView;
using ClassIndex = EGraphView::Index;
using NodeIndex = EGraphView::Index;

inline constexpr NodeIndex kNoNode = std::numeric_limits<NodeIndex>::max();

struct Problem {
  const EGraphView& graph;
  std::span<const double> costs;  // per node; infinite: forbidden
};

struct Options {
  double time_limit_s = 60;
  std::uint64_t seed = 0;
  std::function<bool()> should_stop;  // polled; the best answer so far is returned
};

enum class Quality : std::uint8_t {
  kFeasible,  // an answer, with no proof that it is the best
  kOptimal,   // proven to be of least DAG cost
};

// Invariant: for each class that the roots reach through chosen nodes, `choice` is one of its
// nodes, and the chosen nodes form no cycle. Other classes have kNoNode.
struct Solution {
  std::vector<NodeIndex> choice;
  double dag_cost = 0;
  double tree_cost = 0;  // may be infinite where sharing makes the tree astronomically large
  double bound = 0;      // no answer costs less
  Quality quality = Quality::kFeasible;
  // Problems that affected nothing but the bound: "the solver highs crashed ...".
  std::vector<std::string> notes{};
};

// Errors: bad_input if a root has no finite term.
using Extract = std::function<base::Result<Solution>(const Problem&, const Options&)>;

struct ExtractorRow {
  std::string_view name;
  std::string_view help;
  Extract extract;
};

// An extractor is one file in extract/extractors/ and one row in its extractors.def
// (docs/adding_an_extractor.md). The first is the default.
std::span<const ExtractorRow> extractors();
const ExtractorRow* find_extractor(std::string_view name);  // nullptr: none such

// Recomputes every claim of a solution: complete, acyclic, cost and bound as stated. Independent of
// the extractors. Errors: internal_error that names the class at fault.
base::Status check_solution(const Problem& problem, const Solution& solution);

// Computes the costs of a complete acyclic choice and drops classes that the roots do not reach.
Solution solution_of(const Problem& problem, std::vector<NodeIndex> choice);

}  // namespace egret::extract
