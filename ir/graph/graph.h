// SPDX-License-Identifier: Apache-2.0
// Tensor graphs: a list of single-output nodes in topological order.
//
// Invariants (check_invariants()):
//   1. A node's inputs have smaller ids than the node.
//   2. Leaves (inputs, constants) have no inputs; operators have canonical attributes and a type
//      that infer_type() gives.
//   3. `inputs()` lists every input leaf once; outputs name existing nodes.
//   4. Input and output names are unique and not empty.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "ir/core/attributes.h"
#include "ir/core/tensor.h"
#include "ir/graph/operator.h"

namespace egret::ir {

using NodeId = base::Id<struct NodeIdTag>;

enum class NodeKind : std::uint8_t { kInput, kConstant, kOperator };

struct Node {
  NodeKind kind = NodeKind::kOperator;
  const Operator* op = nullptr;  // operators only
  Attrs attrs{};
  std::vector<NodeId> inputs{};
  TensorType type{};
  Tensor data{};       // constants only
  std::string name{};  // name in the source model; may be empty for operators
};

struct OpaqueBody {
  std::shared_ptr<const class Graph> graph;
  bool sealed = false;  // what it computes is known, but no rule may look into it
};

class Graph {
 public:
  struct Output {
    std::string name;
    NodeId node;
  };

  std::size_t size() const { return nodes_.size(); }
  const Node& node(NodeId id) const { return nodes_[id.index()]; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<NodeId>& inputs() const { return inputs_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  std::size_t operator_count() const;

  std::string name;
  std::map<std::string, std::string> metadata;  // kept from import to export
  // What opaque nodes (ir/ops/opaque.h) compute, for those that have a definition, by the node's
  // key: the body's inputs are the operands, in order, and its output "i" is the node's output i.
  std::map<std::string, OpaqueBody> bodies;
  // Takes the name, the metadata and the bodies.
  void copy_header(const Graph& other);

  // Low-level construction; GraphBuilder is the checked way.
  NodeId append(Node node);
  void rename(NodeId id, std::string node_name) { nodes_[id.index()].name = std::move(node_name); }
  void add_output(std::string output_name, NodeId node) {
    outputs_.push_back({std::move(output_name), node});
  }

  base::Status check_invariants() const;

 private:
  std::vector<Node> nodes_;
  std::vector<NodeId> inputs_;
  std::vector<Output> outputs_;
};

// Ids of the nodes that the outputs need, in order. Inputs of the graph always count as needed.
std::vector<NodeId> live_nodes(const Graph& graph);
// The graph without dead nodes.
Graph without_dead_nodes(const Graph& graph);
// For each node, how many inputs and graph outputs refer to it.
std::vector<int> use_counts(const Graph& graph);
// The graph with the named symbols bound to sizes and all types inferred again.
// Errors: a name that no dimension has; sizes that break a requirement.
base::Result<Graph> bind_symbols(const Graph& graph,
                                 const std::map<std::string, std::int64_t>& sizes);
// The graph with every composite operator replaced by its body, repeatedly. Operators for which
// `keep` is true stay.
base::Result<Graph> expand_composites(const Graph& graph,
                                      const std::function<bool(const Node&)>& keep = {});

}  // namespace egret::ir
