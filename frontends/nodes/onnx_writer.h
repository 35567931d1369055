// SPDX-License-Identifier: Apache-2.0
// Writes the nodes of a graph as ONNX nodes at one opset, through the exports of their operators.
//
// Names: graph inputs and outputs keep theirs, other values keep the name they came with where it
// is free, the rest are numbered. The same graph gets the same names.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "frontends/nodes/opaque_nodes.h"
#include "ir/graph/graph.h"
#include "ir/graph/onnx_binding.h"

namespace egret::onnx {
class GraphProto;
class NodeProto;
}  // namespace egret::onnx

namespace egret::frontends {

struct SplitGroup;

class OnnxGraphWriter {
 public:
  // Appends to graph.node(); inputs, outputs and initializers are the caller's.
  // Composites that have a form in a later opset up to `opset_for_composites` need that one.
  // `opaque`: the nodes that are written as they were; null: by their type alone, to be counted.
  OnnxGraphWriter(onnx::GraphProto& graph, int opset, int opset_for_composites = 0,
                  const OpaqueNodes* opaque = nullptr);
  ~OnnxGraphWriter();

  // Errors: unsupported, naming an operator without an ONNX form. If needed_opset() then exceeds
  // the given opset, discard the result and write again with that opset.
  base::Status write(const ir::Graph& graph);

  // The ONNX names of the graph's values, by NodeId; empty for dead nodes.
  const std::vector<std::string>& names() const { return names_; }
  // The node of the graph that each value of the file was written for, inner values of composites
  // included; inputs and initializers are not. By name.
  const std::map<std::string, ir::NodeId>& makers() const { return makers_; }
  int needed_opset() const { return needed_opset_; }
  const std::string& needed_by() const { return needed_by_; }
  const std::set<std::string>& domains() const { return domains_; }  // other than ai.onnx
  // Weights and the constants that exports asked for, in order of first use.
  const std::vector<std::pair<std::string, ir::Tensor>>& initializers() const {
    return initializers_;
  }

 private:
  class Writer;
  class Sizes;        // frontends/nodes/written_sizes.h
  struct Operation {  // one operator to be written, its inputs' names known
    const ir::Operator& op;
    const ir::Attrs& attrs;
    std::vector<std::string> inputs;
    std::vector<ir::TensorType> input_types;
    const ir::TensorType& type;
    std::string output;
  };

  void choose_names(const ir::Graph& graph);
  void reserve_inner_names();
  void keep_foreign_names(const ir::Graph& graph);
  std::string fresh_name(std::string_view stem);
  bool reserve(const std::string& name) { return used_.insert(name).second; }
  // Every node of `graph` in order; names[id] is the ONNX name of each.
  base::Status write_nodes(const ir::Graph& graph, const std::vector<std::string>& names);
  // The nodes of the file from the index `first` on are what `id` became.
  void note_makers(ir::NodeId id, int first);
  base::Status write_split(const SplitGroup& split, const std::vector<std::string>& names);
  // `outputs`: those of one node that are used.
  base::Status write_opaque(const ir::Graph& graph, ir::NodeId id,
                            std::span<const ir::NodeId> outputs,
                            const std::vector<std::string>& names);
  base::Status write_opaque(onnx::NodeProto& proto, const OpaqueNode& opaque,
                            std::span<const std::string> operands,
                            const std::map<std::int64_t, std::string>& outputs);
  base::Status write_foreign(const OpaqueNode& value);
  base::Status write_operation(const Operation& operation);
  base::Status write_body(const Operation& operation);
  // Operators in the place of one node. `outputs`: the names of those that are used, by their name
  // in the body.
  base::Status write_inline(const ir::Graph& body, std::span<const std::string> inputs,
                            const std::map<std::string, std::string>& outputs,
                            std::string_view stem);
  std::string shared_constant(const ir::Tensor& tensor);
  // All nodes from the index `first` on, and what is remembered of them.
  void remove_nodes(int first);
  void need_opset(int version, const std::string& op);

  onnx::GraphProto& graph_;
  int opset_;
  int opset_for_composites_;
  const OpaqueNodes* opaque_;
  int needed_opset_ = 0;
  std::string needed_by_;
  std::set<std::string> domains_;
  std::set<std::string, std::less<>> used_;
  std::map<std::string, int, std::less<>> counters_;  // by stem
  std::vector<std::string> names_;                    // by NodeId of the graph
  std::map<std::string, ir::NodeId> makers_;
  std::unique_ptr<Sizes> sizes_;
  std::map<base::ContentHash, std::string> constants_;
  std::vector<std::pair<std::string, ir::Tensor>> initializers_;
};

}  // namespace egret::frontends
