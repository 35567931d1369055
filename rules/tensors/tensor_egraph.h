// SPDX-License-Identifier: Apache-2.0
// A tensor program as an e-graph: built from an ir::Graph, it represents all equal programs, and
// one of them is extracted as an ir::Graph.
//
//   EGRET_ASSIGN_OR_RETURN(auto tensors, TensorEGraph::from_graph(graph));
//   saturate(*tensors, rules, options);                        // rules/tensors/saturate.h
//   const Selection best = ... one node of each class ...;     // extract/
//   EGRET_ASSIGN_OR_RETURN(ir::Graph result, tensors->to_graph(best));
//
// It owns the language (the meaning of OpIds), the analysis (types, constness) and the engine's
// e-graph. It also records origins: the classes of the program's values and outputs, and the rule
// that made each node.
//
// Sizes are numbers, or open (rules/tensors/open_sizes.h). Not movable, because the engine refers
// to its parts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "egraph/core/egraph.h"
#include "egraph/core/view.h"
#include "ir/graph/graph.h"
#include "rules/tensors/tensor_analysis.h"
#include "rules/tensors/tensor_language.h"

namespace egret::rules {

// A node for each class that the program needs, by canonical ClassId; invalid elsewhere.
struct Selection {
  std::vector<egraph::NodeId> node_of;
};

class TensorEGraph {
 public:
  // The e-graph of the live part of a program. Sizes may be symbolic only with `open`, which must
  // outlive the e-graph.
  static base::Result<std::unique_ptr<TensorEGraph>> from_graph(const ir::Graph& graph,
                                                                OpenSizes* open = nullptr);

  TensorEGraph(const TensorEGraph&) = delete;
  TensorEGraph& operator=(const TensorEGraph&) = delete;

  egraph::EGraph& egraph() { return *egraph_; }
  const egraph::EGraph& egraph() const { return *egraph_; }
  TensorLanguage& language() { return language_; }
  const TensorLanguage& language() const { return language_; }

  OpenSizes* open_sizes() const { return open_; }
  // The body of an `opaque` operator; null if it has none, and for other operators.
  const ir::Graph* body(egraph::OpId op) const;

  const TensorFacts& facts(egraph::ClassId id) const { return analysis_.facts(egraph_->data(id)); }
  const ir::TensorType& type(egraph::ClassId id) const { return facts(id).type; }
  bool is_constant(egraph::ClassId id) const { return facts(id).constant; }

  // Adds op(children) after making `attrs` canonical. Fails if it is ill-typed.
  base::Result<egraph::ClassId> add(const ir::Operator& op, const ir::Attrs& attrs,
                                    std::span<const egraph::ClassId> children);
  base::Result<egraph::ClassId> add_constant(const ir::Tensor& data, std::string_view name = {});

  // The canonical classes of the program's outputs, in order, with repetitions.
  std::vector<egraph::ClassId> roots() const;

  // The canonical class of a live node of the program.
  egraph::ClassId value(ir::NodeId node) const {
    return egraph_->find(program_classes_[node.index()]);
  }

  // The program that uses the selected node in each class that the outputs need. Keeps inputs,
  // outputs, metadata and the names of the program's values. Every class becomes one node. Fails if
  // the selection is cyclic or lacks a node for a needed class.
  base::Result<ir::Graph> to_graph(const Selection& selection) const {
    return to_graph(selection, roots());
  }
  // The same with other classes as outputs, of the same types. `origins`: gets the e-node of each
  // node of the graph, invalid for inputs.
  base::Result<ir::Graph> to_graph(const Selection& selection,
                                   std::span<const egraph::ClassId> outputs,
                                   std::vector<egraph::NodeId>* origins = nullptr) const;
  // A node with its operands, which are places in a list of terms.
  struct Term {
    egraph::NodeId node;
    std::vector<std::uint32_t> operands;
  };
  // The program made of these terms, operands first: one node a term, save inputs. `outputs` and
  // `places`: the terms of the outputs, and the node of each term. A class may have several terms.
  base::Result<ir::Graph> to_graph(std::span<const Term> terms,
                                   std::span<const std::uint32_t> outputs,
                                   std::vector<ir::NodeId>* places = nullptr) const;
  // The node without its inputs, and without a name unless it is a constant.
  base::Result<ir::Node> to_node(egraph::NodeId node) const;
  // The original program, as far as rewriting has not hidden its nodes: of each class the oldest
  // node with a term of such nodes. O(nodes log nodes).
  Selection original() const;
  // The selection of node `chosen[c]` for view class c (an index into the view's nodes; values at
  // or above the node count mean none). The view must be of this e-graph, which must not have
  // changed since.
  Selection from_view(const egraph::EGraphView& view, std::span<const std::uint32_t> chosen) const;

  // Origins. A rule is announced by number after it was applied: everything added since the last
  // announcement is credited to it.
  static constexpr std::uint32_t kProgram = 0xffffffffU;  // not made by a rule
  void credit_new_nodes(std::uint32_t rule);
  // Records that a rule is about to show that a value needs no operator of its own, because it
  // equals `kept`. It is credited to the rule announced next.
  void note_elimination(egraph::ClassId eliminated, egraph::ClassId kept);
  struct Elimination {
    egraph::ClassId id;  // as it was when the rule was applied
    std::uint32_t rule;
  };
  // The eliminated values of the program.
  const std::vector<Elimination>& eliminations() const { return eliminations_; }
  // The rule that made the node, or kProgram. O(log announcements).
  std::uint32_t creator(egraph::NodeId node) const;

 private:
  explicit TensorEGraph(OpenSizes* open)
      : open_(open),
        analysis_(language_, open),
        egraph_(std::make_unique<egraph::EGraph>(language_.table(), &analysis_)) {}

  base::Status add_program(const ir::Graph& graph);
  base::Status add_body(const ir::Graph& body, std::int64_t output,
                        std::span<const egraph::ClassId> operands, egraph::ClassId whole);
  std::map<egraph::ClassId, std::string> value_names() const;

  struct Named {
    egraph::ClassId id;
    std::string name;
  };
  struct Credit {
    std::uint32_t begin;  // the first NodeId index
    std::uint32_t rule;
  };

  OpenSizes* open_;
  TensorLanguage language_;
  TensorAnalysis analysis_;
  std::unique_ptr<egraph::EGraph> egraph_;

  std::string name_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, ir::OpaqueBody> bodies_;
  std::vector<egraph::OpId> inputs_;  // in the program's order
  std::vector<Named> outputs_;
  std::vector<Named> values_;  // operators' values that have a name, in the program's order
  std::vector<Credit> credits_;
  std::size_t credited_ = 0;
  std::vector<Elimination> eliminations_;
  std::size_t eliminations_credited_ = 0;
  std::size_t program_ids_ = 0;                   // classes below were made for the program
  std::vector<egraph::ClassId> program_classes_;  // by the program's nodes
};

}  // namespace egret::rules
