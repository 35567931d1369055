// SPDX-License-Identifier: Apache-2.0
// Import of nodes that stay as they are (ir/ops/opaque.h): those that Egret cannot express, and
// those that export would not write as one node again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "frontends/nodes/onnx_node.h"
#include "frontends/nodes/opaque_nodes.h"
#include "frontends/nodes/result_types.h"
#include "frontends/nodes/rounding_dependence.h"

namespace egret::onnx {
class GraphProto;
class TensorShapeProto_Dimension;
}  // namespace egret::onnx

namespace egret::frontends {

// Whether a size of unknown value has no name that says which others are equal.
bool is_unnamed(const onnx::TensorShapeProto_Dimension& dim);

class OpaqueImport {
 public:
  // `graph` declares types of values by name (value_info, outputs). `example_of` and
  // `keeps_rounding` as in ImportOptions: open sizes of results need the first.
  OpaqueImport(const onnx::GraphProto& graph,
               const std::function<std::int64_t(std::string_view, int)>& example_of,
               bool keeps_rounding);

  // The node as an opaque operator, with the named outputs. An output whose type is neither
  // declared nor follows from the node (frontends/nodes/result_types.h) is untyped: only opaque
  // nodes may read it. `values` are those of the program, by ValueId; a body reads them by name,
  // and they become operands. Errors: unsupported, with `reason`, within a body or function.
  base::Result<std::vector<ir::Value>> import(const OnnxImportContext& context,
                                              const OnnxProgramNode& node,
                                              const std::vector<ir::Value>& values,
                                              const std::string& reason);

  // What stands for the outputs `made` of a node that was imported: opaque operators with a body if
  // export would write other nodes for it, or if it counts on rounding, else `made`. Nodes within
  // functions and branches, with constant or size outputs, and those that disappear (an identity)
  // have none.
  std::vector<ir::Value> kept_whole(const OnnxImportContext& context, const OnnxProgramNode& node,
                                    const std::vector<ir::Value>& values,
                                    const std::vector<ir::Value>& made);

  // A graph input or initializer of a type that Egret lacks: an opaque node without operands. Only
  // opaque nodes may read it. `tensor`: of an initializer, a serialized onnx.TensorProto.
  ir::Value foreign(ir::GraphBuilder& builder, const std::string& name, std::string tensor);

  // The node of the main graph that must not be opened, because import() failed within it.
  std::optional<int> to_close() const { return to_close_; }
  bool is_untyped(ir::Value value) const { return untyped_.contains(value.id); }
  const OpaqueNodes& nodes() const { return nodes_; }
  // Of the opaque nodes, as in ir::Graph::bodies.
  const std::map<std::string, ir::OpaqueBody>& bodies() const { return bodies_; }

 private:
  // How a node that is kept whole reads its inputs.
  struct Reading {
    std::vector<ir::Value> operands{};
    std::map<int, FixedInput> fixed{};
    ir::Graph body{};
  };
  std::vector<ir::Value> whole_or_made(const OnnxImportContext& context,
                                       const OnnxProgramNode& node,
                                       const std::vector<ir::Value>& values,
                                       const std::vector<ir::Value>& made,
                                       bool depends_on_rounding);
  std::optional<Reading> reading_of(const OnnxImportContext& context, const OnnxProgramNode& node,
                                    const std::vector<ir::Value>& values,
                                    const std::vector<ir::Value>& made);
  std::optional<ir::TensorType> declared_type(const std::string& value) const;
  static bool are_numbers(const ResultType& type);
  static void sharpen(ir::TensorType& declared, const ResultType& following);
  void declare(std::string_view name, int axis);
  // The same with symbols of their own for the sizes that the type leaves open.
  base::Result<ir::Integers> shape_of(const ResultType& type, const std::string& value);
  base::Result<ir::Integers> shape_of(const ir::TensorType& type);
  // In the order of captured_names().
  static base::Result<std::vector<ir::Value>> captured_values(const OnnxProgramNode& node,
                                                              const std::vector<ir::Value>& values);

  std::map<std::string, ir::TensorType, std::less<>> declared_;  // sizes without a name: -1
  const std::function<std::int64_t(std::string_view, int)>& example_of_;
  bool keeps_rounding_;
  RoundingDependence rounding_;
  std::set<ir::NodeId> untyped_;
  std::optional<int> to_close_;
  OpaqueNodes nodes_;
  std::map<std::string, ir::OpaqueBody> bodies_;
};

}  // namespace egret::frontends
