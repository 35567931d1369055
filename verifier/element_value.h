// SPDX-License-Identifier: Apache-2.0
// From a graph with symbolic sizes to the value of one element of it, in sum form: definitions are
// instantiated with numbers that are symbols, and composed. Nothing here knows an operator by name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "ir/operator.h"
#include "verifier/sum_form.h"

namespace egret::verifier {

// What the form has no place for (integer division of elements, say). Never leaves this folder.
struct NotExpressible {
  std::string what;
};

class ElementValues {
 public:
  // `tensors` gives inputs their numbers by name, so that two graphs over the same inputs agree.
  // The graph's composites are expanded. Errors: what bodies and definitions report.
  // `splats` are inputs whose elements are all one number; `reals` are numbers that stand for
  // unknown ones, which count as tensors without axes.
  static base::Result<ElementValues> of(const ir::Graph& graph, AtomTable& atoms,
                                        std::map<std::string, std::int64_t>& tensors,
                                        const std::map<std::string, double>& splats = {},
                                        const std::map<double, std::string>& reals = {});

  // What the definitions require of sizes and attributes.
  const std::vector<ir::Guard>& requirements() const { return requirements_; }
  const ir::Graph& graph() const { return graph_; }
  // The element of an output at the given indices. Throws NotExpressible, PolynomialOverflow.
  Sum element(std::size_t output, const std::vector<Polynomial>& at);

  // Guards without variables or elements (requirements, path conditions) as literals: a
  // disjunction of conjunctions, of which exactly one holds.
  static std::vector<Facts> cases(AtomTable& atoms, ir::Guard guard);
  static Polynomial polynomial(AtomTable& atoms, ir::Index index);

 private:
  ElementValues(AtomTable& atoms) : atoms_(&atoms) {}
  Sum constant(double number) const;
  Sum node_element(ir::NodeId node, const std::vector<Polynomial>& at);

  AtomTable* atoms_;
  ir::Graph graph_;
  std::vector<ir::Denotation> denotations_;  // by node; of operators
  std::map<std::uint32_t, std::int64_t> inputs_;
  std::map<std::uint32_t, double> splats_;
  std::map<double, std::int64_t> reals_;  // to tensors
  std::vector<ir::Guard> requirements_;
  std::map<std::pair<std::uint32_t, std::vector<Polynomial>>, Sum> memory_;
};

}  // namespace egret::verifier
