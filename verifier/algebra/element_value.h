// SPDX-License-Identifier: Apache-2.0
// Computes the value of one element of a graph with symbolic sizes, in sum form. It instantiates
// the operators' definitions with symbolic numbers and composes them. No operator is named here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "ir/graph/operator.h"
#include "verifier/algebra/need.h"
#include "verifier/algebra/real_term.h"
#include "verifier/algebra/sum_form.h"

namespace egret::verifier {

class ElementValues {
 public:
  // `tensors` maps input names to numbers, so two graphs over the same inputs agree. Expands the
  // graph's composites. `splats` are inputs all of whose elements are one number. Unknown reals
  // count as tensors without axes. Errors: those reported by bodies and definitions.
  static base::Result<ElementValues> of(const ir::Graph& graph, AtomTable& atoms,
                                        std::map<std::string, std::int64_t>& tensors,
                                        const std::map<std::string, double>& splats = {},
                                        const RealNumbers& reals = {});

  // The requirements of the definitions on sizes and attributes.
  const std::vector<ir::Guard>& requirements() const { return requirements_; }
  const ir::Graph& graph() const { return graph_; }
  // What the values are made of, for those who write them down.
  const ir::Denotation& denotation(ir::NodeId id) const { return denotations_[id.index()]; }
  const std::map<double, RealTerm>& stand_ins() const { return stand_ins_; }
  std::optional<double> splat(ir::NodeId id) const {
    const auto found = splats_.find(id.index());
    return found != splats_.end() ? std::optional(found->second) : std::nullopt;
  }
  // As the rule states it; that of its type is not included.
  ir::Sign sign(ir::NodeId id) const {
    const auto found = signs_.find(id.index());
    return found != signs_.end() ? found->second : ir::Sign::kUnknown;
  }
  bool rounded() const { return rounded_; }
  // From now on, reductions are expanded into all their values. Requires graphs with numeric sizes
  // and numeric indices.
  void write_out_reductions() {
    written_out_ = true;
    memory_.clear();
  }
  // The element of an output at the given indices. Throws NotExpressible, PolynomialOverflow. If
  // given, `needs` receives the requirements for the element to be a number.
  Sum element(std::size_t output, const std::vector<Polynomial>& at,
              std::vector<Need>* needs = nullptr);
  Sum value_of(const RealTerm& term) const;

  // Guards without variables or elements (requirements, path conditions) as literals. The result is
  // a disjunction of conjunctions, of which exactly one holds.
  static std::vector<Facts> cases(AtomTable& atoms, ir::Guard guard);
  static Polynomial polynomial(AtomTable& atoms, ir::Index index);

 private:
  ElementValues(AtomTable& atoms) : atoms_(&atoms) {}
  Sum constant(double number) const;
  struct Value {
    Sum sum;
    std::vector<Need> needs{};
  };
  Value node_element(ir::NodeId node, const std::vector<Polynomial>& at);

  AtomTable* atoms_;
  ir::Graph graph_;
  std::vector<ir::Denotation> denotations_;  // by node; of operators
  std::map<std::uint32_t, std::int64_t> inputs_;
  std::map<std::uint32_t, double> splats_;
  std::map<std::uint32_t, ir::Sign> signs_;
  std::map<double, RealTerm> stand_ins_;
  std::map<std::string, std::int64_t> unknowns_;  // to tensors
  bool rounded_ = false;
  bool written_out_ = false;
  std::vector<ir::Guard> requirements_;
  std::map<std::pair<std::uint32_t, std::vector<Polynomial>>, Value> memory_;
};

}  // namespace egret::verifier
